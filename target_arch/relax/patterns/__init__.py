"""Patterns: the shape of each composite in a Relax program, and how to write one.

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
            return None                                  # refused: another backend may take it
        return Draft(kind="tanh", inputs=(source,), output=match.root)

    pattern = Pattern(name="tanh", load=load)

`roots` are the Relax operators (without `relax.`) that the composite may end in: only there is the pattern
tried. The inside of a composite, all between its root and its inputs, must not be used elsewhere; only
`dequantize` may, and is then repeated. `load` may also return a tuple of matchers. Where several fit at one
place, the one that covers most Relax operators wins, then the earlier one.

Tests: `tests/relax/patterns/test_patterns.py`.
"""
