"""The skeleton is complete, and refuses everything."""

from target_arch.backends.null import backend
from tests.backends.engines import bench, layer

MODEL = layer("dense", ((1, 4), (2, 4), (1, 2)), {"in_features": 4})


def test_it_refuses_every_operator() -> None:
    question = bench("null", {"m": 64}).question(MODEL.operators[0], MODEL)
    assert backend.supports(question) == "the null backend computes nothing, this is dense"
    assert backend.cost(question) == float("inf")


def test_it_lowers_to_an_empty_kernel() -> None:
    kernel = backend.lower(bench("null", {"m": 64}).request(MODEL))
    assert (kernel.partition, kernel.instance, kernel.actions) == ("p0", "engine", ())
