"""Which operators have a form in plain C, and why not the others."""

from math import prod

from target_arch.backend.contract import Question
from target_arch.plan.arithmetic import counts_in_multiplier
from target_arch.plan.model import DTYPE_BYTES, Model, Operator
from target_arch.plan.operators.facts import INTEGERS, Arithmetic, Lowering, Structure
from target_arch.plan.products import is_hybrid, widens

_STORED = ("int8", "uint8")


def refusal(question: Question) -> str | None:
    """The reason why not, or None."""
    operator, model = question.operator, question.model
    if operator.lowering is Lowering.FOREIGN:
        return f"no C definition of operator kind {operator.kind}"
    for name in (*operator.inputs, *operator.constants, operator.output):
        tensor = model.tensors[name]
        if tensor.dtype not in DTYPE_BYTES:
            return f"element type {tensor.dtype} of `{name}` has no C type"
        if prod(tensor.shape) <= 0:
            return f"`{name}` has no elements"
    return None if operator.facts.of_any_types else _arithmetic_refusal(operator, model)


def _arithmetic_refusal(operator: Operator, model: Model) -> str | None:
    if operator.arithmetic not in operator.facts.arithmetics:
        return f"no C definition of {operator.kind} in {operator.arithmetic} arithmetic"
    if operator.arithmetic in INTEGERS:
        return _integer_refusal(operator, model)
    return _float_refusal(operator, model)


def _float_refusal(operator: Operator, model: Model) -> str | None:
    weights = operator.constants[:1] if is_hybrid(operator, model) or widens(operator, model) else ()
    for name in (*operator.inputs, *operator.constants, operator.output):
        if name in weights:
            continue
        if not operator.facts.moves and model.tensors[name].dtype != "float32":
            return f"float arithmetic on {model.tensors[name].dtype} `{name}`"
    return _shape_refusal(operator, model)


def _integer_refusal(operator: Operator, model: Model) -> str | None:
    if operator.facts.moves:
        return _shape_refusal(operator, model)
    facts = operator.facts
    real = (*operator.inputs,) if facts.float_inputs else (operator.output,) if facts.float_output else ()
    weight, bias = (operator.constants[:1], operator.constants[1:2]) if facts.weighted else ((), ())
    averaged = facts.structure is Structure.POOL and operator.arithmetic is Arithmetic.TFLITE
    tabled = facts.structure in (Structure.ELEMENTWISE, Structure.ROWS)
    tables = operator.constants if tabled else ()
    stored = (*_STORED, "int16") if real or averaged or tables or facts.weighted else _STORED
    finer = (*_STORED, "int16") if facts.structure is Structure.ROWS else stored
    for name in (*operator.inputs, *operator.constants, operator.output):
        if name in tables:
            continue
        tensor = model.tensors[name]
        expected = ("float32",) if name in real else ("int32", "int64") if name in bias else stored
        expected = finer if name == operator.output and name not in real else expected
        expected = ("int8",) if name in weight else expected
        if tensor.dtype not in expected:
            return f"{operator.arithmetic} arithmetic on {tensor.dtype} `{name}`"
        if name in real or name in bias:
            continue
        if tensor.quantization is None:
            return f"`{name}` has no quantization"
        per_channel = len(tensor.quantization.scale) > 1
        if per_channel and name not in operator.constants[:1]:
            return f"`{name}` has a scale per channel"
    return _weight_refusal(operator, model) or _shape_refusal(operator, model)


def _weight_refusal(operator: Operator, model: Model) -> str | None:
    if not operator.facts.weighted:
        return _pool_refusal(operator, model)
    quantization = model.tensors[operator.constants[0]].quantization
    if quantization is not None and len(set(quantization.zero_point)) > 1:
        return "weights with several zero points"
    return None


def _pool_refusal(operator: Operator, model: Model) -> str | None:
    """TFLite's pools copy their input's grid; LiteRT refuses others too."""
    pools = operator.facts.structure is Structure.POOL
    if operator.arithmetic != Arithmetic.TFLITE or not pools or counts_in_multiplier(operator):
        return None
    x, out = (model.tensors[name].quantization for name in (operator.inputs[0], operator.output))
    same = x is not None and out is not None and (x.scale, x.zero_point) == (out.scale, out.zero_point)
    return None if same else "a TFLite pool whose output is quantized unlike its input"


def _shape_refusal(operator: Operator, model: Model) -> str | None:
    if operator.facts.structure is Structure.BROADCAST:
        return _repeat_refusal(operator, model)
    if operator.facts.structure is Structure.ROWS:
        rank = len(model.tensors[operator.inputs[0]].shape)
        axis = operator.attributes.get("axis", -1)
        return None if axis in (-1, rank - 1) else f"{operator.kind} over axis {axis} of {rank}"
    return None


def _repeat_refusal(operator: Operator, model: Model) -> str | None:
    out = model.tensors[operator.output].shape
    for name in (*operator.inputs, *operator.constants):
        shape = model.tensors[name].shape
        count = prod(shape)
        repeats = bool(out) and count == out[-1] and shape[-1:] == out[-1:]
        if count not in (1, prod(out)) and not repeats:
            return f"`{name}` of shape {list(shape)} is repeated in a way that is not last-axis"
    return None
