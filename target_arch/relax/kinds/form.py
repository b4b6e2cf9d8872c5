"""How operators of one kind are found in a Relax program, and how they are computed."""

from collections.abc import Callable

from attrs import frozen

from target_arch.plan.model import Model, Operator
from target_arch.relax.patterns.matcher import Matcher
from target_arch.relax.te.definition import Definition, Tail

Define = Callable[[Operator, Model], Definition]


@frozen(kw_only=True)
class Form:
    """`patterns` make the matchers: on stored integers first, then on floats.

    `definition` is the operator in TE, None where it is lowered in another way. `paired` is the same with an
    element-wise operator after it, for kinds whose sums a `Tail` can read; None for others.
    """

    patterns: tuple[Callable[[], Matcher], ...]
    definition: Define | None
    paired: Callable[[Operator, Model, Tail], Definition] | None
