"""CUDA is described, and says that it takes nothing."""

import pytest

from target_arch.backends.cuda import backend
from tests.backends.engines import bench, layer

MODEL = layer("dense", ((1, 4), (2, 4), (1, 2)), {"in_features": 4})
REASON = "the CUDA code generator is not part of this version"


def test_it_refuses_every_operator() -> None:
    question = bench("cuda", {"m": 64}).question(MODEL.operators[0], MODEL)
    assert backend.supports(question) == REASON
    assert backend.cost(question) == float("inf")


def test_it_is_never_asked_to_lower() -> None:
    with pytest.raises(NotImplementedError, match=REASON):
        backend.lower(bench("cuda", {"m": 64}).request(MODEL))
