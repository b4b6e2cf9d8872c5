"""Storages: which are equal, and that moving between them moves the right elements."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from target_arch.relax.operators.storage import Storage, nhwc, plain, transposition


@st.composite
def storages(draw: st.DrawFn) -> Storage:
    view = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    return Storage(view, tuple(draw(st.permutations(range(len(view))))))


def memory(storage: Storage) -> list[int]:
    return [int(index) for index in storage.author_index()]


@given(storages())
def test_essence_tells_whether_bytes_are_in_the_authors_order(storage: Storage) -> None:
    assert storage.is_plain == (memory(storage) == sorted(memory(storage)))


@given(storages(), st.data())
def test_equal_essence_is_equal_memory(storage: Storage, data: st.DataObject) -> None:
    other = Storage(storage.view, tuple(data.draw(st.permutations(range(len(storage.view))))))
    assert (storage.essence == other.essence) == (memory(storage) == memory(other))


@given(storages(), st.data())
def test_transposition_moves_memory(storage: Storage, data: st.DataObject) -> None:
    target = Storage(storage.view, tuple(data.draw(st.permutations(range(len(storage.view))))))
    held = storage.author_index().reshape(storage.shape)
    moved = held.transpose(transposition(storage, target))
    assert [int(index) for index in moved.ravel()] == memory(target)


@given(storages(), st.data())
def test_a_transposed_tensor_in_the_same_bytes(storage: Storage, data: st.DataObject) -> None:
    axes = tuple(data.draw(st.permutations(range(len(storage.view)))))
    author = np.arange(int(np.prod(storage.view))).reshape(storage.view)
    again = author.transpose(axes).ravel()[storage.permuted(axes).author_index()]
    assert [int(index) for index in again] == memory(storage)


def test_flattened_nhwc_is_not_plain_but_one_channel_is() -> None:
    assert not nhwc((1, 8, 4, 4), "NCHW").is_plain
    assert nhwc((1, 1, 4, 4), "NCHW").is_plain
    assert nhwc((1, 8, 1, 1), "NCHW").is_plain
    assert nhwc((1, 8, 4, 4), "NCHW").shape == (1, 4, 4, 8)
    assert nhwc((1, 4, 4, 8), "NHWC") == plain((1, 4, 4, 8))
