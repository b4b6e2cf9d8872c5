"""The benchmark of scale measures in processes of their own and gives up what takes too long."""

import pytest

from conformance import graphs, scale


def test_a_measurement_has_all_its_parts() -> None:
    found = scale._apart("dense", 60, None, 60)
    assert found is not None
    assert (found["edges"], found["partitions"] > 1, found["steps"] > 60) == (1771, True, True)
    assert found[scale._TOTAL] == pytest.approx(found["place"] + found["order"] + found["plan"])
    assert 0 < found["start"] <= found["place MiB"] <= found["order MiB"] <= found["plan MiB"]
    row = scale._row("dense", 60, found, None, 60)
    assert len(row) == len(scale._HEADER)


def test_growth_is_told_beside_the_seconds() -> None:
    found = dict.fromkeys(scale._HEADER[2:], 4.0)
    before = dict.fromkeys(scale._HEADER[2:], 2.0)
    assert "4.00 s ^0.50" in scale._row("layered", 400, found, (100, before), 60)


def test_what_takes_too_long_is_given_up() -> None:
    assert scale._apart("random", 100_000, None, 1) is None
    assert "given up after 1 s" in scale._row("random", 100_000, None, None, 1)


def test_dense_graphs_have_a_million_edges_at_most() -> None:
    edges = [sum(len(op.inputs) for op in graphs.dense(count).operators) for count in (100, 2_000)]
    assert edges == [4_951, 194_951]
