"""The transfer that carries one slice to another, over the fastest declared path that can."""

from collections.abc import Mapping
from functools import partial

from attrs import define, field, frozen

from target_arch.diagnostics import DiagnosticError
from target_arch.plan.kernels import Slice
from target_arch.soc.model import CopyPath
from target_arch.stages.errors import StepError, failure
from target_arch.stages.paths.routes import Routes, pieces
from target_arch.stages.program.items import Slot, Transfer

Pieces = tuple[tuple[Slice, Slice], ...]
"""The parts that a path carries one by one, each with its place there."""


@frozen(kw_only=True)
class InsertionPoint:
    """Where in the model items are added: in a partition, or (then it is `""`) where the caller reads an
    output. `place` is its name in errors.
    """

    partition: str
    place: str

    def error(self, message: str, rule: str = "wrong-kernel") -> DiagnosticError:
        """A StepError that names this place, to raise."""
        return failure(StepError, rule, self.place, message)


@define(kw_only=True, eq=False)
class Transfers:
    """Makes transfers between buffers (`slots`) that are known by name."""

    routes: Routes
    slots: Mapping[str, Slot] = field(repr=False)

    def transfer(self, source: Slice, target: Slice, site: InsertionPoint) -> Transfer:
        """A transfer over the fastest path that can carry the slice; asynchronous where times are equal.

        Raises StepError for slices that end outside their buffer or have different sizes, and where no path
        leads from memory to memory or none has an alignment that fits.
        """
        for part in (source, target):
            bytes = self.slots[part.of].bytes
            if part.end > bytes:
                raise site.error(f"`{part}` ends outside `{part.of}`, which has {bytes:,} B")
        if source.bytes != target.bytes:
            raise site.error(f"a move of {source.bytes:,} B, `{source}`, to {target.bytes:,} B, `{target}`")
        able = [
            (path, cut)
            for path in self._direct(source, target)
            if (cut := pieces(path, source, target)) is not None
        ]
        if not able:
            raise self._no_path(source, target, site)
        path, cut = able[0] if len(able) == 1 else min(able, key=partial(self._price, source.bytes))
        return Transfer(path=path, pieces=cut, partition=site.partition)

    def _price(self, bytes: int, way: tuple[CopyPath, Pieces]) -> tuple[float, bool]:
        """The seconds of so many bytes in these pieces; asynchronous paths first among equals."""
        path, cut = way
        return self.routes.seconds(path, bytes, len(cut)), not path.is_async

    def _direct(self, source: Slice, target: Slice) -> tuple[CopyPath, ...]:
        return self.routes.direct(self.slots[source.of].memory, self.slots[target.of].memory)

    def _no_path(self, source: Slice, target: Slice, site: InsertionPoint) -> DiagnosticError:
        start, end = self.slots[source.of].memory, self.slots[target.of].memory
        known = self._direct(source, target)
        if not known:
            return site.error(f"move of `{source}`: {self.routes.missing([start], [end])}", "no-copy-path")
        least = min(path.alignment for path in known)
        needs = (
            f"the copy path from `{start}` to `{end}` needs addresses and strides in multiples of {least} B"
        )
        return site.error(f"{needs}, not `{source}` to `{target}`", "unaligned-move")
