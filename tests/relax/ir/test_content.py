"""The digest of a constant's elements."""

import numpy as np

from target_arch.relax.ir.content import content_of


def test_contents_are_equal_where_elements_are() -> None:
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert content_of(values) == content_of(values.reshape(3, 2)) == content_of(values.copy())
    assert content_of(values.T) == content_of(np.ascontiguousarray(values.T)) != content_of(values)


def test_arrays_of_no_and_of_one_element() -> None:
    assert content_of(np.zeros((0, 2), np.float32)) == content_of(np.zeros(0, bool))
    assert content_of(np.asarray(True)) == content_of(np.ones(1, np.uint8))
