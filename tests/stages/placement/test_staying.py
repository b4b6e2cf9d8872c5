"""Placements that count on constants which stay on an instance from run to run."""

from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.placement.aims import PlacementTrial
from target_arch.stages.placement.place import place
from target_arch.stages.placement.staying import room_for_constants
from tests.stages import chips


def placed(*staying: tuple[str, str]) -> PartitionGraph:
    trial = PlacementTrial(staying=frozenset(staying))
    return place(chips.RESIDUAL, chips.setting(chips.EDGE), chips.BACKENDS, trial=trial)


def copies(graph: PartitionGraph, operator: str, instance: str) -> list[str]:
    """The copies that an operator needs on an instance."""
    (found,) = (each for each in graph.choice(operator).candidates if each.instance == instance)
    assert found.cost is not None
    return [part.what for part in found.cost.parts]


def test_no_copy_of_constants_counts_where_they_stay() -> None:
    before, after = placed(), placed(("a", "conv"), ("c", "host"))
    assert "copy of constants" in copies(before, "a", "conv")
    assert "copy of constants" not in copies(after, "a", "conv")
    assert copies(after, "b", "conv") == copies(before, "b", "conv")


def test_the_search_model_counts_without_them() -> None:
    before, after = placed(), placed(("a", "conv"), ("b", "conv"), ("c", "conv"))
    assert before.facts is not None
    assert after.facts is not None
    assert after.facts.search_makespan < before.facts.search_makespan
    assert after.facts.search_bound <= after.facts.search_makespan


def test_instances_have_room_for_the_first_constants() -> None:
    model, soc = chips.RESIDUAL, chips.EDGE
    found = room_for_constants(model, soc)
    assert all(name != soc.host.name for _, name in found)
    for instance in soc.instances:
        kept = [operator for operator, name in found if name == instance.name]
        sizes = (model.tensors[name].bytes for id in kept for name in model.operator(id).constants)
        assert sum(sizes) <= max((soc.memory(name).size for name in instance.memory), default=0)
