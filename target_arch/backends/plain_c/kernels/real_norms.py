"""Normalization in float32 as calls of `f32_norms.h`."""

from math import prod

from target_arch.backends.plain_c.kernels.text import Made, Parameter, function, parameter
from target_arch.backends.plain_c.work.forms import Work, WorkUnit
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.facts import DEFINITION_NAME
from target_arch.plan.operators.kinds import OperatorKind

_HEADER = "kernels/f32_norms.h"
_NAMES = ("layer_norm", "group_norm", "batch_norm")


def refusal(operator: Operator, model: Model) -> str | None:
    """Why an operator is no such call, None where it is one."""
    if operator.kind is not OperatorKind.NORMALIZE or operator.attributes.get(DEFINITION_NAME) not in _NAMES:
        return f"no kernel for {operator.kind}"
    if any(model.tensors[name].data is None for name in operator.constants):
        return "a scale or an offset that is computed at run time"
    return None


def work(operator: Operator, model: Model) -> Work:
    """The work of an operator that `refusal` accepts."""
    return {WorkUnit.REAL_ELEMENT: prod(model.tensors[operator.output].shape), WorkUnit.CALL: 1}


def made(operator: Operator, model: Model) -> Made:
    """The call of an operator that `refusal` accepts."""
    x, out = model.tensors[operator.inputs[0]], model.tensors[operator.output]
    scale, offset = (model.tensors[name] for name in operator.constants)
    name = str(operator.attributes[DEFINITION_NAME])
    parameters = (
        parameter("x", x),
        Parameter(name="scale", dtype="float32"),
        Parameter(name="offset", dtype="float32"),
        parameter("out", out, written=True),
    )
    numbers = ", ".join(_numbers(name, operator, x.shape))
    line = f"ta_f32_{name}({numbers}, x, scale, offset, out);"
    return Made(function=function(name, parameters, (line,), (_HEADER,), ((3, 0),)), packed=(scale, offset))


def _numbers(name: str, operator: Operator, shape: tuple[int, ...]) -> tuple[str, ...]:
    if name == "layer_norm":
        length = operator.integer("length")
        return str(prod(shape) // length), str(length), _epsilon(operator)
    images, channels, length = shape[0], shape[1], prod(shape[2:])
    if name == "batch_norm":
        return str(images), str(channels), str(length)
    groups = operator.integer("groups")
    return str(images), str(groups), str(channels // groups), str(length), _epsilon(operator)


def _epsilon(operator: Operator) -> str:
    return f"{operator.real('epsilon').hex()}f"
