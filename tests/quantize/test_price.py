"""Prices are those of the bundles that are compiled."""

from pathlib import Path

import onnx
import pytest

from target_arch.api.compilation import compile
from target_arch.explore.bases import base_chip
from target_arch.explore.choose import chip_of
from target_arch.quantize.budget import budget
from target_arch.quantize.price import PriceList
from target_arch.registry.plug_ins import PlugIns
from tests.quantize.tiny import SOC, net


@pytest.fixture
def prices() -> PriceList:
    return PriceList(chip=chip_of(base_chip(SOC)), plug_ins=PlugIns.discover(()))


def test_bytes_and_time_of_the_bundle(prices: PriceList, tmp_path: Path) -> None:
    content = net().SerializeToString()
    price = prices.of(content, ".onnx")
    made = compile(content, SOC)
    pools = made.pools.value.pools
    assert price.fits
    for memory, size in price.outcome.bytes.items():
        assert size == sum(pool.bytes for pool in pools if pool.memory == memory)
    assert sum(price.constants.values()) == made.pools.value.constant_bytes
    assert price.of("latency") == made.timeline.value.makespan
    onnx.save(net(), tmp_path / "tiny.onnx")
    assert prices.of((tmp_path / "tiny.onnx").read_bytes(), ".onnx") is price
    assert prices.count == 1


def test_limits_to_the_byte(prices: PriceList) -> None:
    price = prices.of(net().SerializeToString(), ".onnx")
    size = price.outcome.bytes["flash"]
    memories = ["flash"]
    assert price.keeps(budget([f"flash={size}B"], memories))
    assert not price.keeps(budget([f"flash={size - 1}B"], memories))
    assert price.excess(budget([f"flash={size}B"], memories)) == 1.0


def test_a_model_that_is_refused(prices: PriceList) -> None:
    price = prices.of(b"no model", ".onnx")
    assert not price.fits
    assert price.of("latency") == float("inf")
    assert not price.keeps(())
