"""The catalogue of composites, and how to add one.

A composite is a piece of the imported Relax program that stands for one operator of `docs/operators.md`. A
backend lists those it wants in `Backend.patterns`; a pattern of its own looks like this:

    from tvm.relax.dpl import is_op, wildcard
    from target_arch.backend.contract import Pattern
    from target_arch.relax.patterns.matcher import Draft, Match, Matcher

    def load() -> Matcher:
        call = is_op("relax.tanh")(wildcard())
        return Matcher(roots=("tanh",), pattern=call, calls={"call": call}, build=build)

    def build(match: Match) -> Draft | None:
        source = match.required("call").args[0]
        if not match.is_activation(source):
            return None                                  # refused: somebody else may take it
        return Draft(kind="tanh", inputs=(source,), output=match.root)

    pattern = Pattern(name="tanh", load=load)

`roots` are the Relax operators (without `relax.`) that the composite may end in: only there is the pattern
tried. The inside of a composite, all between its root and its inputs, must not be used elsewhere; only
`dequantize` may, and is then repeated. Where several patterns fit at one place, the one that covers most
Relax operators wins, then the earlier one.

Tests: `tests/relax/test_patterns.py`.
"""

from importlib import import_module
from typing import Any

from attrs import frozen

from target_arch.backend.contract import Pattern

_ROOM = "target_arch.relax.patterns"

# Operator kind, module and loader. The modules import TVM, so they are imported when a pattern is loaded.
_INTEGER = (
    ("conv2d", "conv", "integer_conv2d"),
    ("depthwise_conv2d", "conv", "integer_depthwise_conv2d"),
    ("dense", "dense", "integer_dense"),
    ("add", "elementwise", "integer_add"),
    ("mul", "elementwise", "integer_mul"),
    ("sub", "elementwise", "integer_sub"),
    ("avg_pool2d", "pool", "stored_avg_pool2d"),
    ("avg_pool2d", "pool", "integer_avg_pool2d"),
    ("avg_pool2d", "pool", "integer_mean"),
    ("max_pool2d", "pool", "stored_max_pool2d"),
    ("max_pool2d", "pool", "integer_max_pool2d"),
    ("softmax", "movement", "integer_softmax"),
    ("reshape", "movement", "quantized_reshape"),
    ("transpose", "movement", "quantized_transpose"),
    ("relu", "elementwise", "integer_relu"),
    ("requantize", "elementwise", "requantize"),
)
_FLOAT = (
    ("conv2d", "conv", "float_conv2d"),
    ("depthwise_conv2d", "conv", "float_depthwise_conv2d"),
    ("dense", "dense", "float_dense"),
    ("add", "elementwise", "float_add"),
    ("mul", "elementwise", "float_mul"),
    ("sub", "elementwise", "float_sub"),
    ("avg_pool2d", "pool", "float_avg_pool2d"),
    ("avg_pool2d", "pool", "float_mean"),
    ("max_pool2d", "pool", "float_max_pool2d"),
    ("softmax", "movement", "float_softmax"),
    ("reshape", "movement", "reshape"),
    ("transpose", "movement", "transpose"),
    ("relu", "elementwise", "float_relu"),
    ("quantize", "elementwise", "quantize"),
    ("dequantize", "elementwise", "dequantize"),
)


@frozen(kw_only=True)
class _Loader:
    """Finds a matcher's function in a module of this package, and calls it."""

    module: str
    function: str

    def __call__(self) -> Any:
        return getattr(import_module(f"{_ROOM}.{self.module}"), self.function)()


def integer_patterns() -> tuple[Pattern, ...]:
    """The composites whose operators compute on stored integers."""
    return _patterns(_INTEGER)


def float_patterns() -> tuple[Pattern, ...]:
    """The composites on float32, and those without arithmetic of their own."""
    return _patterns(_FLOAT)


def standard_patterns() -> tuple[Pattern, ...]:
    """Every composite of `docs/operators.md`."""
    return (*integer_patterns(), *float_patterns())


def _patterns(rows: tuple[tuple[str, str, str], ...]) -> tuple[Pattern, ...]:
    return tuple(
        Pattern(name=kind, load=_Loader(module=module, function=name)) for kind, module, name in rows
    )
