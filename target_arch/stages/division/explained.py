"""The cost of other shares of an operator: the expected run with each, the others as they are."""

from collections.abc import Collection, Iterator

from target_arch.plan.division import Cut, Division, ShareChoice, ShareRun
from target_arch.stages.division.graphs import DividedGraphs
from target_arch.stages.division.shares import cuts, divisible


def share_choices(
    division: Division, graphs: DividedGraphs, operators: Collection[str]
) -> Iterator[ShareChoice]:
    """The choices of these operators, those that may not be divided left out."""
    setting = graphs.setting
    able = divisible(graphs.base, setting.part_alignments, setting.soc)
    for id in (id for id in operators if id in able):
        chosen = division.get(id)
        others = (cut for cut in (None, *cuts(able[id], setting.soc)) if cut != chosen)
        yield ShareChoice(
            operator=id,
            axis=able[id].axis,
            extent=able[id].extent,
            chosen=_run(division, graphs, id, chosen),
            others=tuple(_run(division, graphs, id, cut) for cut in others),
        )


def _run(division: Division, graphs: DividedGraphs, id: str, cut: Cut | None) -> ShareRun:
    others = {name: each for name, each in division.items() if name != id}
    tried = others if cut is None else {**others, id: cut}
    return ShareRun(cut=cut, run=graphs.seconds(tried))
