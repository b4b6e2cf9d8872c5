# make setup   a virtual environment in .venv with everything that demo and test need
# make demo    the example model over all four kinds of zynq_edge: plan, C, simulation, verification, accuracy
# make test    the test suite; ARGS="tests/soc -k units" narrows it
# make lint    ruff and mypy
#
# EXTRAS names the optional parts to install; add torch to import .pt2 files: make EXTRAS=verify,test,torch test

PYTHON ?= python3
EXTRAS ?= verify,test
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(EXTRAS)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint clean

help:
	@sed -n '/^$$/q; s/^# \{0,1\}//p' Makefile

setup: $(STAMP)

# An editable install: only what pyproject.toml says can make it stale.
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[$(EXTRAS)]"
	touch $@

demo: $(STAMP)
	@$(BIN)/target-arch demo

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist *.egg-info demo_out
