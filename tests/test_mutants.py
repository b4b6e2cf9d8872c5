"""The faults that mutation testing plants, and how it plants them."""

from types import ModuleType

import pytest

from conformance.mutants.__main__ import EXPLAINED, explanations, faults_of, unknown
from conformance.mutants.mutations import Mutant, mutants
from conformance.mutants.planting import live, plant
from conformance.mutants.trials import Fate

TEXT = '''\
"""A file."""

class Pool:
    @property
    def full(self) -> bool:
        return self.used >= self.size

def top(values: list[int], least: int = 0, *, strict: bool = True) -> int | None:
    """A docstring is no fault."""
    for value in values:
        if value < 0 and not strict:
            raise ValueError(f"{value + 1} is too low")
        log(value)
    return max([least, *(round_up(v, 4) for v in values if v in (1, 2))])
'''

CHANGES = """\
top:constant#1: 0 -> 1
top:constant#2: True -> False
top:loop#1: for value in values: ... -> for value in (): ...
top:condition#1: if value < 0 and (not strict): ... -> if True: ...
top:condition#2: if value < 0 and (not strict): ... -> if False: ...
top:logic#1: value < 0 and (not strict) -> value < 0 or not strict
top:operand#1: value < 0 and (not strict) -> not strict
top:operand#2: value < 0 and (not strict) -> value < 0
top:comparison#1: value < 0 -> value <= 0
top:constant#3: 0 -> 1
top:sign#1: not strict -> strict
top:statement#1: raise ValueError(f'{value + 1} is too low') -> left out
top:statement#2: log(value) -> left out
top:return#1: return max([least, *(round_up(v, 4) for v in values if v in (1, 2))]) -> return None
top:name#1: max([least, *(round_up(v, 4) for v in values if v in (1, 2))]) -> min(...)
top:call#1: round_up(v, 4) -> v
top:constant#4: 4 -> 5
top:constant#5: 4 -> 3
top:filter#1:  for v in values if v in (1, 2) ->  for v in values
top:comparison#2: v in (1, 2) -> v not in (1, 2)
top:member#1: v in (1, 2) -> v in (2,)
top:member#2: v in (1, 2) -> v in (1,)
top:constant#6: 1 -> 2
top:constant#7: 1 -> 0
top:constant#8: 2 -> 3
top:constant#9: 2 -> 1
"""
LAST = "min([least, *(round_up(v, 4) for v in values if v in (1, 2))])"


def found() -> dict[str, Mutant]:
    return {mutant.name.removeprefix("a.py:"): mutant for mutant in mutants("a.py", TEXT)}


def test_every_small_fault_of_a_function_is_made_once() -> None:
    made = [f"{name}: {mutant.change}" for name, mutant in found().items() if name.startswith("top")]
    assert "\n".join(made).replace(f"-> {LAST}", "-> min(...)") + "\n" == CHANGES
    assert found()["Pool.full:comparison#1"].change == "self.used >= self.size -> self.used > self.size"


def test_faults_of_other_kinds() -> None:
    text = """
def same(parts, size):
    for part in parts:
        if (part.first, part.kind) == (size, 1) or part.start != size:
            return [each.offset for each in parts]
    return part.end == size
"""
    made = [f"{each.name}: {each.change}" for each in mutants("a.py", text, others=True)]
    assert made == [
        "a.py:same:first#1: for part in parts: ... -> for part in [*parts][:1]: ...",
        "a.py:same:element#1: (part.first, part.kind) == (size, 1) -> (part.kind,) == (1,)",
        "a.py:same:element#2: (part.first, part.kind) == (size, 1) -> (part.first,) == (size,)",
        "a.py:same:attribute#1: part.first -> part.last",
        "a.py:same:side#1: part.start != size -> part.start < size",
        "a.py:same:side#2: part.start != size -> part.start > size",
        "a.py:same:attribute#2: part.start -> part.end",
        "a.py:same:attribute#3: each.offset -> each.bytes",
        "a.py:same:first#2:  for each in parts ->  for each in [*parts][:1]",
        "a.py:same:side#3: part.end == size -> part.end <= size",
        "a.py:same:side#4: part.end == size -> part.end >= size",
        "a.py:same:attribute#4: part.end -> part.start",
    ]


def test_a_fault_is_in_the_function_that_everybody_knows_already() -> None:
    module = ModuleType("a")
    exec(compile(TEXT, "a.py", "exec"), module.__dict__)
    module.__dict__["log"] = id
    module.__dict__["round_up"] = lambda value, unit: -(-value // unit) * unit
    top, pool = module.top, module.Pool()
    pool.used = pool.size = 1
    assert (top([1, 3]), top([-1]), pool.full) == (4, 0, True)
    plant(module, found()["top:call#1"])
    plant(module, found()["Pool.full:comparison#1"])
    assert (top([1, 3]), pool.full) == (1, False)
    plant(module, found()["top:constant#1"])
    assert top([-1]) == 1
    plant(module, found()["top:constant#2"])
    with pytest.raises(ValueError, match="too low"):
        top([-1])
    with pytest.raises(LookupError):
        live(module, "Pool")


def test_a_survivor_is_explained_and_an_explanation_is_of_a_survivor() -> None:
    known = explanations('[[survivor]]\nmutant = "a"\nchange = "0 -> 1"\nreason = "no test can see it"\n')
    mutant = found()["top:constant#1"]

    def said(name: str, fate: Fate) -> list[str]:
        return list(faults_of({name: (mutant, fate)}, known))

    assert said("a", Fate.SURVIVED) == said("b", Fate.KILLED) == []
    assert said("b", Fate.SURVIVED) == ["survived: b (line 8): 0 -> 1"]
    assert said("a", Fate.KILLED) == ["explained, but killed: a: 0 -> 1"]
    other = found()["top:constant#4"]
    assert list(faults_of({"a": (other, Fate.UNREACHED)}, known)) == [
        "explained as `0 -> 1`, but it is `4 -> 5`: a"
    ]


def test_every_explanation_has_a_reason() -> None:
    assert all(each.reason for each in explanations(EXPLAINED.read_text()).values())


def test_every_explanation_is_of_a_mutant_that_exists() -> None:
    assert unknown(explanations(EXPLAINED.read_text())) == []
