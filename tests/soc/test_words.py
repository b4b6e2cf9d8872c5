"""The words of a SoC description: their text, and the ends that a cache duty is about."""

import pytest

from target_arch.soc.model import CopyPath, DLDevice
from target_arch.soc.words import CacheDuty, DLDeviceType, by_ends


def test_a_member_is_its_text() -> None:
    assert f"{CacheDuty.CLEAN_SOURCE}" == "clean source"
    assert CopyPath(source="a", target="b", cache="clean source").cache is CacheDuty.CLEAN_SOURCE
    assert DLDevice(type="kDLExtDev", id=1) == DLDevice(type=DLDeviceType.EXT_DEV, id=1)
    assert DLDevice(type="kDLExtDev", id=1).code == 12


@pytest.mark.parametrize("duty", CacheDuty)
def test_a_duty_keeps_its_word_where_both_ends_are_cached(duty: CacheDuty) -> None:
    assert duty.at(source=True, target=True) is duty
    assert duty.at(source=False, target=False) is CacheDuty.NONE
    assert not duty.at(source=False, target=True).cleans
    assert not duty.at(source=True, target=False).invalidates


def test_two_duties_of_the_same_ends_are_refused() -> None:
    flush = str.__new__(CacheDuty, "flush source")
    flush._name_, flush._value_, flush.cleans, flush.invalidates = "FLUSH", "flush source", True, False
    with pytest.raises(ValueError, match="`clean source` and `flush source` are about the same ends"):
        by_ends((*CacheDuty, flush))
