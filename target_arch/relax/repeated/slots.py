"""Which tensors of a subprogram share a buffer: those of one element type that are not needed at once."""

from collections.abc import Iterable, Mapping

from attrs import Factory, define

from target_arch.relax.repeated.straight import Straight


@define(eq=False)
class Slots:
    """Buffers by number: the number and the type of their elements. A single element has one of its own,
    which C keeps in a register.
    """

    forms: list[tuple[int, str]] = Factory(list)

    def of(self, program: Straight) -> Mapping[str, int]:
        """The buffers of the tensors that the functions of a subprogram write; none is in use before it.

        Outputs keep theirs to the end.
        """
        free, found = set(range(len(self.forms))), dict[str, int]()
        last = {name: number for number, call in enumerate(program.calls) for name in call.tensors}
        last |= dict.fromkeys(program.outputs, len(program.calls))
        for number, call in enumerate(program.calls):
            for name in self._written(call.tensors, program, found):
                found[name] = self._taken(*program.sizes[name], free)
            free |= {found[name] for name in call.tensors if name in found and last[name] == number}
        return found

    def _written(self, tensors: Iterable[str], program: Straight, found: Mapping[str, int]) -> list[str]:
        known = {*program.inputs, *program.constants, *found}
        return [name for name in tensors if name not in known]

    def _taken(self, size: int, dtype: str, free: set[int]) -> int:
        """A free buffer of the type, the nearest in size, made larger where it is too small."""
        alike = [n for n in free if self.forms[n][1] == dtype and (self.forms[n][0] == 1) == (size == 1)]
        if not alike:
            self.forms.append((size, dtype))
            return len(self.forms) - 1
        chosen = min(alike, key=lambda n: (abs(self.forms[n][0] - size), n))
        free.remove(chosen)
        self.forms[chosen] = (max(size, self.forms[chosen][0]), dtype)
        return chosen
