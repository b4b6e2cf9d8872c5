"""An exploration as text, JSON and CSV. The same outcomes give the same bytes.

Tests: `tests/explore/test_summary.py`.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, TypedDict

from target_arch.explore.exploration import Exploration
from target_arch.explore.measures import amount
from target_arch.explore.outcome import PrintedOutcome, Status
from target_arch.explore.sensitivity import sentences
from target_arch.explore.space import Limit, Point, counted_points

_LONGEST = 40
"""Lines of the table of the front; the files have all of it."""


class ExploredPoint(PrintedOutcome):
    """A point of a space with its result."""

    point: Annotated[int, "its number"]
    values: Annotated[dict[str, str], "of what varies"]
    measures: Annotated[dict[str, float | None], "in base units; null where there is none"]
    keeps_limits: bool


class ExploredSpace(TypedDict):
    """The points that were evaluated, and those that no other beats."""

    space: str
    minimize: Annotated[list[str], "measures"]
    front: Annotated[list[int], "numbers of points"]
    points: list[ExploredPoint]


def text(made: Exploration) -> str:
    """The counts, the front, the reasons of points without numbers, and what limits exclude."""
    parts = [counts(made), _front(made), *_steps(made), *_excluded(made), *_reasons(made)]
    return "\n".join(parts)


def to_json(made: Exploration) -> ExploredSpace:
    """Every point with its values, its outcome and its goals, and the numbers of those on the front."""
    space = made.space
    return {
        "space": space.name,
        "minimize": list(space.minimize),
        "front": [space.number(point) for point in made.front],
        "points": [
            {
                "point": space.number(point),
                "values": {name: each.shown for name, each in space.settings(point).items()},
                "measures": {name: made.value(point, name) for name in _asked(made)},
                "keeps_limits": outcome.fits and not made.breaches(point),
                **outcome.to_json(),
            }
            for point, outcome in made.outcomes.items()
        ],
    }


def to_csv(made: Exploration) -> str:
    """A line for every point: number, values, status, what is asked in base units, and whether it is on the
    front.
    """
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    asked, front = _asked(made), set(made.front)
    lines.writerow(["point", *(v.name for v in made.space.variations), "status", *asked, "front", "reason"])
    for point, outcome in made.outcomes.items():
        values = [made.value(point, name) for name in asked]
        lines.writerow(
            [
                made.space.number(point),
                *(each.shown for each in made.space.settings(point).values()),
                str(outcome.status),
                *("" if value is None else repr(value) for value in values),
                int(point in front),
                first_line(outcome.reason),
            ]
        )
    return written.getvalue()


def _asked(made: Exploration) -> list[str]:
    """The names of goals and limits, each once."""
    return list(dict.fromkeys((*made.space.minimize, *(each.measure for each in made.space.limits))))


def first_line(reason: str) -> str:
    """The first line of a reason, or the last of a traceback."""
    lines = reason.strip().splitlines() or [""]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


def counts(made: Exploration) -> str:
    """A line: how many points there are, and what became of them."""
    counted = Counter(outcome.status for outcome in made.outcomes.values())
    words = {
        Status.FITS: "fits" if counted[Status.FITS] == 1 else "fit",
        Status.REFUSED: "refused",
        Status.NO_CHIP: "no chip",
        Status.CRASHED: "crashed",
        Status.DOMINATED: "dominated by a bound",
    }
    said = ", ".join(f"{counted[status]:,} {word}" for status, word in words.items() if counted[status])
    return f"{made.space.name}: {counted_points(len(made.outcomes))}: {said}\n"


def _front(made: Exploration) -> str:
    if not made.front:
        return "no point is good: the front is empty\n"
    goals = ", ".join(made.space.minimize)
    good = (
        "the only good point"
        if len(made.good) == 1
        else f"{len(made.front):,} of {len(made.good):,} good points"
    )
    head = f"front of {goals}: {good}\n"
    names = [variation.name for variation in made.space.variations]
    rows = [["point", *names, *_asked(made)]]
    rows += [_row(made, point) for point in made.front[:_LONGEST]]
    more = len(made.front) - _LONGEST
    return head + table(rows) + (f"  … and {more:,} more\n" if more > 0 else "")


def _row(made: Exploration, point: Point) -> list[str]:
    models = [model.name for model in made.space.models]
    values = [amount(name, made.value(point, name), models) for name in _asked(made)]
    shown = [each.shown for each in made.space.settings(point).values()]
    return [str(made.space.number(point)), *shown, *values]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text in columns, the first row their names."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
    return "".join(f"  {line}".rstrip() + "\n" for line in lines)


def _steps(made: Exploration) -> Iterator[str]:
    """The sentences about the first point of the front."""
    said = list(sentences(made, made.front[0])) if made.front else []
    if said:
        head = f"what a step buys, from point {made.space.number(made.front[0])}\n"
        yield head + "".join(f"  {each}\n" for each in said[:_LONGEST])


def _excluded(made: Exploration) -> Iterator[str]:
    """Where points fit and none is good: the limits that none keeps, or the nearest point."""
    if made.good or not made.fitting:
        return
    alone = [said for limit in made.space.limits if (said := _beyond(made, limit)) is not None]
    if alone:
        yield "limits that no point keeps\n" + "".join(alone)
    elif made.space.limits:
        yield "every limit is kept by some points, all of them by none; the nearest\n" + _nearest(made)
    else:
        yield "what is minimized is not known: an energy needs the power of every target_arch\n"


def _beyond(made: Exploration, limit: Limit) -> str | None:
    """A line about a limit that no point keeps, with the least value there is; None where one keeps it."""
    values = ((point, made.value(point, limit.measure)) for point in made.fitting)
    known = {point: value for point, value in values if value is not None}
    if not known:
        return f"  {limit.measure}: not known, since a SoC lacks the power of a target_arch\n"
    point = min(known, key=lambda each: known[each])
    if known[point] <= limit.most:
        return None
    least = amount(limit.measure, known[point], [model.name for model in made.space.models])
    over = f", {100 * (known[point] / limit.most - 1):,.1f} % more" if limit.most else ""
    said = f"at most {limit.shown} is wanted, the least is {least}{over}"
    return f"  {limit.measure}: {said} (point {made.space.number(point)})\n"


def _nearest(made: Exploration) -> str:
    models = [model.name for model in made.space.models]
    point = min(made.fitting, key=lambda each: max((b.excess for b in made.breaches(each)), default=0.0))
    breaches = "".join(
        f"  {each.limit.measure}: {amount(each.limit.measure, each.value, models)}"
        f" instead of {each.limit.shown}\n"
        for each in made.breaches(point)
    )
    return f"  point {made.space.number(point)}: {made.space.shown(point)}\n{breaches}"


def _reasons(made: Exploration) -> Iterator[str]:
    """For each status without numbers the rules that refuse, with the first point and its reason."""
    for status in (Status.REFUSED, Status.NO_CHIP, Status.CRASHED):
        by_rule: dict[str, list[Point]] = {}
        for point, outcome in made.outcomes.items():
            if outcome.status is status:
                by_rule.setdefault(outcome.rule, []).append(point)
        if by_rule:
            yield f"{status}\n" + "".join(_reason(made, rule, by_rule[rule]) for rule in sorted(by_rule))


def _reason(made: Exploration, rule: str, points: Sequence[Point]) -> str:
    first = points[0]
    values = made.space.shown(first)
    where = f"{made.space.number(first)} ({values})" if values else f"{made.space.number(first)}"
    said = first_line(made.outcomes[first].reason)
    return f"  {counted_points(len(points))} [{rule}], such as {where}:\n    {said}\n"
