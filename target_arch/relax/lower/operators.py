"""The C function that an operator becomes, from its TE definition.

Lowering depends on an operator's signature alone: kind, arithmetic, attributes, and shape, type and
quantization of its tensors. Equal signatures are lowered once per process.
"""

from functools import lru_cache
from typing import Any

from attrs import evolve, frozen

from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Attribute, Model, Operator, Quantization, Tensor
from target_arch.plan.operators.facts import Arithmetic
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.tuning import NOTHING_TUNED, Tuning
from target_arch.relax.definitions import elementwise, movement
from target_arch.relax.kinds.table import defined, defined_with
from target_arch.relax.lower.lowering import lower_definition, lower_spread, lower_tuned
from target_arch.relax.lower.objects import LlvmTarget, object_file
from target_arch.relax.te.definition import Axes, Definition, Packed


@frozen(kw_only=True)
class Signature:
    """Everything that lowering an operator depends on; `operands` are inputs, constants and the output, in
    order.
    """

    kind: OperatorKind | str
    arithmetic: Arithmetic
    attributes: tuple[tuple[str, Attribute], ...]
    operands: tuple[tuple[tuple[int, ...], str, Quantization | None], ...]
    inputs: int


@frozen(kw_only=True)
class LoweredOperator:
    """A C function, the constants it takes after the operator's own, and the bytes of its scratch parameters.

    Parameters of the function: inputs, constants, `packed`, output, scratch. `task` is that of the tuning
    record whose schedule it has, None for the definition's own.
    """

    function: CFunction
    packed: tuple[Packed, ...]
    scratch: tuple[int, ...]
    task: str | None = None


def lower_operator(operator: Operator, model: Model, tuning: Tuning = NOTHING_TUNED) -> LoweredOperator:
    """The C of an operator. ValueError where its kind has no definition, or its parameters no exact form."""
    signature = signature_of(operator, model)
    return _tuned(signature, tuning) if tuning else _lowered(signature)


def lower_pair(operator: Operator, after: Operator, model: Model) -> LoweredOperator:
    """The C of an operator and of an elementwise one that reads its output; the value between them has no
    buffer.

    Parameters of the function: inputs, constants, `packed` of the first, the other operand of the second,
    output, scratch. Raises as `lower_operator`.
    """
    side = (*after.inputs, *after.constants).index(operator.output)
    return _lowered_pair(signature_of(operator, model), signature_of(after, model), side)


@lru_cache(maxsize=1024)
def _lowered_pair(signature: Signature, after: Signature, side: int) -> LoweredOperator:
    model, rest = _model_of(signature), _model_of(after)

    def tail(value: Any, axes: Axes) -> Definition:
        return elementwise.binary_after(rest.operators[0], rest, side, value, axes)

    definition = defined_with(model.operators[0], model, tail)
    printed = lower_definition(definition, f"{signature.kind}_{after.kind}")
    return LoweredOperator(function=printed.function, packed=definition.packed, scratch=printed.scratch)


def lower_into_rows(operator: Operator, model: Model, run: int, stride: int) -> LoweredOperator:
    """The C of an operator whose output goes to rows of `run` elements, `stride` elements apart. Raises as
    `lower_operator`.
    """
    return _into_rows(signature_of(operator, model), run, stride)


def lower_copy(tensor: Tensor, run: int, stride: int) -> LoweredOperator:
    """The C of a copy of a tensor to such rows; to one run of bytes where both numbers are equal."""
    operator = Operator(
        id="copy",
        kind=OperatorKind.RESHAPE,
        arithmetic=Arithmetic.FLOAT,
        inputs=("x",),
        constants=(),
        output="y",
    )
    tensors = {
        "x": evolve(tensor, name="x", quantization=None),
        "y": evolve(tensor, name="y", quantization=None),
    }
    model = Model(
        name="one", source="copy", inputs=("x",), outputs=("y",), tensors=tensors, operators=(operator,)
    )
    signature = signature_of(operator, model)
    return _lowered(signature) if run == stride else _into_rows(signature, run, stride)


def _rows_of(signature: Signature, run: int) -> Definition:
    """A reshape as rows, so that no index is divided."""
    model = _model_of(signature)
    return movement.rows(model.operators[0], model, run)


@lru_cache(maxsize=1024)
def _into_rows(signature: Signature, run: int, stride: int) -> LoweredOperator:
    definition = (
        definition_of(signature) if signature.kind is not OperatorKind.RESHAPE else _rows_of(signature, run)
    )
    printed = lower_spread(definition, f"{signature.kind}_rows", run, stride)
    return LoweredOperator(function=printed.function, packed=definition.packed, scratch=printed.scratch)


def signature_of(operator: Operator, model: Model) -> Signature:
    """The signature of an operator."""
    names = (*operator.inputs, *operator.constants, operator.output)
    tensors = [model.tensors[name] for name in names]
    return Signature(
        kind=operator.kind,
        arithmetic=operator.arithmetic,
        attributes=tuple(sorted(operator.attributes.items())),
        operands=tuple((tensor.shape, tensor.dtype, tensor.quantization) for tensor in tensors),
        inputs=len(operator.inputs),
    )


def lower_operator_object(operator: Operator, model: Model, name: str, target: LlvmTarget) -> bytes:
    """The same function as an object file for another core, under `name`; raises as `lower_operator`."""
    return _object(signature_of(operator, model), name, target)


@lru_cache(maxsize=1024)
def _object(signature: Signature, name: str, target: LlvmTarget) -> bytes:
    return object_file(definition_of(signature), name, target)


def definition_of(signature: Signature) -> Definition:
    """The TE definition of an operator with that signature."""
    model = _model_of(signature)
    return defined(signature.kind, model.operators[0], model)


@lru_cache(maxsize=1024)
def _lowered(signature: Signature) -> LoweredOperator:
    return _tuned(signature, NOTHING_TUNED)


def _tuned(signature: Signature, tuning: Tuning) -> LoweredOperator:
    definition = definition_of(signature)
    printed, task = lower_tuned(definition, signature.kind, tuning)
    return LoweredOperator(
        function=printed.function, packed=definition.packed, scratch=printed.scratch, task=task
    )


def _model_of(signature: Signature) -> Model:
    """A model of one nameless operator with that signature."""
    tensors = [
        Tensor(name=f"t{index}", shape=shape, dtype=dtype, quantization=quantization)
        for index, (shape, dtype, quantization) in enumerate(signature.operands)
    ]
    names = [tensor.name for tensor in tensors]
    operator = Operator(
        id=signature.kind,
        kind=signature.kind,
        arithmetic=signature.arithmetic,
        inputs=tuple(names[: signature.inputs]),
        constants=tuple(names[signature.inputs : -1]),
        output=names[-1],
        attributes=dict(signature.attributes),
    )
    return Model(
        name="one",
        source="signature",
        inputs=operator.inputs,
        outputs=(operator.output,),
        tensors={tensor.name: tensor for tensor in tensors},
        operators=(operator,),
    )
