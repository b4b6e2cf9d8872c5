"""Two bundles compared: operators that moved, and figures that changed."""

from collections.abc import Iterator, Mapping

from attrs import frozen

from target_arch.report.facts.shown import ShownBundle, ShownModel, ShownOperator, ShownPool


@frozen(kw_only=True)
class Moved:
    """An operator that is elsewhere, with its seconds there; None on the side that does not have it."""

    operator: str
    before: str | None
    after: str | None
    cost_before: float | None
    cost_after: float | None
    reason: str


@frozen(kw_only=True)
class Figure:
    """A number of both bundles. `unit` is `s` or `B`, or nothing for a count; None where a side has none."""

    name: str
    unit: str
    before: float | None
    after: float | None

    @property
    def change(self) -> float | None:
        """The change relative to the value before; None where that was 0."""
        if self.before is None or self.after is None or not self.before:
            return None
        return self.after / self.before - 1


@frozen(kw_only=True)
class ComparedModel:
    """A model in both bundles."""

    before: ShownModel
    after: ShownModel
    figures: tuple[Figure, ...]
    moved: tuple[Moved, ...]


@frozen(kw_only=True)
class Compared:
    """Two bundles. `only_before` and `only_after` name models that the other one lacks."""

    before: ShownBundle
    after: ShownBundle
    models: tuple[ComparedModel, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]


def compared(before: ShownBundle, after: ShownBundle) -> Compared:
    """The two bundles: models of one name belong together, as do the only ones of each."""
    old, new = ({model.name: model for model in each.models} for each in (before, after))
    if len(old) == len(new) == 1:
        pairs = [(before.models[0], after.models[0])]
    else:
        pairs = [(old[name], new[name]) for name in old if name in new]
    known = {model.name for pair in pairs for model in pair}
    return Compared(
        before=before,
        after=after,
        models=tuple(
            ComparedModel(
                before=a, after=b, figures=tuple(_figures(a, b)), moved=tuple(_moved(a.by_id, b.by_id))
            )
            for a, b in pairs
        ),
        only_before=tuple(name for name in old if name not in known),
        only_after=tuple(name for name in new if name not in known),
    )


def _figures(before: ShownModel, after: ShownModel) -> Iterator[Figure]:
    runs = before.run, after.run
    for name, key in (
        ("simulated run", "makespan"),
        ("its lower bound, any order", "bound"),
        ("its lower bound, any division", "division_bound"),
    ):
        yield Figure(
            name=name, unit="s", before=getattr(runs[0], key, None), after=getattr(runs[1], key, None)
        )
    for name, key in (("operators", "operators"), ("partitions", "partitions"), ("steps", "steps")):
        yield Figure(name=name, unit="", before=len(getattr(before, key)), after=len(getattr(after, key)))
    old, new = ({pool.name: pool for pool in model.pools} for model in (before, after))
    for name in sorted({*old, *new}):
        yield Figure(name=f"pool {name}", unit="B", before=_peak(old, name), after=_peak(new, name))


def _peak(pools: Mapping[str, ShownPool], name: str) -> int | None:
    return pools[name].peak if name in pools else None


def _moved(before: Mapping[str, ShownOperator], after: Mapping[str, ShownOperator]) -> Iterator[Moved]:
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old is None or new is None or old.where != new.where:
            yield Moved(
                operator=name,
                before=None if old is None else old.where,
                after=None if new is None else new.where,
                cost_before=None if old is None else old.cost,
                cost_after=None if new is None else new.cost,
                reason="" if new is None else new.reason,
            )
