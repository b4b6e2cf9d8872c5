"""How often Python's collector looks while stages run, and that it is as it was afterwards."""

import gc

import pytest

from target_arch.stages.garbage_collector import gc_paused, gc_seldom


@gc_seldom()
@gc_paused()
def _raise(usual: int) -> None:
    assert gc.get_threshold()[0] > usual
    assert not gc.isenabled()
    raise KeyError


def test_it_is_as_it_was_after_an_error() -> None:
    usual = gc.get_threshold()
    with pytest.raises(KeyError):
        _raise(usual[0])
    assert gc.get_threshold() == usual
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    usual = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with gc_seldom():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*usual)
