"""From a chain to a command stream: written out as TFLite, compiled by Vela into the arena of the budget.

A chain that does not fit is refused here, with the size of Vela's smallest arena: Vela itself does not report
it.
"""

import zlib

from attrs import evolve, frozen

from target_arch.backend.contract import DoesNotFit, LoweringRequest
from target_arch.backends.ethos_u import registers
from target_arch.backends.ethos_u.config import EthosU, config_text
from target_arch.backends.ethos_u.graph import graph_of
from target_arch.backends.ethos_u.relocate import RelocatedTensor, relocated
from target_arch.backends.ethos_u.stream import BadStream, reach
from target_arch.backends.ethos_u.support import FIRST_REGION
from target_arch.backends.ethos_u.tables import with_tables
from target_arch.backends.ethos_u.tflite_file import Subgraph, tflite_bytes
from target_arch.backends.ethos_u.vela import (
    PERFORMANCE,
    SCRATCH_REGION,
    SIZE,
    WEIGHTS_REGION,
    Compiled,
    compile_file,
)
from target_arch.backends.plain_c.lower import lower as lower_plain
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.kernels import Access, Call, Kernel, LocalBuffer, Operand, StandIn
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model, Tensor

ALIGNMENT = 16
"""Bytes: every base address, and the stream, is aligned to so much."""


@frozen(kw_only=True)
class Chain:
    """A chain and Vela's output for it."""

    graph: Subgraph
    compiled: Compiled
    optimised: str


def lower(request: LoweringRequest, unit: EthosU) -> Kernel:
    """The kernel of a chain. Raises DoesNotFit where Vela's smallest arena is larger than the budget."""
    operators = request.partition.operators
    site = operators[0].id
    promised = min(request.budget.guaranteed(each.id, unit.arena.name) for each in operators)
    chain = _compiled(request, unit, promised)
    if chain.compiled.scratch > promised:
        raise DoesNotFit(site, unit.arena.name, chain.compiled.scratch, promised)
    return _kernel(request, unit, chain, promised)


def _compiled(request: LoweringRequest, unit: EthosU, promised: int) -> Chain:
    """Compiled for speed; if the result exceeds the budget, compiled for the smallest arena."""
    graph = graph_of(request.partition.operators, request.model)
    file, config = tflite_bytes(graph), config_text(unit, promised)
    for optimised in (PERFORMANCE, SIZE):
        compiled = compile_file(file, unit.accelerator, config, optimised, _place(request))
        if compiled.scratch <= promised:
            break
    return Chain(graph=graph, compiled=compiled, optimised=optimised)


def _kernel(request: LoweringRequest, unit: EthosU, chain: Chain, promised: int) -> Kernel:
    first, compiled, graph = request.partition.operators[0], chain.compiled, chain.graph
    stream = relocated(compiled.stream, _moves(chain, request.model))
    _check(stream, chain, request)
    weights = _weights(chain, request) or bytes(ALIGNMENT)
    constants = (_blob(f"{first.id}.commands", stream), _blob(f"{first.id}.weights", weights))
    scratch = LocalBuffer(
        name="scratch", bytes=max(compiled.scratch, ALIGNMENT), memory=unit.arena.name, alignment=ALIGNMENT
    )
    operands = (
        *(Operand(of=constant.name, access=Access.READ) for constant in constants),
        Operand(of=scratch.name, access=Access.WRITE),
        *(Operand(of=name, access=Access.READ) for name in graph.inputs),
        *(Operand(of=name, access=Access.WRITE) for name in graph.outputs),
    )
    words = registers.words(unit, len(stream), compiled.config, len(graph.inputs) + len(graph.outputs))
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        constants=constants,
        buffers=(scratch,),
        actions=(Call(function="run", operands=operands, words=words, operator=first.id),),
        notes=(_note(chain, promised),),
        seconds=compiled.figures.seconds,
        stand_in=_stand_in(request, zlib.crc32(stream), tuple(each.of for each in operands[1:])),
    )


def _stand_in(request: LoweringRequest, key: int, operands: tuple[str, ...]) -> StandIn:
    """The same operators as plain C, which the host port's simulator calls."""
    plain = lower_plain(evolve(request, budget=Budget(partition=request.partition.id, sites={})))
    return StandIn(
        key=key,
        operands=operands,
        functions=plain.functions,
        constants=plain.constants,
        buffers=plain.buffers,
        calls=tuple(action for action in plain.actions if isinstance(action, Call)),
    )


def _moves(chain: Chain, model: Model) -> tuple[RelocatedTensor, ...]:
    names = (*chain.graph.inputs, *chain.graph.outputs)
    places = (*chain.compiled.inputs, *chain.compiled.outputs)
    return tuple(
        RelocatedTensor(
            source=place.region,
            offset=place.offset,
            bytes=model.tensors[name].bytes,
            target=FIRST_REGION + number,
        )
        for number, (name, place) in enumerate(zip(names, places, strict=True))
    )


def _weights(chain: Chain, request: LoweringRequest) -> bytes:
    """Vela's constants for the stream, with the plan's tables of functions."""
    compiled = chain.compiled
    try:
        return with_tables(compiled.weights, compiled.stream, WEIGHTS_REGION, chain.graph.tables)
    except BadStream as reason:
        raise _wrong_stream(request, str(reason)) from reason


def _check(stream: bytes, chain: Chain, request: LoweringRequest) -> None:
    """Check that the stream touches only bytes of its regions, and writes to no constant and no input."""
    names = (*chain.graph.inputs, *chain.graph.outputs)
    sizes = {FIRST_REGION + n: request.model.tensors[name].bytes for n, name in enumerate(names)}
    sizes |= {WEIGHTS_REGION: len(chain.compiled.weights), SCRATCH_REGION: chain.compiled.scratch}
    try:
        found = reach(stream)
    except BadStream as reason:
        raise _wrong_stream(request, str(reason)) from reason
    for region, end in found.ends().items():
        there = sizes.get(region, 0)
        if end > there:
            raise _wrong_stream(request, f"it touches {end:,} B of region {region}, which has {there:,} B")
    fixed = {WEIGHTS_REGION, *range(FIRST_REGION, FIRST_REGION + len(chain.graph.inputs))}
    written = sorted(fixed & found.written.keys())
    if written:
        raise _wrong_stream(request, f"it writes to region {written[0]}, which is read only")


def _wrong_stream(request: LoweringRequest, why: str) -> DiagnosticError:
    message = f"the command stream that Vela made is refused: {why}"
    return DiagnosticError([Diagnostic(rule="bad-stream", place=_place(request), message=message)])


def _note(chain: Chain, promised: int) -> str:
    compiled, figures = chain.compiled, chain.compiled.figures
    return (
        f"Vela, for {'speed' if chain.optimised == PERFORMANCE else 'size'}: arena {compiled.scratch:,} B of "
        f"{promised:,} B, weights {len(compiled.weights):,} B, stream {len(compiled.stream):,} B, "
        f"{figures.cycles:,} cycles ({figures.npu_cycles:,} of them computing)"
    )


def _place(request: LoweringRequest) -> str:
    return f"partition {request.partition.id} on {request.instance.name}"


def _blob(name: str, data: bytes) -> Tensor:
    return Tensor(name=name, shape=(len(data),), dtype="uint8", data=data)
