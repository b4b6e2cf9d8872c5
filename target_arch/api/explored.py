"""Many chips compared for the same models: what a space file asks for."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from target_arch.diagnostics import refusal
from target_arch.explore import summary
from target_arch.explore.chip import chip_file
from target_arch.explore.exploration import Exploration
from target_arch.explore.space import Space
from target_arch.explore.space_file import read_space

if TYPE_CHECKING:
    from target_arch.explore.cluster import DaskWorkers
    from target_arch.explore.workers import LocalWorkers

STORE_SUFFIX = ".outcomes.jsonl"
"""Of the store beside a space file."""


@frozen(kw_only=True, repr=False)
class Explored:
    """The outcomes of a space, and which of its points are best. `computed` of them were not in the store."""

    made: Exploration = field(repr=False)
    computed: int

    @property
    def front(self) -> tuple[int, ...]:
        """The numbers of the points that no other good point is better than, by what is minimized."""
        return tuple(map(self.made.space.number, self.made.front))

    def chip(self, number: int, folder: str | Path = ".") -> str:
        """The SoC file of a point, as text for a file in that folder. DiagnosticError for no such point."""
        return chip_text(self.made.space, number, Path(folder))

    def to_json(self) -> dict[str, Any]:
        """Every point with its values and outcome, and the front."""
        return summary.to_json(self.made)

    def to_csv(self) -> str:
        """A line for every point."""
        return summary.to_csv(self.made)

    def page(self) -> str:
        """A page of HTML that stands alone: the front, what a step buys, and all points on all axes."""
        from target_arch.explore.shown import shown_space
        from target_arch.report import space_page

        space = self.made.space
        files = [str(model.files[0]) for model in space.models]
        return space_page(shown_space(self.made, f"{space.name}.toml", files))

    def __repr__(self) -> str:
        return f"<exploration of {self.made.space.name}: {len(self.made.outcomes):,} points>"

    def __str__(self) -> str:
        return summary.text(self.made)


def explore_chips(
    space: str | Path,
    *,
    workers: int | None = None,
    store: str | Path | None = None,
    seed: int = 0,
    scheduler: str | None = None,
    trials: int | None = None,
    backend_dirs: Sequence[str | Path] = (),
    said: Callable[[int, int], None] = lambda done, every: None,
) -> Explored:
    """Compile the models of a space file for every chip that it describes, in so many processes, by default
    one for each core, or by the workers of a Dask `scheduler` (`tcp://HOST:PORT`). With `trials`, Optuna
    chooses so many points; else all are compiled.

    Outcomes are kept in `store`, by default a file beside the space file, and taken from there: a run that
    was interrupted goes on. `said` hears how many points of how many are known. DiagnosticError for every
    mistake in the file, and a store that cannot be written.
    """
    from target_arch.explore.content import program_digest
    from target_arch.explore.sample import sampled
    from target_arch.explore.search import SpaceSearch
    from target_arch.explore.store import Store

    file, folders = Path(space), tuple(map(Path, backend_dirs))
    found = read_space(file)
    kept = Store(file.with_suffix(STORE_SUFFIX) if store is None else Path(store))
    count = len(os.sched_getaffinity(0)) if workers is None else workers
    program = program_digest(folders)
    with _workers(scheduler, program, count, folders) as evaluating:
        search = SpaceSearch(found, evaluating, program, kept, said)
        made = search.whole(seed) if trials is None else sampled(search, trials, seed)
    return Explored(made=made, computed=search.computed)


def _workers(
    scheduler: str | None, program: str, count: int, folders: tuple[Path, ...]
) -> "LocalWorkers[str] | DaskWorkers":
    """The workers of a scheduler, or processes of this computer."""
    if scheduler is None:
        from target_arch.explore.workers import LocalWorkers

        return LocalWorkers[str](count, folders)
    if folders:
        said = "plug-ins in folders are not sent to other computers"
        raise refusal("folders-not-sent", "scheduler", said, "install them as packages everywhere")
    from target_arch.explore.cluster import DaskWorkers

    return DaskWorkers(scheduler, program)


def point_chip(space: str | Path, number: int, folder: str | Path = ".") -> str:
    """The SoC file of a point of a space file, by its number, as text for a file in that folder.

    DiagnosticError for every mistake in the file, and no such point.
    """
    return chip_text(read_space(Path(space)), number, Path(folder))


def chip_text(space: Space, number: int, folder: Path) -> str:
    """As `point_chip`, of a space."""
    point = space.point(number)
    if point is None:
        said = f"there is no point {number:,}"
        raise refusal("no-point", space.name, said, f"points are numbered from 0 to {space.size - 1:,}")
    return chip_file(space, point).beside(folder)
