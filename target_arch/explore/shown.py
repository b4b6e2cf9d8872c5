"""An exploration for the page that shows it.

Tests: `tests/explore/test_page.py`.
"""

from collections.abc import Sequence

from target_arch.explore.exploration import Exploration
from target_arch.explore.measures import amount
from target_arch.explore.sensitivity import sentences
from target_arch.explore.space import Point
from target_arch.explore.summary import counts
from target_arch.report.facts.space import ShownAxis, ShownPoint, ShownSpace

_SENTENCES = 60


def shown_space(made: Exploration, file: str, models: Sequence[str]) -> ShownSpace:
    """The points that fit, on axes; `file` is the space file and `models` those of the models, for the
    command.
    """
    space = made.space
    points = [point for point in made.fitting if made.goals(point) is not None]
    goals = {point: made.goals(point) or () for point in points}
    names = [model.name for model in space.models]
    axes = [
        ShownAxis(name=v.name, low=v.settings[0].shown, high=v.settings[-1].shown) for v in space.variations
    ]
    ends = []
    for number, name in enumerate(space.minimize):
        values = [each[number] for each in goals.values()] or [0.0]
        ends.append((min(values), max(values)))
        axes.append(
            ShownAxis(name=name, low=amount(name, min(values), names), high=amount(name, max(values), names))
        )
    front, number_of = set(made.front), space.number
    return ShownSpace(
        name=space.name,
        axes=tuple(axes),
        goals=len(space.minimize),
        points=tuple(
            ShownPoint(
                number=number_of(point),
                places=(*_of_values(made, point), *_of_goals(goals[point], ends)),
                cells=_cells(made, point, names),
                front=point in front,
            )
            for point in (*(p for p in points if p not in front), *(p for p in made.front if p in goals))
        ),
        head=("point", *(v.name for v in space.variations), *space.minimize),
        counts=counts(made).strip(),
        best=f"From point {number_of(made.front[0])}, the first of the front:" if made.front else "",
        sentences=tuple(sentences(made, made.front[0]))[:_SENTENCES] if made.front else (),
        command=_command(file, number_of(made.front[0]), models) if made.front else "",
    )


def _of_values(made: Exploration, point: Point) -> tuple[float, ...]:
    pairs = zip(point, made.space.variations, strict=True)
    return tuple(number / max(1, len(variation.settings) - 1) for number, variation in pairs)


def _of_goals(goals: Sequence[float], ends: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    return tuple(
        (value - low) / (high - low) if high > low else 0.5
        for value, (low, high) in zip(goals, ends, strict=True)
    )


def _cells(made: Exploration, point: Point, names: Sequence[str]) -> tuple[str, ...]:
    settings = (each.shown for each in made.space.settings(point).values())
    values = (amount(name, made.value(point, name), names) for name in made.space.minimize)
    return (str(made.space.number(point)), *settings, *values)


def _command(file: str, number: int, models: Sequence[str]) -> str:
    verify = f"target-arch verify {' '.join(models)} --soc chip.toml -o bundle"
    return f"target-arch explore {file} --chip {number} -o chip.toml && {verify}"
