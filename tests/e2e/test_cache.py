"""A bundle behind a cache that writes lines back when it likes: nothing is lost, and a loss would be seen.

`TA_HOST_CACHE` gives the host port such a cache in front of every memory with cache duties; DMA engines see
what is behind it.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, compile_model
from target_arch.plan.bundle import BundleFiles as Emitted
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from target_arch.soc import SoC, read_soc
from tests.e2e.conftest import DIGITS, EVICTIONS, behind_a_cache
from tests.step_deletion import unsealed

STEPS, SOC, CONSTANTS = "src/digits_int8_steps.c", "src/zynq_edge_soc.c", "src/digits_int8_constants.c"
VALIDATE = "runtime/core/validate.c"
FRAMES = 40


def emitted() -> Emitted:
    """The example model on a chip whose host has all tensors in a cached memory."""
    soc = read_soc("zynq_edge")
    return compile_model(CompileRequest(model_path=DIGITS, soc=soc, mode="ddr_only")).bundle


class Bundle:
    """The example model in a cached memory, built with a cache."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "bundle"
        reference = reference_for(DIGITS)
        self._frames = tuple(
            b"".join(part.tobytes() for part in frame) for frame in reference.frames(FRAMES, seed=5)
        )
        write_bundle(emitted(), self._folder)
        self.texts = {path: (self._folder / path).read_text() for path in (STEPS, SOC, CONSTANTS, VALIDATE)}

    def answers(
        self, changed: Mapping[str, str] = MappingProxyType({}), evictions: int = EVICTIONS
    ) -> tuple[bytes, ...]:
        """What the bundle answers, with other texts of some files."""
        for path, text in {**self.texts, **changed}.items():
            (self._folder / path).write_text(text)
        made = build(self._folder, compiler=behind_a_cache(evictions), optimize="-O0")
        return run_frames(made, self._frames)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return Bundle(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def right(bundle: Bundle) -> tuple[bytes, ...]:
    """The answers where all memories are coherent."""
    return bundle.answers({SOC: _with_lines(bundle, 0)})


def _with_lines(bundle: Bundle, line: int) -> str:
    text, count = re.subn(r'(\{"ddr", .*, )64\}', rf"\g<1>{line}}}", bundle.texts[SOC])
    assert count == 1
    return text


@pytest.mark.slow
def test_nothing_is_lost_behind_a_cache(bundle: Bundle, right: tuple[bytes, ...]) -> None:
    assert bundle.answers() == right
    assert bundle.answers(evictions=0) == right


@pytest.mark.parametrize("duty", ["CLEAN_SOURCE", "INVALIDATE_TARGET"])
def test_a_forgotten_duty_shows(bundle: Bundle, right: tuple[bytes, ...], duty: str) -> None:
    text = bundle.texts[STEPS].replace(f"TA_CACHE_{duty}", "TA_CACHE_NONE")
    assert text != bundle.texts[STEPS]
    text = unsealed(text)
    assert bundle.answers({STEPS: text}, evictions=0) != right


def _arena_bytes(text: str) -> int:
    (size,) = re.findall(r"arena_ddr\[(\d+)\]", text)
    return int(size)


def test_a_plan_without_lines_loses_bytes(bundle: Bundle, right: tuple[bytes, ...]) -> None:
    """The plan of a compiler that knows nothing of lines, on a chip that does not look at its tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SoC, "own_line", lambda soc, memory: 1)
        files = emitted().files
    changed = {path: files[path].decode() for path in (STEPS, CONSTANTS)}
    assert changed[STEPS] != bundle.texts[STEPS]
    with pytest.raises(DiagnosticError, match="init failed with TA_ERROR_ARGUMENT"):
        bundle.answers(changed)
    trusting = f"#define TA_TRUST_TABLES\n{bundle.texts[VALIDATE]}"
    assert bundle.answers({**changed, VALIDATE: trusting}, evictions=0) != right


def _misplaced(bundle: Bundle) -> Iterator[str]:
    text, size = bundle.texts[STEPS], _arena_bytes(bundle.texts[STEPS])
    assert size % 64 == 0
    yield text.replace(f"{size}, arena_ddr", f"{size - 4}, arena_ddr")
    yield text.replace(f"{size}, arena_ddr", f"{size - 64}, arena_ddr + 4")


def test_an_arena_that_shares_a_line_is_refused(bundle: Bundle) -> None:
    for text in _misplaced(bundle):
        with pytest.raises(DiagnosticError, match="init failed with TA_ERROR_ARGUMENT"):
            bundle.answers({STEPS: text})
