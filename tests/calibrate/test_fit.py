"""Fits: planted rates come back, models are left out whole, and errors are stated as they are."""

from collections.abc import Iterator, Mapping
from random import Random

import pytest
from attrs import evolve

from target_arch.calibrate.fit import expected, fitted, left_out, path_costs, stated
from target_arch.calibrate.observations import CopyObservation, Observation, Work

RATES = {"product": 0.8, "output": 12.0, "call": 200.0}
MODELS = ("one", "two", "three")


def work(model: str, units: Mapping[str, float], estimate: float) -> Work:
    """A call whose backend expects `estimate` of its first unit alone."""
    first = next(iter(units))
    return Work(
        model=model,
        target_arch="host_cpu",
        operator=f"conv2d_{len(units)}",
        units=units,
        priced={first: estimate},
        estimate=estimate,
        shares=(("conv2d-0", 1.0),),
        kernel="code",
    )


def planted(seed: int, calls: int = 8) -> Iterator[Observation]:
    """Calls that take exactly RATES."""
    dice = Random(seed)
    for model in MODELS:
        for _ in range(calls):
            units = {"product": dice.uniform(1e3, 1e6), "output": dice.uniform(10, 1e4), "call": 1.0}
            amount = sum(RATES[unit] * count for unit, count in units.items())
            yield Observation(work=work(model, units, units["product"]), amount=amount)


@pytest.mark.parametrize("seed", range(4))
def test_planted_rates_come_back(seed: int) -> None:
    calls = list(planted(seed))
    costs = fitted(calls, cycles=True)
    off = [abs(expected(call.work, costs) / call.amount - 1) for call in calls]
    assert max(off) < 0.05
    assert costs.rates["product"].amount == pytest.approx(RATES["product"], rel=0.05)


def test_a_model_is_left_out_whole() -> None:
    """A model that is ten times as slow as the others is expected as fast as they are."""
    calls = [
        Observation(work=call.work, amount=call.amount * (10 if call.work.model == "two" else 1))
        for call in planted(1)
    ]
    slow = [one for one in left_out(calls, cycles=True) if one.work.model == "two"]
    assert len(slow) == 8
    assert all(one.error == pytest.approx(-0.9, abs=0.02) for one in slow)


def test_one_model_leaves_nothing_to_compare_with() -> None:
    calls = [call for call in planted(0) if call.work.model == "one"]
    assert left_out(calls, cycles=True) == ()
    assert stated(()) is None


def test_units_that_always_come_together_keep_the_backends_proportion() -> None:
    """They cannot be told apart, and the price stays with the one that the backend prices."""
    units = {"product": 100.0, "output": 10.0}
    calls = [Observation(work=work("one", units, 100.0), amount=200.0) for _ in range(4)]
    costs = fitted(calls, cycles=True)
    assert costs.rates["product"].amount == pytest.approx(2.0, rel=0.05)
    assert costs.rates["output"].amount == pytest.approx(0.0, abs=0.5)


def test_an_operator_with_an_unknown_unit_takes_a_share_of_its_estimate() -> None:
    costs = fitted(list(planted(0)), cycles=True)
    assert expected(work("new", {"tap": 5.0}, 1000.0), costs) == pytest.approx(1000.0 * costs.share)


def test_a_kind_that_was_never_measured_takes_what_any_kind_does() -> None:
    """Calls with units of a backend's own say nothing about it."""
    some = [
        Observation(
            work=work("one", {f"{kind}: byte": count, f"{kind}: call": 1.0}, count), amount=20.0 + 0.5 * count
        )
        for kind in ("concat of int8", "tile of float32")
        for count in (10.0, 300.0, 5000.0)
    ]
    costs = fitted([*some, *planted(0)], cycles=True)
    slices = work("new", {"slice of int16: byte": 800.0, "slice of int16: call": 1.0}, 1.0)
    assert expected(slices, costs) == pytest.approx(420.0, rel=0.05)
    assert not costs.rates.keys() >= slices.units.keys()


def test_a_kind_of_another_type_is_nearer_than_any_kind() -> None:
    some = [
        Observation(
            work=work("one", {f"{kind}: byte": count, f"{kind}: call": 1.0}, count),
            amount=20.0 + rate * count,
        )
        for kind, rate in (("slice of int8", 3.0), ("tile of int16", 0.5))
        for count in (10.0, 300.0, 5000.0)
    ]
    costs = fitted(some, cycles=True)
    slices = work("new", {"slice of int16: byte": 800.0, "slice of int16: call": 1.0}, 1.0)
    assert expected(slices, costs) == pytest.approx(2420.0, rel=0.05)


def test_the_stated_error_is_that_of_all_calls() -> None:
    calls = list(planted(2))
    off = [
        Observation(work=call.work, amount=call.amount * (1.5 if number == 3 else 1))
        for number, call in enumerate(calls)
    ]
    error = stated(left_out(off, cycles=True))
    assert error is not None
    assert (error.steps, error.low <= 1 <= error.high) == (24, True)
    assert error.worst == pytest.approx(1 / 3, abs=0.1)
    assert error.median < 0.06


def test_copies_have_set_up_and_bandwidth() -> None:
    copies = [
        CopyObservation(
            model="one", source="ddr", target="sram", engine="cpu", bytes=size, amount=200 + size / 4
        )
        for size in (64, 512, 4096)
    ]
    (path,) = path_costs(copies, {"cpu": 1e-8})
    assert (path.sources, path.targets, path.engine) == (("ddr",), ("sram",), "cpu")
    assert path.setup == pytest.approx(200e-8)
    assert path.bandwidth == pytest.approx(4e8)


def test_units_of_other_calls_do_not_change_rates() -> None:
    """Units that no call has beside those of another set are fitted for themselves."""
    conv = list(planted(3))
    pools = [
        Observation(work=work(model, {"pool": count, "pool call": 1.0}, count), amount=5 * count + 1000)
        for model in MODELS
        for count in (10.0, 300.0, 9000.0)
    ]
    alone, both = fitted(conv, cycles=True), fitted([*conv, *pools], cycles=True)
    assert {unit: both.rates[unit] for unit in alone.rates} == alone.rates
    assert fitted(pools, cycles=True).rates["pool"] == both.rates["pool"]


def test_probes_are_known_to_every_fit() -> None:
    """One model whose calls do not tell its units apart is expected well where probes do."""
    probes = [evolve(call, work=evolve(call.work, model="probe")) for call in planted(5)]
    units = {"product": 1e5, "output": 10.0, "call": 1.0}
    amount = sum(RATES[unit] * count for unit, count in units.items())
    one = Observation(work=work("one", units, 1e5), amount=amount)
    assert left_out([one], cycles=True) == ()
    (expected_,) = left_out([one], probes, cycles=True)
    assert expected_.error == pytest.approx(0, abs=0.05)
