"""A VTA-class matrix engine: load, compute and store modules that run an instruction stream side by side.

It reads and writes DRAM by itself, has buffers for inputs, weights and accumulators, and multiplies a vector
of 16 inputs with a block of 16 x 16 weights at a time. `gemm_vta.toml` describes it; docs/vta-class.md walks
through how a layer gets there, stage by stage. Everything between Relax and the stream is a hook:

    definition.py   legalize      conv2d and dense as TE
    schedule.py     schedules     tiles that fit the budget, tensorized
    dma.py          tir_patterns  copies become DMA calls
    calls.py        tir_passes    in place, coalesced
    stream.py       tir_passes, codegen   straight-line with tokens, then bytes
"""

from collections.abc import Callable
from typing import Any

from target_arch.backend.contract import Backend, Hooks, LoweringRequest, Question, RuntimeSources
from target_arch.backend.hooks import Composite, Nest, TirFunction, TirPass, TirPattern
from target_arch.backends.gemm_vta.support import BUFFERS, OPTIONS, cost, supports
from target_arch.backends.sources import driver_files, simulator_files
from target_arch.plan.kernels import Codegen, Kernel


def _legalize(composite: Composite) -> TirFunction:
    from target_arch.backends.gemm_vta.definition import legalize

    return legalize(composite)


def _schedules(function: TirFunction, request: LoweringRequest) -> Any:
    from target_arch.backends.gemm_vta.schedule import schedules

    return schedules(function, request)


def _dma(nest: Nest, request: LoweringRequest) -> Any:
    from target_arch.backends.gemm_vta.dma import dma

    return dma(nest, request)


def _in_place(request: LoweringRequest) -> Callable[[Any], Any]:
    from target_arch.backends.gemm_vta.calls import in_place

    return _on_main(in_place)


def _coalesced(request: LoweringRequest) -> Callable[[Any], Any]:
    from target_arch.backends.gemm_vta.calls import coalesced

    return _on_main(coalesced)


def _straight(request: LoweringRequest) -> Callable[[Any], Any]:
    from target_arch.backends.gemm_vta.stream import straight

    return _on_main(straight)


def _on_main(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    from tvm import IRModule

    return lambda module: IRModule({"main": change(module["main"])})


def _codegen(functions: tuple[TirFunction, ...], request: LoweringRequest) -> Kernel:
    from target_arch.backends.gemm_vta.stream import codegen

    return codegen(functions, request)


def _joins(questions: tuple[Question, ...]) -> str | None:
    """Layers read and write DRAM whole, as chains do, but each is a stream of its own."""
    return "every layer is a stream of its own"


backend = Backend(
    name="gemm_vta",
    description="int8 conv2d and dense on a VTA-class engine: DMA with tokens, GEMM and ALU instructions",
    codegen=Codegen.COMMAND_STREAM,
    patterns=(),
    supports=supports,
    cost=cost,
    hooks=Hooks(
        legalize=_legalize,
        schedules=_schedules,
        tir_patterns=(TirPattern(name="dma", rewrite=_dma),),
        tir_passes=(
            TirPass(name="in place", place="last", load=_in_place),
            TirPass(name="coalesced", place="last", load=_coalesced),
            TirPass(name="straight", place="last", load=_straight),
        ),
        codegen=_codegen,
    ),
    joins=_joins,
    options=OPTIONS,
    runtime=RuntimeSources(
        driver="ta_gemm_vta_driver",
        simulator_symbol="ta_gemm_vta_simulator",
        files=lambda: driver_files("gemm_vta"),
        simulator=lambda: simulator_files("gemm_vta", "gemm_vta_datapath.c", "gemm_vta_state.h"),
    ),
    needs_buffers=BUFFERS,
    contract=2,
)
