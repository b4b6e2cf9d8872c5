# make setup   a virtual environment in .venv with everything that demo and test need
# make demo    the example model over all four kinds of zynq_edge: plan, C, simulation, verification, accuracy
# make test    the test suite, on up to four cores; ARGS="tests/soc -k units" narrows it, ARGS="-n 0" is one process
# make lint    ruff and mypy
# make fuzz    mutants of every kind of file that is read, for hours; ARGS="onnx --executions 10000" narrows it
# make fuzz-c  the fuzz targets of the C runtime, FUZZ_SECONDS each (an hour); corpus and findings go to fuzz_out
# make site         the documents as static files in build/site
# make simulators   compilers and emulators for cores and RTL that are not this machine's (Debian and Ubuntu, as root)
#
# EXTRAS names the optional parts to install; add torch to import .pt2 files: make EXTRAS=verify,test,torch test

PYTHON ?= python3
EXTRAS ?= verify,test
ARGS ?=
FUZZ_SECONDS ?= 3600
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(EXTRAS)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint fuzz fuzz-c simulators site clean

# What the tests skip without. One name per program that a test or `target-arch run` asks for, with its libraries.
# libclang-rt-dev: clang's sanitizers, which a minimal installation of clang leaves out.
SIMULATORS := g++ cmake gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm qemu-user clang libclang-rt-dev lld llvm \
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross \
  verilator iverilog chromium-headless-shell arduino-builder \
  frama-c-base why3 cvc4

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
	$(BIN)/python -m pytest -n auto $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file .ci/names.ini

fuzz: $(STAMP)
	$(BIN)/python -m conformance.fuzz_readers $(ARGS)

fuzz-c: $(STAMP)
	$(BIN)/python -m conformance.fuzz_c --seconds $(FUZZ_SECONDS) --keep fuzz_out

simulators:
	@command -v apt-get >/dev/null || { echo "make simulators needs apt-get; install: $(SIMULATORS)" >&2; exit 3; }
	dpkg -s $(SIMULATORS) >/dev/null 2>&1 || { \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    $(SIMULATORS) >/dev/null; }
# Debian 12's own clang, 14, lacks the intrinsics of RISC-V V.
	command -v clang-16 >/dev/null || \
	  clang --target=riscv64 -march=rv64gcv -dM -E -x c /dev/null | grep -q __riscv_v_intrinsic || { \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    clang-16 >/dev/null; }

site: $(STAMP)
	$(BIN)/python -m mkdocs build --strict

clean:
	rm -rf $(VENV) build dist *.egg-info demo_out fuzz_out
