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
`dequantize` may, and is then repeated. `load` may also return a tuple of matchers. Where several fit at one
place, the one that covers most Relax operators wins, then the earlier one.

Tests: `tests/relax/patterns/test_patterns.py`.
"""

from importlib import import_module
from typing import Any

from attrs import frozen

from target_arch.backend.contract import Pattern

_ROOM = "target_arch.relax.patterns"

# For every operator kind the loaders of its matchers: those on stored integers first, then those on floats.
# The modules import TVM, so they are imported when a pattern is loaded.
_CATALOGUE = {
    "conv2d": (("conv", "integer_conv2d"), ("conv", "float_conv2d")),
    "depthwise_conv2d": (("conv", "integer_depthwise_conv2d"), ("conv", "float_depthwise_conv2d")),
    "dense": (("dense", "integer_dense"), ("dense", "float_dense")),
    "add": (("elementwise", "integer_add"), ("elementwise", "float_add")),
    "mul": (("elementwise", "integer_mul"), ("elementwise", "float_mul")),
    "sub": (("elementwise", "integer_sub"), ("elementwise", "float_sub")),
    "avg_pool2d": (
        ("pool", "stored_avg_pool2d"),
        ("pool", "integer_avg_pool2d"),
        ("pool", "integer_mean"),
        ("pool", "float_avg_pool2d"),
        ("pool", "float_mean"),
    ),
    "max_pool2d": (
        ("pool", "stored_max_pool2d"),
        ("pool", "integer_max_pool2d"),
        ("pool", "float_max_pool2d"),
    ),
    "softmax": (("movement", "integer_softmax"), ("movement", "float_softmax")),
    "reshape": (("movement", "quantized_reshape"), ("movement", "reshape")),
    "transpose": (("movement", "quantized_transpose"), ("movement", "transpose")),
    "concat": (("joining", "quantized_concat"), ("joining", "concat")),
    "relu": (("elementwise", "integer_relu"), ("elementwise", "float_relu")),
    "requantize": (("elementwise", "requantize"),),
    "quantize": (("elementwise", "quantize"),),
    "dequantize": (("elementwise", "dequantize"),),
}


@frozen(kw_only=True)
class _Loader:
    """Finds functions in the modules of this package, and calls them."""

    functions: tuple[tuple[str, str], ...]

    def __call__(self) -> Any:
        return tuple(getattr(import_module(f"{_ROOM}.{module}"), name)() for module, name in self.functions)


def standard_patterns(*kinds: str) -> tuple[Pattern, ...]:
    """The composites of these operator kinds, in integers and in floats; without arguments those of every
    kind.

    KeyError for a kind that is not in `docs/operators.md`.
    """
    return tuple(
        Pattern(name=kind, load=_Loader(functions=_CATALOGUE[kind])) for kind in (kinds or tuple(_CATALOGUE))
    )
