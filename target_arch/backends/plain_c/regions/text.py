"""The C function of a region."""

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from target_arch.backends.plain_c.kernels.text import Parameter, function, parameter
from target_arch.backends.plain_c.regions.linewise import Linewise
from target_arch.plan.kernels import CFunction
from target_arch.plan.model import Model
from target_arch.plan.regions.lines import RegionPlan


@frozen(kw_only=True)
class RegionText:
    """Writes the function: its head from the plan and the operators of its first pass, which have the
    constants of all, and a body. Tensors are `x0`, `x1`, … in it, those given first, `out` and `lines`.
    """

    plan: RegionPlan
    units: Sequence[Linewise]
    model: Model

    def function(self, kind: str, headers: Sequence[str], body: Iterator[str]) -> CFunction:
        """The function of that kind with a body that needs these headers."""
        parameters = self._parameters()
        written = next(n for n, each in enumerate(parameters) if each.written)
        over = [(written, n) for n, image in enumerate(self.plan.given) if image == self.plan.over]
        return function(kind, parameters, tuple(body), tuple(dict.fromkeys(headers)), tuple(over))

    def _parameters(self) -> tuple[Parameter, ...]:
        """Tensors given, the packed constants of each unit, the output, the scratch."""
        tensors = self.model.tensors
        given = [parameter(f"x{n}", tensors[image.name]) for n, image in enumerate(self.plan.given)]
        inside = [
            evolve(each, name=f"{each.name}{number}")
            for number, unit in enumerate(self.units)
            for each in unit.inside
        ]
        last = parameter("out", tensors[self.plan.output.name], written=True)
        scratch = [Parameter(name="lines", dtype="int8", written=True)] if self.plan.scratch else []
        return (*given, *inside, last, *scratch)
