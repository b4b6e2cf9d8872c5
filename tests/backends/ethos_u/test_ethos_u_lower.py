"""Chains through Vela: the arena that is promised, what is refused, and what comes back."""

from pathlib import Path

import pytest
from attrs import evolve

from target_arch.backend.contract import DoesNotFit, NotInstalled
from target_arch.backends.ethos_u import backend, vela
from target_arch.backends.ethos_u.config import config_text, unit_of
from target_arch.backends.ethos_u.lower import ALIGNMENT
from target_arch.cli.main import main
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.kernels import Call, Kernel
from target_arch.soc import read_soc
from tests.backends.ethos_u.chains import chip, question, request, residual

KIB = 1024
CONFIG = """\
[System_Config.soc]
core_clock=500000000.0
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1
Sram_burst_length=32
Sram_read_latency=32
Sram_write_latency=32
Sram_max_reads=8
Sram_max_writes=8
OffChipFlash_clock_scale=0.125
OffChipFlash_burst_length=128
OffChipFlash_read_latency=64
OffChipFlash_write_latency=0
OffChipFlash_max_reads=2
OffChipFlash_max_writes=0
[Memory_Mode.plan]
const_mem_area=Axi1
arena_mem_area=Axi0
cache_mem_area=Axi0
arena_cache_size=4096
"""

needs_vela = pytest.mark.skipif(not vela.installed(), reason='needs Vela: pip install "target-arch[ethos-u]"')


def call_of(kernel: Kernel) -> Call:
    (call,) = kernel.actions
    assert isinstance(call, Call)
    return call


def test_the_configuration_is_the_soc_file_s_and_has_the_promised_arena() -> None:
    soc = chip()
    assert config_text(unit_of(soc, soc.instance("npu"), backend), 4096) == CONFIG


def test_bursts_are_those_of_the_soc_file() -> None:
    soc = read_soc("ra8p1")
    text = config_text(unit_of(soc, soc.instance("npu"), backend), 4096)
    assert "Sram_burst_length=128\nSram_read_latency=8\nSram_write_latency=8\n" in text
    assert "OffChipFlash_burst_length=128\nOffChipFlash_read_latency=8\n" in text


def test_everything_in_one_memory_uses_one_port() -> None:
    soc = chip(constants="sram")
    text = config_text(unit_of(soc, soc.instance("npu"), backend), 4096)
    assert "axi1" not in text
    assert "const_mem_area=Axi0" in text


@needs_vela
def test_a_chain_becomes_one_command_over_its_border() -> None:
    kernel = backend.lower(request(residual(), "abcpd", 64 * KIB))
    call = call_of(kernel)
    assert [(each.of, each.access) for each in call.operands] == [
        ("a.commands", "r"),
        ("a.weights", "r"),
        ("scratch", "w"),
        ("x", "r"),
        ("d.y", "w"),
    ]
    assert call.words[0] == kernel.constants[0].bytes
    assert call.words[1:3] == (3, 3), "the stream and region 0 on the second port, all else on the first"
    assert call.words[3] == 0x1807, "128 multiply-accumulates, 24 KiB inside"
    assert kernel.buffers[0].bytes <= 64 * KIB


@needs_vela
def test_vela_gets_the_promise_as_its_arena_and_cascades_in_less() -> None:
    wide = backend.lower(request(residual(), "cp", 64 * KIB)).buffers[0].bytes
    tight = backend.lower(request(residual(), "cp", wide - 1)).buffers[0].bytes
    assert tight < wide


@needs_vela
def test_less_than_vela_can_do_with_is_refused_although_vela_says_nothing() -> None:
    with pytest.raises(DoesNotFit) as refused:
        backend.lower(request(residual(), "abcpd", 512))
    least = refused.value.needed
    assert str(refused.value) == f"a needs {least:,} B of `sram`, 512 B are available"
    assert backend.lower(request(residual(), "abcpd", least)).buffers[0].bytes == least


@needs_vela
def test_several_tensors_at_the_border_have_a_base_address_each() -> None:
    model = evolve(residual(), outputs=("d.y", "b.y"))
    kernel = backend.lower(request(model, "bc", 64 * KIB))
    names = [each.of for each in call_of(kernel).operands[3:]]
    assert names == ["a.y", "b.y", "c.y"]
    kernel = backend.lower(request(model, "c", 64 * KIB))
    assert [each.of for each in call_of(kernel).operands[3:]] == ["a.y", "b.y", "c.y"]
    assert kernel.buffers[0].bytes == ALIGNMENT, "an addition needs no scratch"


@needs_vela
@pytest.mark.parametrize("accelerator", ["ethos-u55-32", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512"])
def test_other_units(accelerator: str) -> None:
    kernel = backend.lower(request(residual(), "abcpd", 64 * KIB, chip(accelerator=accelerator)))
    macs = int(accelerator.rsplit("-", 1)[1])
    assert 1 << (call_of(kernel).words[3] & 0xF) == macs


@needs_vela
def test_the_same_chain_is_the_same_kernel() -> None:
    one, other = (backend.lower(request(residual(), "abc", 32 * KIB)) for _ in range(2))
    assert one == other


@needs_vela
def test_the_note_says_what_vela_took() -> None:
    kernel = backend.lower(request(residual(), "d", 32 * KIB))
    note = kernel.notes[0]
    assert note.startswith("Vela, for speed: arena "), note
    assert note.endswith(" of them computing)"), note


def test_a_chain_with_too_many_tensors_at_its_border_is_not_joined() -> None:
    model = residual()
    many = evolve(model, outputs=tuple(operator.output for operator in model.operators))
    asked = tuple(question(many, name) for name in "abcpd")
    assert backend.joins is not None
    assert backend.joins(asked[:3]) is None
    assert backend.joins(asked) == (
        "6 tensors cross the border of the chain, the unit has base addresses for 5"
    )


def test_limits_of_the_unit() -> None:
    model = residual()
    assert all(backend.supports(question(model, operator.id)) is None for operator in model.operators)
    conv = evolve(
        model.operators[0],
        attributes={**model.operators[0].attributes, "strides": (4, 4), "padding": (0, 0, 0, 0)},
    )
    wide = evolve(model, operators=(conv, *model.operators[1:]))
    assert backend.supports(question(wide, "a")) == "strides of (4, 4), the unit takes up to 3"


def test_memory_that_the_host_caches_cannot_be_shared() -> None:
    soc = chip()
    cached = tuple(evolve(m, cached=True) if m.name == "sram" else m for m in soc.memories)
    asked = question(residual(), "a", evolve(soc, memories=cached))
    assert backend.supports(asked) == (
        "`sram` is cached by the host and shared with the unit; nothing cleans the cache"
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"accelerator": "ethos-u55-12"},
            "target_arch npu: error: option `accelerator` is `ethos-u55-12`, which the backend `ethos_u` does"
            " not know [bad-option]\nhint: did you mean `ethos-u55-128`?",
        ),
        (
            {"constants": "dtcm"},
            "target_arch npu: error: option `constants` is `dtcm`, which the backend `ethos_u` does not know "
            "[bad-option]\nhint: it sees: `flash`, `sram`",
        ),
    ],
)
def test_options_that_name_nothing(options: dict[str, str], text: str) -> None:
    with pytest.raises(DiagnosticError) as refused:
        backend.supports(question(residual(), "a", chip(**options)))
    assert str(refused.value) == text


MISSING = """\
partition p0 on npu: error: the backend `ethos_u` compiles with Vela, which is not installed [not-installed]
hint: pip install "target-arch[ethos-u]", or leave the target_arch out with `targets`"""


def test_without_vela_there_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vela, "installed", lambda: False)
    with pytest.raises(NotInstalled) as refused:
        backend.lower(request(residual(), "a", 32 * KIB))
    assert str(refused.value) == MISSING


def test_without_vela_a_compilation_ends_with_3_and_check_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from target_arch.backends.ethos_u.graph import graph_of
    from target_arch.backends.ethos_u.tflite_file import tflite_bytes

    monkeypatch.setattr(vela, "installed", lambda: False)
    path = tmp_path / "residual.tflite"
    path.write_bytes(tflite_bytes(graph_of(residual().operators, residual())))
    assert main(["compile", str(path), "--soc", "corstone_u55", "-o", str(tmp_path / "out")]) == 3
    assert 'pip install "target-arch[ethos-u]"' in capsys.readouterr().err
    assert main(["check", "corstone_u55"]) == 0
    assert main(["partition", str(path), "--soc", "corstone_u55"]) == 0


@needs_vela
def test_a_failure_of_vela_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("target_arch.backends.ethos_u.lower.tflite_bytes", lambda _: b"no model at all")
    with pytest.raises(DiagnosticError) as refused:
        backend.lower(request(residual(), "a", 32 * KIB))
    (diagnostic,) = refused.value.diagnostics
    assert (diagnostic.place, diagnostic.rule) == ("partition p0 on npu", "vela-failed")
    assert diagnostic.message.startswith("Vela: ")


@needs_vela
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda made: {"scratch": made.scratch - 16}, "it touches {0:,} B of region 1, which has {1:,} B"),
        (lambda made: {"stream": made.stream[:-4]}, "it does not end with the command STOP"),
    ],
)
def test_a_stream_that_leaves_its_regions_is_refused(
    monkeypatch: pytest.MonkeyPatch, change: object, why: str
) -> None:
    took: list[int] = []

    def compile_file(*arguments: object) -> vela.Compiled:
        made = vela.compile_file(*arguments)  # type: ignore[arg-type]
        took.append(made.scratch)
        return evolve(made, **change(made))  # type: ignore[operator]

    monkeypatch.setattr("target_arch.backends.ethos_u.lower.compile_file", compile_file)
    with pytest.raises(DiagnosticError) as refused:
        backend.lower(request(residual(), "abcpd", 64 * KIB))
    expected = why.format(took[0], took[0] - 16)
    assert str(refused.value) == (
        f"partition p0 on npu: error: the command stream that Vela made is refused: {expected} [bad-stream]"
    )


def test_the_shipped_soc_names_the_backend() -> None:
    assert read_soc("corstone_u55").instance("npu").arch.backend == backend.name
