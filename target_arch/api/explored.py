"""Many chips compared for the same models: what a space file asks for."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from attrs import field, frozen

from target_arch.api.option_types import require_options, typed_arguments
from target_arch.diagnostics import refusal
from target_arch.explore import summary
from target_arch.explore.chip import chip_file
from target_arch.explore.exploration import Exploration
from target_arch.explore.space import Space
from target_arch.explore.space_file import read_space

if TYPE_CHECKING:
    from target_arch.explore.cluster import DaskWorkers
    from target_arch.explore.search import SpaceSearch
    from target_arch.explore.workers import LocalWorkers
    from target_arch.report.facts.space import ShownProgress

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

    def to_json(self) -> summary.ExploredSpace:
        """Every point with its values and outcome, and the front."""
        return summary.to_json(self.made)

    def to_csv(self) -> str:
        """A line for every point."""
        return summary.to_csv(self.made)

    def page(self) -> str:
        """A page of HTML that stands alone: the front, what a step buys, and all points on all axes."""
        return _page(self.made, None)

    def __repr__(self) -> str:
        return f"<exploration of {self.made.space.name}: {len(self.made.outcomes):,} points>"

    def __str__(self) -> str:
        return summary.text(self.made)


def _page(made: Exploration, progress: "ShownProgress | None") -> str:
    from target_arch.explore.shown import shown_space
    from target_arch.report import space_page

    files = [str(model.files[0]) for model in made.space.models]
    return space_page(shown_space(made, f"{made.space.name}.toml", files), progress)


class ExploreOptions(TypedDict, total=False):
    """The options of `explore_chips`."""

    workers: int | None
    """Processes; one for each core without it."""
    seed: int
    """Of the order or choice of points."""
    scheduler: str | None
    """The address of a Dask scheduler whose workers evaluate points, `tcp://HOST:PORT`."""
    trials: int | None
    """How many points Optuna chooses; all are evaluated without it."""
    prune: bool
    """Whether points that a lower bound shows to be dominated are not compiled; with `trials` they never
    are.
    """
    page: str | Path | None
    """A page of HTML, written again and again while points are evaluated."""
    backend_dirs: Sequence[str | Path]
    """Folders with plug-ins."""
    said: Callable[[int, int], None]
    """Called with how many points of how many are known."""


@typed_arguments
def explore_chips(
    space: str | Path, *, store: str | Path | None = None, **options: Unpack[ExploreOptions]
) -> Explored:
    """Compile the models of a space file for every chip that it describes, or those that a search chooses.

    Outcomes are kept in `store`, a file (by default one beside the space file) or the address of a database,
    and taken from there: a run that was interrupted goes on. DiagnosticError for every mistake in the file,
    for options that there are not, and a store that cannot be written.
    """
    require_options(options, ExploreOptions)
    from target_arch.explore.content import program_digest
    from target_arch.explore.live import write_page
    from target_arch.explore.sample import sampled
    from target_arch.explore.search import SpaceSearch
    from target_arch.explore.stores import open_store

    file, folders = Path(space), tuple(map(Path, options.get("backend_dirs", ())))
    found = read_space(file)
    kept = open_store(file.with_suffix(STORE_SUFFIX) if store is None else store)
    count, program = options.get("workers") or len(os.sched_getaffinity(0)), program_digest(folders)
    trials, seed = options.get("trials"), options.get("seed", 0)
    with _workers(options.get("scheduler"), program, count, folders) as evaluating:
        search = SpaceSearch(found, evaluating, program, kept)
        search.said = _heard(search, options, evaluating.dashboard)
        if trials is None:
            made = search.whole(seed, prune=options.get("prune", False))
        else:
            made = sampled(search, trials, seed)
    explored = Explored(made=made, computed=search.computed)
    page = options.get("page")
    if page is not None:
        write_page(Path(page), explored.page())
    return explored


def _heard(search: "SpaceSearch", options: ExploreOptions, dashboard: str) -> Callable[[int, int], None]:
    """A hearer of the progress, for the caller and the page with the front so far."""
    from target_arch.explore.live import LivePage

    said, page = options.get("said"), options.get("page")
    live = None if page is None else LivePage(file=Path(page), dashboard=dashboard)

    def heard(done: int, every: int) -> None:
        if said is not None:
            said(done, every)
        if live is not None:
            live.heard(done, every, lambda progress: _page(search.exploration(), progress))

    return heard


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


@typed_arguments
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
