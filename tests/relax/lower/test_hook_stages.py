"""Every hook of a backend that lowers in stages, each on the smallest example that shows it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tvm
from attrs import evolve
from tvm import ir, relax, s_tir, te, tirx
from tvm.relax.dpl import is_call_dps_packed, rewrite_call, wildcard

from target_arch.backend.hooks import (
    PLACES,
    Composite,
    GraphPass,
    Hooks,
    Nest,
    TirFunction,
    TirPass,
    TirPattern,
)
from target_arch.backend.lowering import DoesNotFit, LoweringRequest
from target_arch.backends.c import backend as c
from target_arch.plan.kernels import Call, Kernel, LocalBuffer, Operand
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.relax.importer import import_model
from target_arch.relax.lower.hook_stages import (
    NOTE,
    graph,
    lower_by_hooks,
    reach,
    s_tir_functions,
    scheduled,
)
from target_arch.relax.lower.partition_module import composites
from tests.backends.engines import bench

BENCH = bench("c", {"fast": 64, "slow": 1024})


def chain(*kinds: str, elements: int = 64) -> Model:
    """Float operators in a row: x → a0 → a1 → …"""
    names = ("x", *(f"a{n}" for n in range(len(kinds))))
    tensors = {name: Tensor(name=name, shape=(1, elements), dtype="float32") for name in names}
    operators = tuple(
        Operator(
            id=f"op{n}",
            kind=kind,
            arithmetic="float",
            inputs=(names[n],),
            constants=(),
            output=names[n + 1],
            attributes={"activation": "relu"},
        )
        for n, kind in enumerate(kinds)
    )
    return Model(
        name="chain", source="made", inputs=("x",), outputs=(names[-1],), tensors=tensors, operators=operators
    )


def request(model: Model, room: int = 1024) -> LoweringRequest:
    return BENCH.request(model, {"fast": room, "slow": room})


def test_without_any_hook_a_partition_becomes_c() -> None:
    kernel = lower_by_hooks(Hooks(), request(chain("relu", "relu")))
    assert [action.operands for action in kernel.actions if isinstance(action, Call)] == [
        (Operand(of="x", access="r"), Operand(of="a0", access="w", over=("x",))),
        (Operand(of="a0", access="r"), Operand(of="a1", access="w", over=("a0",))),
    ]
    (function,) = kernel.functions
    assert "x[k]" in function.text or "x[" in function.text


def test_a_partition_as_relax(golden: Callable[[str, str], None]) -> None:
    golden("partition_module", graph(Hooks(), request(chain("relu", "reshape"))).script() + "\n")


def once(module: Any) -> Any:
    """relu(relu(x)) = relu(x)."""
    source = wildcard()
    twice = is_call_dps_packed("relu", [is_call_dps_packed("relu", [source])])

    def replace(call: Any, found: Any) -> Any:
        return relax.call_dps_packed("relu", relax.Tuple([found[source]]), call.ty_args[0])

    rewritten = tvm.IRModule({"main": rewrite_call(twice, replace, module["main"])})
    return relax.transform.DeadCodeElimination()(rewritten)


def test_a_graph_pass_rewrites_the_partition() -> None:
    hooks = Hooks(graph_passes=(GraphPass(name="once", load=lambda request: once),))
    asked = request(chain("relu", "relu", "reshape"))
    left = composites(graph(hooks, asked), asked)
    assert [(each.name, each.inputs, each.output) for each in left] == [
        ("relu", ("x",), "a0"),
        ("reshape", ("a0",), "a2"),
    ]
    kernel = lower_by_hooks(hooks, asked)
    assert [action.operator for action in kernel.actions if isinstance(action, Call)] == ["op0", "op2"]


def test_a_graph_pass_may_put_a_composite_of_its_own() -> None:
    def fused(module: Any) -> Any:
        source = wildcard()
        pattern = is_call_dps_packed("reshape", [is_call_dps_packed("relu", [source])])

        def replace(call: Any, found: Any) -> Any:
            return relax.call_dps_packed("npu.relu", relax.Tuple([found[source]]), call.ty_args[0])

        rewritten = tvm.IRModule({"main": rewrite_call(pattern, replace, module["main"])})
        return relax.transform.DeadCodeElimination()(rewritten)

    hooks = Hooks(graph_passes=(GraphPass(name="fused", load=lambda request: fused),))
    asked = request(chain("relu", "reshape"))
    (composite,) = composites(graph(hooks, asked), asked)
    assert (composite.name, composite.operator.id, composite.inputs) == ("npu.relu", "op1", ("x",))
    with pytest.raises(ValueError, match=r"`npu\.relu` has no standard definition"):
        lower_by_hooks(hooks, asked)


def test_a_graph_pass_must_not_lose_a_result() -> None:
    def empty(module: Any) -> Any:
        function = module["main"]
        return tvm.IRModule({"main": relax.Function(function.params, function.params[0], function.ret_ty)})

    asked = request(chain("relu"))
    with pytest.raises(ValueError, match="nothing computes `a0` any more"):
        composites(
            graph(Hooks(graph_passes=(GraphPass(name="no", load=lambda request: empty),)), asked), asked
        )


def negated(composite: Composite) -> TirFunction:
    """A definition of the vendor's own, in TE, on the rows of 16 that its hardware has."""
    elements = composite.request.model.tensors[composite.output].bytes // 4
    x = te.placeholder((elements // 16, 16), "float32", name="x")
    y = te.compute(x.shape, lambda i, j: -x[i, j], name="y")
    return TirFunction(
        operator=composite.operator.id,
        kind="negate",
        function=te.create_prim_func([x, y]),
        operands=(*composite.inputs, composite.output),
        writes=(composite.output,),
    )


def test_legalize_defines_a_composite() -> None:
    kernel = lower_by_hooks(Hooks(legalize=negated), request(chain("relu")))
    (function,) = kernel.functions
    assert function.name.startswith("negate_")
    assert "y[i * 16 + j] = x[i * 16 + j] * -1.0f;" in function.text


def test_legalize_may_answer_several_functions() -> None:
    def two(composite: Composite) -> tuple[TirFunction, ...]:
        first, second = negated(composite), negated(composite)
        between = LocalBuffer(name="op0.between", bytes=256, memory="slow")
        return (
            evolve(first, operands=("x", between.name), writes=(between.name,), buffers=(between,)),
            evolve(second, operands=(between.name, "a0")),
        )

    kernel = lower_by_hooks(Hooks(legalize=two), request(chain("relu")))
    assert [buffer.name for buffer in kernel.buffers] == ["op0.between"]
    assert [[each.of for each in call.operands] for call in kernel.actions if isinstance(call, Call)] == [
        ["x", "op0.between"],
        ["op0.between", "a0"],
    ]


def tiled(function: TirFunction, request: LoweringRequest) -> Any:
    """Rows staged through a local buffer: as many at a time as the budget has room for."""
    room = request.budget.guaranteed(function.operator, "fast")
    schedule = s_tir.Schedule(function.function)
    block = schedule.get_sblock("y")
    staged = schedule.cache_read(block, 0, "local.inp_buffer")
    rows = int(schedule.get(schedule.get_loops(block)[0]).extent)
    tile = max((n for n in range(1, rows + 1) if rows % n == 0 and 64 * n <= room), default=0)
    if tile == 0:
        raise DoesNotFit(function.operator, "fast", 64, room)
    outer, _ = schedule.split(schedule.get_loops(block)[0], [None, tile])
    schedule.compute_at(staged, outer)
    schedule.mod.update_func(
        schedule.mod.get_global_var("main"), schedule.mod["main"].with_attr(NOTE, f"{tile} rows at a time")
    )
    return schedule


@pytest.mark.parametrize(("room", "tile"), [(1024, 4), (130, 2), (64, 1)])
def test_schedules_see_the_budget(room: int, tile: int) -> None:
    hooks = Hooks(legalize=negated, schedules=tiled)
    asked = request(chain("relu"), room)
    kernel = lower_by_hooks(hooks, asked)
    assert kernel.notes == (f"{tile} rows at a time",)
    # What is staged is on the stack of the C, at its compacted size, up to 256 bytes.
    assert f"x_local_inp_buffer[{16 * tile}]" in kernel.functions[0].text


def test_a_schedule_may_find_that_nothing_fits() -> None:
    with pytest.raises(DoesNotFit, match="op0 needs 64 B of `fast`, 63 B are available"):
        lower_by_hooks(Hooks(legalize=negated, schedules=tiled), request(chain("relu"), 63))


def dma(nest: Nest, request: LoweringRequest) -> Any:
    """A nest that stages rows becomes one call of the DMA driver, block and loops are gone."""
    store = nest.block.body
    if not isinstance(store, tirx.BufferStore) or store.buffer.scope() != "local.inp_buffer":
        return None
    rows = int(nest.loops[0].extent)
    source = store.value
    return tirx.Evaluate(
        tirx.call_extern("int32", "dma_load_rows", store.buffer.data, source.source.data, rows)
    )


def calls_of(function: Any) -> list[str]:
    """Names of the external functions that a function calls, in program order."""
    import tvm_ffi

    found: list[str] = []

    def visit(call: Any) -> None:
        if str(getattr(call.op, "name", "")).endswith("call_extern"):
            found.append(str(call.args[0].value))

    tvm_ffi.structural_walk(function.body, (ir.Call, visit))
    return found


def stream(functions: tuple[TirFunction, ...], request: LoweringRequest) -> Kernel:
    """A code generator that writes a command for each call that is left in NS-TIR."""
    calls = tuple(
        Call(function=name, operands=(), words=(n,), operator=each.operator)
        for each in functions
        for n, name in enumerate(calls_of(each.function))
    )
    return Kernel(partition=request.partition.id, instance=request.instance.name, actions=calls)


def test_a_tir_pattern_deletes_a_block_and_puts_a_call_in_its_place() -> None:
    hooks = Hooks(
        legalize=negated,
        schedules=tiled,
        tir_patterns=(TirPattern(name="dma", rewrite=dma),),
        codegen=stream,
    )
    kernel = lower_by_hooks(hooks, request(chain("relu"), 128))
    assert kernel.actions == (Call(function="dma_load_rows", operands=(), words=(0,), operator="op0"),)


@pytest.mark.parametrize("place", PLACES)
def test_a_tir_pass_sees_its_place(place: str) -> None:
    seen: list[str] = []

    def look(request: LoweringRequest) -> Callable[[Any], Any]:
        def run(module: Any) -> Any:
            seen.append(module["main"].script())
            return module

        return run

    hooks = Hooks(
        legalize=negated,
        schedules=tiled,
        tir_patterns=(TirPattern(name="dma", rewrite=dma),),
        tir_passes=(TirPass(name="look", place=place, load=look),),
        codegen=stream,
    )
    lower_by_hooks(hooks, request(chain("relu"), 128))
    (text,) = seen
    assert ("T.axis" in text) == (place == "scheduled")
    assert ("sblock(" in text) == (place in PLACES[:3])
    assert ("dma_load_rows" in text) == (place in PLACES[2:])
    assert ('alloc_buffer((2, 16), scope="local.inp_buffer")' in text) == (place in PLACES[1:3])


def test_a_pass_of_tvm_is_a_tir_pass() -> None:
    @tirx.transform.prim_func_pass(opt_level=0)
    def synchronized(function: Any, module: Any, context: Any) -> Any:
        end = tirx.Evaluate(tirx.call_extern("int32", "sync"))
        return function.with_body(tirx.SeqStmt([function.body, end]))

    hooks = Hooks(
        tir_passes=(TirPass(name="sync at end", place="last", load=lambda request: synchronized),),
        codegen=stream,
    )
    kernel = lower_by_hooks(hooks, request(chain("relu")))
    assert [call.function for call in kernel.actions if isinstance(call, Call)] == ["sync"]


def test_a_code_generator_may_take_the_partition_as_relax() -> None:
    def whole(module: Any, request: LoweringRequest) -> Kernel:
        names = tuple(each.name for each in composites(module, request))
        return Kernel(partition=request.partition.id, instance=request.instance.name, notes=names)

    passes = (GraphPass(name="once", load=lambda request: once),)
    hooks = Hooks(graph_passes=passes, graph_codegen=whole)
    assert lower_by_hooks(hooks, request(chain("relu", "relu", "reshape"))).notes == ("relu", "reshape")
    assert list(reach(hooks, request(chain("relu")), "s-tir")) == ["graph"]


def test_phases_with_turns_of_their_own_are_gone_on_from() -> None:
    asked: list[str] = []

    def legalize(composite: Composite) -> TirFunction:
        asked.append(composite.output)
        return negated(composite)

    hooks = Hooks(legalize=legalize, schedules=tiled)
    early = evolve(request(chain("relu")), budget=evolve(request(chain("relu")).budget, sites={}))
    assert list(reach(hooks, early, "graph")) == ["graph"]
    assert asked == []
    reached = reach(hooks, evolve(early, earlier=reach(hooks, early, "graph")), "ns-tir")
    assert (list(reached), asked) == (["graph", "s-tir"], ["a0"])
    lower_by_hooks(hooks, evolve(request(chain("relu")), earlier=reached))
    assert asked == ["a0"]


def test_the_default_schedule_is_the_one_of_the_definition() -> None:
    asked = request(chain("relu"))
    (function,) = s_tir_functions(Hooks(), graph(Hooks(), asked), asked)
    assert function.schedule is not None
    assert isinstance(scheduled(Hooks(), function, asked).function, tirx.PrimFunc)


def test_without_hooks_the_c_is_that_of_the_c_backend(shared: Path) -> None:
    """The proof that the stages carry: a whole model, function by function, but for its calls of kernels."""
    model, program = import_model(shared / "models" / "kws_int8.tflite")
    asked = evolve(request(model), program=program)
    assert c.lower is not None
    by_stages, at_once = lower_by_hooks(Hooks(), asked), c.lower(asked)
    plain = [each for each in at_once.functions if not any("kernels/" in name for name in each.headers)]
    assert [each.name.rpartition("_")[0] for each in plain] == ["avg_pool2d", "softmax"]
    assert [each for each in by_stages.functions if each in plain] == plain
    assert [action.operator for action in by_stages.actions] == [each.operator for each in at_once.actions]
