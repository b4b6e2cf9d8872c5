"""Which memories feed tiles: placement and lowering ask the same function."""

from attrs import evolve

from target_arch.soc.model import MemoryMode
from target_arch.stages.paths import reach
from target_arch.stages.program.homes import choose_homes
from target_arch.stages.program.partial import PartialLowering
from tests.stages import chips
from tests.stages.lowering.test_ladder import lowered

THROUGH_TCM = evolve(
    chips.EDGE,
    copies=(
        *(path for path in chips.COPIES if path.target != "npu_inp"),
        chips.dma("tcm", "npu_inp"),
    ),
)
"""Only the memory of the DSP feeds the accelerator."""


def test_a_memory_of_another_instance_feeds_tiles() -> None:
    """Placement refused what lowering would have taken: `no copy path leads from sram, ddr to npu_inp`."""
    model = chips.model(("a", "soft", ("x",), 512), ("b", "dense", ("a",), 512), inputs={"x": 512})
    result = lowered(model, THROUGH_TCM)
    assert result.graph.choice("b").instance == "npu"
    assert reach.feeding(THROUGH_TCM, chips.MODE, ("npu_inp",)) == ("tcm",)


def test_tiles_are_not_fed_from_memories_that_the_mode_leaves_to_others() -> None:
    """The SRAM can feed the engine, but is not the model's: no result of the DSP is brought there for it."""
    mode = MemoryMode(name="default", workspace=("ddr",), constants=("ddr",), io=("ddr",))
    paths = (*chips.COPIES, chips.dma("tcm", "ddr"), chips.dma("bram", "ddr"))
    soc = evolve(chips.EDGE, modes=(mode,), copies=paths)
    assert reach.feeding(soc, mode, ("bram",)) == ("ddr",)
    model = chips.model(
        ("a", "conv", ("x",), 512), ("b", "soft", ("a",), 512), ("c", "conv", ("b",), 512), inputs={"x": 512}
    )
    setting = chips.setting(soc)
    result = lowered(model, soc)
    used = {result.graph.choice(id).instance for id in "abc"}
    assert used == {"conv", "dsp"}
    assert {buffer.memory for buffer in result.steps.buffers} == {"ddr", "bram", "tcm"}
    work = PartialLowering(setting=setting, graph=result.graph, kernels=result.kernels)
    assert set(choose_homes(work).homes.values()) <= {"ddr", "tcm"}
