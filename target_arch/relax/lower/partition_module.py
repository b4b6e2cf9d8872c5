"""A partition as a Relax module, for graph passes and for backends that take the partition whole.

`main` has one parameter per tensor that enters. Each operator is one `R.call_dps_packed` of its kind on its
inputs, bound to a variable with the name of its output; tensors are as they are stored (NHWC, integers).
Constants and attributes stay with the operator, whose output the variable names.

Tests: `tests/relax/lower/test_hook_stages.py`.
"""

from typing import Any

from tvm import relax

from target_arch.backend.hooks import Composite
from target_arch.backend.lowering import LoweringRequest
from target_arch.plan.model import Model, Tensor
from target_arch.plan.partitions import Partition
from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.graph import operator_name

CALL = "call_dps_packed"


def entering(partition: Partition) -> tuple[str, ...]:
    """The tensors a partition reads and does not compute, in the order of their first use."""
    computed = {operator.output for operator in partition.operators}
    read = dict.fromkeys(name for operator in partition.operators for name in operator.inputs)
    return tuple(name for name in read if name not in computed)


def leaving(partition: Partition, model: Model) -> tuple[str, ...]:
    """The tensors a partition computes that an operator outside reads, or that the model returns."""
    inside = {operator.id for operator in partition.operators}
    wanted = {name for other in model.operators if other.id not in inside for name in other.inputs}
    wanted |= set(model.kept)
    return tuple(operator.output for operator in partition.operators if operator.output in wanted)


def partition_module(request: LoweringRequest) -> Any:
    """The Relax module of a partition."""
    partition, model = request.partition, request.model
    known = {name: relax.Var(name, _type(model.tensors[name])) for name in entering(partition)}
    left = leaving(partition, model)
    builder = relax.BlockBuilder()
    with builder.function("main", list(known.values())):
        with builder.dataflow():
            for operator in partition.operators:
                name = operator.output
                arguments = relax.Tuple([known[each] for each in operator.inputs])
                call = relax.call_dps_packed(operator.kind, arguments, _type(model.tensors[name]))
                emit = builder.emit_output if name in left else builder.emit
                known[name] = emit(call, name)
        results = [known[name] for name in left]
        builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(results))
    return builder.get()


def composites(module: Any, request: LoweringRequest) -> tuple[Composite, ...]:
    """The calls of `main` in program order. ValueError where a pass left another binding or lost a result."""
    names = _names(module["main"], request)
    operators = {operator.output: operator for operator in request.partition.operators}
    found = []
    for var, value in _bindings(module["main"]):
        operator = operators.get(names[var])
        if operator_name(value) != CALL or operator is None:
            raise ValueError(f"`{names[var]}` is no call of a composite with the name of an output")
        found.append(
            Composite(
                name=str(value.args[0].global_symbol),
                operator=operator,
                inputs=tuple(names[each] for each in value.args[1].fields),
                constants=operator.constants,
                output=operator.output,
                request=request,
            )
        )
    lost = set(leaving(request.partition, request.model)) - {each.output for each in found}
    if lost:
        raise ValueError(f"nothing computes `{sorted(lost)[0]}` any more")
    return tuple(found)


def _names(function: Any, request: LoweringRequest) -> dict[Any, str]:
    """The tensor of every variable: results by their place, since passes may rename them, others by name."""
    result = function.body.body
    results = list(result.fields) if isinstance(result, relax.Tuple) else [result]
    names = dict(zip(results, leaving(request.partition, request.model), strict=True))
    names |= dict(zip(function.params, entering(request.partition), strict=True))
    return {var: str(var.name) for var, _ in _bindings(function)} | names


def _bindings(function: Any) -> list[tuple[Any, Any]]:
    return [(each.var, each.value) for each in bindings_of(function)]


def _type(tensor: Tensor) -> Any:
    return relax.TensorType(tensor.shape, tensor.dtype)
