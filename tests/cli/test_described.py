"""Targets and options from the command line end in the SoC that is planned for."""

import argparse

import pytest

from target_arch.cli.described import chosen
from target_arch.diagnostics import DiagnosticError
from target_arch.registry import Backends
from target_arch.soc import SoC


def choose(*targets: str, rest: tuple[str, ...] = ()) -> tuple[SoC, tuple[str, ...]]:
    options = argparse.Namespace(soc="zynq_edge", target=list(targets), backend_options=list(rest))
    return chosen(options, Backends.discover())


def test_targets_may_repeat_and_carry_options() -> None:
    soc, targets = choose("accelerator,macs_per_cycle=128,dsp_cpu", "accelerator,host_cpu")
    assert targets == ("accelerator", "dsp_cpu", "host_cpu")
    assert soc.arch("accelerator").options == {"macs_per_cycle": 128}


def test_no_target_is_every_target() -> None:
    assert choose()[1] == ()


def test_options_by_flag() -> None:
    soc, _ = choose(rest=("--accelerator-macs-per-cycle=32", "--fpga_conv2d-max_kernel", "5"))
    assert soc.arch("accelerator").options == {"macs_per_cycle": 32}
    assert soc.arch("fpga_conv2d").options == {"max_kernel": 5}


@pytest.mark.parametrize(
    ("targets", "rest", "said"),
    [
        (
            ("dps_cpu",),
            (),
            "SoC `zynq_edge` has no target_arch `dps_cpu` [unknown-target-arch]\n"
            "hint: did you mean `dsp_cpu`?",
        ),
        (("x=1",), (), "`--target x=1` sets `x` of no target_arch [bad-target]"),
        ((), ("--speed=3",), "unknown argument `--speed` [unknown-argument]"),
        ((), ("--accelerator-x",), "`--accelerator-x` needs a value [unknown-argument]"),
        (
            (),
            ("--accelerator-max_cycles=1",),
            "target_arch `accelerator` (backend `gemm_npu`) has no option `max_cycles` [unknown-option]",
        ),
        (
            ("accelerator,macs_per_cycle=many",),
            (),
            "option `macs_per_cycle` of `accelerator` is a whole number, not `many` [option-type]",
        ),
    ],
)
def test_what_cannot_be_set(targets: tuple[str, ...], rest: tuple[str, ...], said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        choose(*targets, rest=rest)
    assert str(caught.value).startswith(f"command line: error: {said}")
