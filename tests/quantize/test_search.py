"""From a float model to one that fits: limits held, nothing better missed, the same bytes again."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

from target_arch.api.compilation import compile
from target_arch.diagnostics import DiagnosticError
from target_arch.quantize import search
from target_arch.quantize.precision import Precision
from target_arch.quantize.result import QuantizedToFit
from target_arch.quantize.search import quantize_to_fit
from target_arch.resources import examples
from tests.quantize.tiny import SOC, request, written

pytest.importorskip("ortools", reason="needs OR-tools: pip install 'target-arch[quantize]'")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: pip install 'target-arch[quantize]'")

CHOICES = (Precision.FLOAT, Precision.INT8, Precision.INT8_TENSOR, Precision.INT4)


@pytest.mark.slow
def test_without_limits_no_more_than_the_library_s_own(tmp_path: Path) -> None:
    said: list[str] = []
    result = quantize_to_fit(request(tmp_path, said=said.append))
    own = [row for row in result.rows if row.name.startswith("onnxruntime")]
    assert [row.name for row in own] == [
        f"onnxruntime, {name}" for name in ("min and max", "percentile", "entropy")
    ]
    assert result.chosen.keeps
    assert result.chosen.score.distance <= min(row.score.distance for row in own)
    assert result.chosen.price.of("latency") <= own[0].price.of("latency")
    for memory, size in result.chosen.price.outcome.bytes.items():
        assert size <= own[0].price.outcome.bytes[memory]
    assert said[0] == "calibrating with 24 frames"
    assert said[-1] == "layer 3 of 3: dense"
    assert result.combinations == 64


@pytest.mark.long
def test_a_budget_between_int8_and_float_is_held_to_the_byte(tmp_path: Path) -> None:
    base = quantize_to_fit(request(tmp_path))
    sizes = [row.price.outcome.bytes["flash"] for row in base.rows]
    limit = (sizes[0] + sizes[1]) // 2
    result = quantize_to_fit(request(tmp_path, f"flash={limit}B"))
    assert result.chosen.price.outcome.bytes["flash"] <= limit
    assert result.chosen.score.distance < base.chosen.score.distance
    pools = compile(result.content, SOC).pools.value.pools
    assert sum(pool.bytes for pool in pools if pool.memory == "flash") <= limit
    exactly = result.chosen.price.outcome.bytes["flash"]
    assert (
        quantize_to_fit(request(tmp_path, f"flash={exactly}B")).chosen.price.outcome.bytes["flash"] <= exactly
    )


@pytest.mark.long
def test_nothing_that_holds_is_much_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 64 combinations, each compiled and judged."""
    own, least = search._Search.result, list[float]()

    def and_all_others(self: search._Search) -> QuantizedToFit:
        result = own(self)
        every = [self._candidate(one, self.setting) for one in itertools.product(CHOICES, repeat=3)]
        good = [each.content for each in every if each.price.keeps(result.limits)]
        least.append(min(self._score(content).distance for content in good))
        return result

    monkeypatch.setattr(search._Search, "result", and_all_others)
    result = quantize_to_fit(request(tmp_path, "flash=2600B"))
    assert result.chosen.score.distance <= least[0] * 1.001


@pytest.mark.slow
def test_a_large_budget_leaves_it_float(tmp_path: Path) -> None:
    result = quantize_to_fit(request(tmp_path, "flash=1MiB"))
    assert [each.precision for each in result.layers] == [Precision.FLOAT] * 3
    assert result.chosen.score.distance < 1e-6


@pytest.mark.long
def test_a_budget_below_everything_names_the_nearest_that_holds(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        quantize_to_fit(request(tmp_path, "flash=500B,latency=1s"))
    first, hint = str(caught.value).split("\n")
    assert first == (
        f"{tmp_path}/tiny.onnx: error: no choice of precisions keeps `flash=500B` and `latency=1s`: all 64 "
        "combinations were compiled [no-precision-fits]"
    )
    assert hint.startswith("hint: the nearest that holds: `flash=")
    budget = hint.partition(": ")[2].partition(": ")[2].replace("`", "").replace(" and ", ",")
    assert quantize_to_fit(request(tmp_path, budget)).chosen.keeps


def test_of_many_combinations_the_nearest_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "EVERY", 4)
    monkeypatch.setattr(search, "ROUNDS", 3)
    with pytest.raises(DiagnosticError) as caught:
        quantize_to_fit(request(tmp_path, "flash=500B"))
    said = "4 of 64 combinations were compiled, what was predicted of `flash` was "
    assert f"no choice of precisions keeps `flash=500B`: {said}" in str(caught.value)


@pytest.mark.long
def test_less_than_int8_with_one_scale_for_a_layer(tmp_path: Path) -> None:
    held_out = np.load(examples() / "digits" / "heldout.npz")
    images = (held_out["images"][:60].reshape(-1, 1, 1, 8, 8) / 16).astype(np.float32)
    asked = evolve(
        request(tmp_path, "flash=13000B"),
        model=examples() / "digits" / "digits_float.onnx",
        data=written(tmp_path, image=images, labels=held_out["labels"][:60]),
    )
    result = quantize_to_fit(asked)
    int8 = [row for row in result.rows if row.name.startswith("onnxruntime")]
    assert [row.keeps for row in int8] == [False] * 3
    assert result.chosen.price.outcome.bytes["flash"] <= 13000 < int8[0].price.outcome.bytes["flash"]
    assert Precision.INT8_TENSOR in {each.precision for each in result.layers}


@pytest.mark.slow
def test_a_budget_that_int8_does_not_meet_has_weights_of_4_bits(tmp_path: Path) -> None:
    base = quantize_to_fit(request(tmp_path))
    least = min(row.price.outcome.bytes["flash"] for row in base.rows)
    result = quantize_to_fit(request(tmp_path, f"flash={least - 200}B"))
    assert not any(row.keeps for row in result.rows[:-1])
    assert [each.precision for each in result.layers].count(Precision.INT4) >= 1
    made = compile(result.content, SOC)
    pools = made.pools.value.pools
    assert sum(pool.bytes for pool in pools if pool.memory == "flash") <= least - 200
    (verified,) = made.write(tmp_path / "bundle").verify(result.content, count=5).values()
    assert verified.passed


@pytest.mark.slow
def test_a_chip_with_room_for_weights_of_4_bits_alone(tmp_path: Path) -> None:
    asked = request(tmp_path)
    small = evolve(asked.chip, text=asked.chip.text.replace('size = "2 MiB"', 'size = "1280 B"'))
    result = quantize_to_fit(evolve(asked, chip=small))
    assert [row.price.fits for row in result.rows] == [False] * 4 + [True]
    assert result.layers[1].precision is Precision.INT4


def test_a_chip_without_room_for_int8(tmp_path: Path) -> None:
    asked = request(tmp_path)
    small = evolve(asked.chip, text=asked.chip.text.replace('size = "2 MiB"', 'size = "512 B"'))
    with pytest.raises(DiagnosticError) as caught:
        quantize_to_fit(evolve(asked, chip=small))
    assert str(caught.value).startswith(f"{tmp_path}/tiny.onnx: error: in int8 it is refused: ")
    assert str(caught.value).endswith("[no-precision-fits]")


@pytest.mark.slow
def test_the_same_data_gives_the_same_bytes(tmp_path: Path) -> None:
    first = quantize_to_fit(request(tmp_path, "flash=2600B"))
    second = quantize_to_fit(request(tmp_path, "flash=2600B"))
    assert first.content == second.content
    assert first.to_json() == second.to_json()
    assert str(first) == str(second)


@pytest.mark.slow
def test_what_the_library_makes_of_the_whole_model_is_a_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any choice by layer, weights of 4 bits in all of them meet what int8 does not."""
    monkeypatch.setattr(search._Search, "_keeping", lambda *_: [])
    int8 = quantize_to_fit(request(tmp_path)).rows[1].price.outcome.bytes["flash"]
    result = quantize_to_fit(request(tmp_path, f"flash={int8 - 1}B"))
    assert result.chosen.keeps
    assert len({each.precision for each in result.layers}) == 1
