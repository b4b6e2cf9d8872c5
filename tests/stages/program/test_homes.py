"""The memory of a tensor: where its copies take least time, and among equals the one that is named first."""

import pytest
from attrs import evolve

from target_arch.plan.model import Model
from target_arch.plan.steps import Copy
from target_arch.soc.model import CopyPath, Memory, SoC
from target_arch.stages.program.homes import choose_homes
from target_arch.stages.program.partial import PartialLowering
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

KIB = 1024
MODEL = chips.model(
    ("a", "other", ("x",), 4 * KIB),
    ("b", "soft", ("a",), 4 * KIB),
    ("c", "other", ("b",), 4 * KIB),
    ("d", "other", ("c",), 4 * KIB),
    inputs={"x": 4 * KIB},
)
"""The host makes `a`, the DSP reads it and makes `b`, and the host does the rest."""


def chip(*workspace: str) -> SoC:
    """The DMA of the DSP reaches the SRAM and the PSRAM, and only the host the DTCM."""
    cpu = {"bandwidth": 200e6, "setup": 2e-7}
    pairs = (("dtcm", "psram"), ("psram", "dtcm"))
    return evolve(
        chips.EDGE,
        memories=(
            Memory(name="ddr", size=1024 * KIB, base=0x100000),
            Memory(name="dtcm", size=64 * KIB, base=0x20000000, read_bandwidth=3.2e9, write_bandwidth=3.2e9),
            Memory(name="sram", size=64 * KIB, base=0x21000000, read_bandwidth=1.6e9, write_bandwidth=1.6e9),
            Memory(name="psram", size=512 * KIB, base=0x60000000, read_bandwidth=2e8, write_bandwidth=2e8),
            Memory(name="tcm", size=32 * KIB, observers={"dsp": 0}),
        ),
        copies=(
            *(CopyPath(source=source, target=target, **cpu) for source, target in pairs),  # type: ignore[arg-type]
            *chips.both("sram", "tcm"),
            *chips.both("psram", "tcm"),
        ),
        archs=(evolve(chips.HOST, memory=workspace), chips.DSP),
        modes=(evolve(chips.MODE, workspace=workspace, io=workspace),),
        partitioning=("dsp", "host"),
    )


def homes(soc: SoC, model: Model = MODEL) -> dict[str, str]:
    made = lowered(model, soc)
    work = PartialLowering(setting=chips.setting(soc), graph=made.graph, kernels={})
    return dict(choose_homes(work).homes)


@pytest.mark.parametrize("workspace", [("dtcm", "sram", "psram"), ("sram", "dtcm", "psram")])
def test_the_order_of_the_workspace_causes_no_copies_through_another_memory(
    workspace: tuple[str, ...],
) -> None:
    soc = chip(*workspace)
    first = workspace[0]
    assert homes(soc) == {"a": "sram", "b": "tcm", "c": first, "d": first, "x": first}
    copies = [step for step in lowered(MODEL, soc).steps.steps if isinstance(step, Copy)]
    assert [f"{copy.source.of} to {copy.target.of}" for copy in copies] == [
        "a@sram to a@tcm",
        "b@tcm to b@sram",
    ]


def test_a_tensor_that_no_copy_touches_is_where_the_workspace_says() -> None:
    alone = chips.model(
        ("a", "other", ("x",), 4 * KIB), ("b", "other", ("a",), 4 * KIB), inputs={"x": 4 * KIB}
    )
    assert homes(chip("psram", "dtcm", "sram"), alone) == {"a": "psram", "b": "psram", "x": "psram"}
