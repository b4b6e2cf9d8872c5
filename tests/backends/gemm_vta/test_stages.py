"""docs/vta-class.md shows what the stages print; here they print it again."""

import re
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.backend.hooks import Hooks, TirPass
from target_arch.backend.lowering import LoweringRequest
from target_arch.backends.gemm_vta import backend
from target_arch.backends.gemm_vta.tokens import as_text
from target_arch.relax.lower.hook_stages import graph, lower_by_hooks, s_tir_functions
from tests.backends.gemm_vta.machine import conv2d, engine, instructions

PAGE = (Path(__file__).parents[3] / "docs" / "vta-class.md").read_text()
BLOCKS = re.findall(r"```tir (\S+)\n(.*?)```", PAGE, re.DOTALL)


def printed() -> dict[str, str]:
    """What a layer looks like after every stage, by name."""
    found: dict[str, str] = {}

    def looking(place: str, name: str) -> TirPass:
        def look(request: LoweringRequest) -> object:
            def run(module: object) -> object:
                found[name] = module["main"].script()  # type: ignore[index]
                return module

            return run

        return TirPass(name=name, place=place, load=look)  # type: ignore[arg-type]

    hooks = backend.hooks
    assert isinstance(hooks, Hooks)
    in_place, coalesced, straight = hooks.tir_passes
    passes = (
        *(looking(place, place) for place in ("scheduled", "compacted", "rewritten", "last")),
        in_place,
        coalesced,
        looking("last", "coalesced"),
        straight,
    )
    model = conv2d((6, 4, 16), 16, (3, 3), padding=(1, 1, 1, 1))
    request = engine().request(model, {"inp": 384, "wgt": 4096, "acc": 1024})
    (function,) = s_tir_functions(hooks, graph(hooks, request), request)
    found["s-tir"] = function.function.script()
    found["stream"] = as_text(instructions(lower_by_hooks(evolve(hooks, tir_passes=passes), request)))
    return found


@pytest.fixture(scope="module")
def stages() -> dict[str, str]:
    return printed()


def test_every_stage_is_shown() -> None:
    assert [stage for stage, _ in BLOCKS] == [
        "s-tir",
        "rewritten",
        "compacted",
        "last",
        "coalesced",
        "stream",
    ]


@pytest.mark.parametrize(("stage", "block"), BLOCKS, ids=[stage for stage, _ in BLOCKS])
def test_the_excerpt_is_what_the_stage_prints(stages: dict[str, str], stage: str, block: str) -> None:
    lines = iter(stages[stage].splitlines())
    for line in block.splitlines():
        assert line in lines, f"{stage}: {line}"


def test_nothing_is_left_of_copies_and_loops(stages: dict[str, str]) -> None:
    assert stages["scheduled"].count("T.tvm_access_ptr") > 10
    assert "sblock" not in stages["last"]
    assert stages["coalesced"].count("for ") == 2
