"""A unit that computes leaky rectifiers, with a scratchpad for what comes in and one for what goes out.

A plug-in as a stranger would write it: a composite of its own, S-TIR scheduled within the budget, TIR
patterns that turn its loops into commands, a driver and a simulator.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_arch.backend.contract import (
    Backend,
    DefaultArch,
    DoesNotFit,
    Hooks,
    LoweringRequest,
    Option,
    Pattern,
    Question,
    RuntimeSources,
)
from target_arch.backend.hooks import Composite, Nest, TirFunction, TirPass, TirPattern
from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.resources import runtime_c
from target_arch.soc.model import Memory

KIND = "leaky_relu"
INP, OUT = "local.inp_buffer", "local.out_buffer"


def matcher() -> Any:
    """The composite: one LeakyRelu of Relax."""
    from tvm.relax.dpl import is_op, wildcard

    from target_arch.relax.patterns.matcher import Draft, Match, Matcher

    def build(match: Match) -> Draft | None:
        leaky = match.required("leaky")
        if not match.is_activation(leaky.args[0]):
            return None
        slope = {"slope": float(leaky.attrs.alpha)}
        return Draft(kind=KIND, inputs=(leaky.args[0],), output=match.root, attributes=slope)

    leaky = is_op("relax.nn.leakyrelu")(wildcard())
    return Matcher(roots=("nn.leakyrelu",), pattern=leaky, calls={"leaky": leaky}, build=build)


def supports(question: Question) -> str | None:
    kind, tensor = question.operator.kind, question.model.tensors[question.operator.output]
    if kind != KIND:
        return f"the slope unit computes {KIND} only, this is {kind}"
    return None if tensor.dtype == "float32" else f"the slope unit computes float32, this is {tensor.dtype}"


def cost(question: Question) -> float:
    elements = question.model.tensors[question.operator.output].bytes // 4
    return float(elements / question.option(backend, "lanes") / (question.instance.arch.clock or 100e6))


def legalize(composite: Composite) -> TirFunction:
    """y = x > 0 ? x : slope * x, in TE."""
    from tvm import te, tirx

    slope = tirx.FloatImm("float32", composite.operator.attributes["slope"])
    elements = composite.request.model.tensors[composite.output].bytes // 4
    x = te.placeholder((elements,), "float32", name="x")
    y = te.compute(x.shape, lambda i: tirx.Select(x[i] > 0.0, x[i], x[i] * slope), name="y")
    return TirFunction(
        operator=composite.operator.id,
        kind=KIND,
        function=te.create_prim_func([x, y]),
        operands=(*composite.inputs, composite.output),
        writes=(composite.output,),
    )


def schedules(function: TirFunction, request: LoweringRequest) -> Any:
    """Tiles through both scratchpads, as large as they are guaranteed, in an unrolled loop."""
    from tvm import s_tir

    schedule = s_tir.Schedule(function.function)
    block = schedule.get_sblock("y")
    elements = int(schedule.get(schedule.get_loops(block)[0]).extent)
    rooms = {name: request.budget.guaranteed(function.operator, name) for name in request.instance.memory}
    memory = min(rooms, key=lambda name: rooms[name])
    tile = max((n for n in range(1, elements + 1) if elements % n == 0 and 4 * n <= rooms[memory]), default=0)
    if tile == 0:
        raise DoesNotFit(function.operator, memory, 4, rooms[memory])
    entering, leaving = schedule.cache_read(block, 0, INP), schedule.cache_write(block, 0, OUT)
    outer, _ = schedule.split(schedule.get_loops(block)[0], [None, tile])
    schedule.compute_at(entering, outer)
    schedule.reverse_compute_at(leaving, outer)
    schedule.unroll(outer)
    return schedule


def command(nest: Nest, request: LoweringRequest) -> Any:
    """The loop over one tile becomes a call of what the hardware does: load, compute or store."""
    from tvm import sym, tirx

    store, loads = nest.block.body, nest.block.reads
    if not isinstance(store, tirx.BufferStore):
        return None
    scopes = (loads[0].source.scope(), store.buffer.scope())
    name = {("global", INP): "load", (INP, OUT): "compute", (OUT, "global"): "store"}.get(scopes)
    if name is None:
        return None
    (loop,), outside = nest.loops, nest.block.writes[0] if name == "store" else loads[0]
    start = sym.Analyzer().simplify(outside.region[0].min - loop.loop_var)
    return tirx.Evaluate(tirx.call_extern("int32", name, start, loop.extent))


def unrolled(request: LoweringRequest) -> Any:
    from tvm import tirx

    return tirx.transform.UnrollLoop()


def codegen(functions: tuple[TirFunction, ...], request: LoweringRequest) -> Kernel:
    """A move or a command for every call that is left."""
    actions: list[Move | Call] = []
    buffers: list[LocalBuffer] = []
    for function in functions:
        calls = external_calls(function.function)
        slope = struct.pack("<f", request.model.operator(function.operator).attributes["slope"])
        inp, out = (f"{function.operator}.{role}" for role in ("inp", "out"))
        size = max(4 * count for _, _, count in calls)
        buffers += [
            LocalBuffer(name=name, bytes=size, memory=request.instance.buffers[name.rpartition(".")[2]])
            for name in (inp, out)
        ]
        for name, start, count in calls:
            if name == "compute":
                operands = (Operand(of=inp, access="r"), Operand(of=out, access="w"))
                words = (count, int.from_bytes(slope, "little"))
                actions.append(
                    Call(function=KIND, operands=operands, words=words, operator=function.operator)
                )
                continue
            local = Slice(of=inp if name == "load" else out, offset=0, row_bytes=4 * count)
            whole = Slice(of=function.operands[name == "store"], offset=4 * start, row_bytes=4 * count)
            ends = (whole, local) if name == "load" else (local, whole)
            actions.append(Move(source=ends[0], target=ends[1]))
    return Kernel(
        partition=request.partition.id,
        instance=request.instance.name,
        buffers=tuple(buffers),
        actions=tuple(actions),
    )


def external_calls(function: Any) -> list[tuple[str, int, int]]:
    """Name and integer arguments of every external call, in program order."""
    import tvm_ffi
    from tvm import ir

    found: list[tuple[str, int, int]] = []

    def visit(call: Any) -> None:
        if str(getattr(call.op, "name", "")).endswith("call_extern"):
            name, start, count = call.args
            found.append((str(name.value), int(start), int(count)))

    tvm_ffi.structural_walk(function.body, (ir.Call, visit))
    return found


def own(*names: str) -> Mapping[str, str]:
    return {f"slope_unit/{name}": (Path(__file__).parent / name).read_text("utf-8") for name in names}


def driver() -> Mapping[str, str]:
    shared = {f"drivers/{name}": (runtime_c() / "drivers" / name) for name in ("engine.c", "engine.h")}
    return {
        **own("driver.c", "slope_unit.h"),
        **{name: path.read_text("utf-8") for name, path in shared.items()},
    }


backend = Backend(
    name="slope_unit",
    description="leaky rectifiers over float32",
    codegen="command_stream",
    patterns=(Pattern(name=KIND, load=matcher),),
    supports=supports,
    cost=cost,
    hooks=Hooks(
        legalize=legalize,
        schedules=schedules,
        tir_patterns=(TirPattern(name="command", rewrite=command),),
        tir_passes=(TirPass(name="unrolled", place="flat", load=unrolled),),
        codegen=codegen,
    ),
    options=(Option(name="lanes", default=4, help="float32 results per clock cycle"),),
    runtime=RuntimeSources(
        driver="slope_unit_driver",
        simulator_symbol="slope_unit_simulator",
        files=driver,
        simulator=lambda: own("simulator.c"),
    ),
    needs_buffers=("inp", "out"),
    default_arch=DefaultArch(
        memories=(Memory(name="inp", size=4096), Memory(name="out", size=4096)),
        buffers={"inp": "inp", "out": "out"},
    ),
    contract=2,
)
