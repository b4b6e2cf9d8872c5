"""What both halves of the checker say of faults of every kind, planted into plans of small graphs with tiles,
states, reshapes and concatenations: how often each form of message.
"""

import re
from collections import Counter
from random import Random

import pytest

from target_arch.plan.lowered import Lowered
from target_arch.stages.check.meaning.check import check_meaning
from target_arch.stages.check.plan import check
from target_arch.stages.check.rules.aliases import parts
from target_arch.stages.errors import CheckError
from target_arch.stages.lowering.ladder import sizes
from tests.conftest import GoldenCheck
from tests.plan_faults.faults import FAULTS
from tests.plan_faults.plans import RightPlan, plan

PLANS = (4, 8, 16, 5074)
SEEDS = 2


def said(right: RightPlan, changed: Lowered) -> list[str]:
    """Every fault that the rules of memory and time find, then those of the meaning."""
    known, model = sizes(right.lowered.graph, right.lowered.kernels), right.lowered.model
    found: list[str] = []
    try:
        check(right.soc, changed.steps, changed.plan, known, parts(model), model.states)
    except CheckError as error:
        found += str(error).split("\n\n")
    try:
        check_meaning(right.soc, changed.graph, changed.kernels, changed.steps, changed.plan)
    except CheckError as error:
        found += str(error).split("\n\n")
    except ValueError:
        assert found, "the meaning is replayed where the rules of memory and time find nothing"
    return found


def form(message: str) -> str:
    """A message without its place, names and numbers."""
    return re.sub(r"-?\d[\d,]*", "N", re.sub(r"`[^`]*`", "_", message.partition(": error: ")[2]))


@pytest.mark.parametrize("number", PLANS)
def test_forms(number: int, golden: GoldenCheck) -> None:
    right = plan(number)
    assert right is not None
    assert said(right, right.lowered) == []
    lines: list[str] = []
    for kind, fault in FAULTS.items():
        changed = [fault(Random(f"{number} {seed}"), right.lowered) for seed in range(SEEDS)]
        texts = [said(right, each) for each in changed if each is not None]
        forms = Counter(form(each) for text in texts for each in text)
        lines.append(f"{kind}: {sum(map(bool, texts))} of {len(texts)}")
        lines += [f"  {count:3} {each}" for each, count in sorted(forms.items())]
    golden(f"forms_{number}", "\n".join(lines) + "\n")
