"""Channels that no result depends on are planted in random networks, and every one goes."""

from attrs import evolve

from conformance import planted_channels
from conformance.planted_channels import outcome, planted

SEEDS = range(30)


def test_everything_planted_goes_and_no_bit_changes() -> None:
    found = [outcome(planted(seed), seed) for seed in SEEDS]
    assert [seed for seed, each in zip(SEEDS, found, strict=True) if not each.right] == []
    assert sum(each.planted for each in found) > 400


def test_every_way_of_planting_is_there() -> None:
    assert {way for seed in SEEDS for way in planted(seed).ways} == {
        "no weights",
        "saturated",
        "unread",
        "equal",
    }


def test_what_is_left_is_named() -> None:
    net = planted(1)
    name, count = next((name, count) for name, count in net.dead.items() if count)
    more = evolve(net, dead={name: count + 1})
    there = net.model.tensors[name].shape[-1]
    assert outcome(more, 1).left == (
        f"{name}: {there - count} of {there} channels, {count + 1} were planted",
    )


def test_the_command() -> None:
    assert planted_channels.main(["--nets", "2", "--seed", "7"]) == 0
