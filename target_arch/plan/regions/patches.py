"""A region that runs patch by patch: the stripes of each patch, and the columns of every tensor that these
are about.
"""

from collections.abc import Mapping

from attrs import frozen

from target_arch.plan.operators.window import Window
from target_arch.plan.regions.stripes import Stripes, TensorRows


@frozen(kw_only=True)
class Columns:
    """Columns `start` to `end` of a tensor that has `of`."""

    start: int
    end: int
    of: int

    @property
    def count(self) -> int:
        return self.end - self.start

    @property
    def range(self) -> range:
        """Their numbers."""
        return range(self.start, self.end)

    @property
    def whole(self) -> "Columns":
        """All columns of the tensor."""
        return Columns(start=0, end=self.of, of=self.of)

    def joined(self, other: "Columns") -> "Columns":
        """These, others of the same tensor, and all between them."""
        return Columns(start=min(self.start, other.start), end=max(self.end, other.end), of=self.of)

    def __str__(self) -> str:
        return f"{self.start} to {self.end} of {self.of}"


@frozen(kw_only=True)
class ColumnWindow:
    """The columns of a tensor that a column of an output needs."""

    tensor: str
    along: Window

    def needed(self, made: Columns) -> Columns:
        """The columns of the tensor that some columns of the output need."""
        columns = self.along.needed(made.range)
        return Columns(start=columns.start, end=columns.stop, of=self.along.extent)


@frozen(kw_only=True)
class Patch:
    """Some columns of the output. In its `stripes` the tensors between the operators and the output have no
    other columns than `columns` says; `reads` are the windows of each producer, in the order of its rows.
    """

    stripes: Stripes
    columns: Mapping[str, Columns]
    reads: tuple[tuple[ColumnWindow, ...], ...]

    def __str__(self) -> str:
        columns = ", ".join(f"{name} {some}" for name, some in self.columns.items())
        return f"columns {columns}\n{self.stripes}"


@frozen(kw_only=True)
class Patches:
    """A call that makes the columns of its output patch by patch, and those of each stripe by stripe. Columns
    that two patches need are computed in both.

    `output` is the tensor that is left, with all columns. It takes the place of nothing that is `given`.
    """

    patches: tuple[Patch, ...]
    output: TensorRows

    @property
    def given(self) -> tuple[TensorRows, ...]:
        """The tensors that it finds whole."""
        return self.patches[0].stripes.given

    @property
    def over(self) -> None:
        """The given tensor whose place the output takes."""
        return None

    @property
    def scratch(self) -> int:
        """Patches use the same bytes, one after the other."""
        return max(patch.stripes.scratch for patch in self.patches)

    def __str__(self) -> str:
        return "".join(map(str, self.patches))
