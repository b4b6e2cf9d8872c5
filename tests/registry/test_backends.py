"""Backends are found lazily, checked when they are needed, and refused by name with what is wrong."""

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from target_arch.backend.contract import (
    Backend,
    DefaultArch,
    Hooks,
    LoweringRequest,
    Option,
    Pattern,
    Question,
    RuntimeSources,
)
from target_arch.backend.hooks import TirPass, TirPattern
from target_arch.plan.kernels import Kernel
from target_arch.registry import Backends, PlugInError
from target_arch.registry.lookup.sources import Source
from target_arch.soc import Cores, Memory, SoC, read_soc


def _supports(question: Question) -> str | None:
    return None


def _cost(question: Question) -> float:
    return 0.0


def _lower(request: LoweringRequest) -> Kernel:
    return Kernel(partition=request.partition.id, instance=request.instance.name)


def make(name: str = "fake", **changes: Any) -> Backend:
    whole = Backend(
        name=name,
        description="a backend for tests",
        codegen="c",
        patterns=(),
        supports=_supports,
        cost=_cost,
        lower=_lower,
        contract=2,
    )
    return evolve(whole, **changes)


def by_hooks(**hooks: Any) -> Backend:
    return make(lower=None, hooks=Hooks(**hooks))


MODULE = """
from target_arch.backend.contract import Backend
from target_arch.plan.kernels import Kernel

backend = Backend(
    name="{name}",
    description="from a folder",
    codegen="c",
    patterns=(),
    supports=lambda question: None,
    cost=lambda question: 0.0,
    lower=lambda request: Kernel(partition="", instance=""),
    contract=2,
)
"""


def refusal(backends: Backends, name: str) -> str:
    with pytest.raises(PlugInError) as caught:
        backends[name]
    assert caught.value.name == name
    return str(caught.value)


def test_built_in_backends_come_through_the_door_of_strangers() -> None:
    backends = Backends.discover()
    assert {"c", "conv2d_engine", "cuda", "gemm_npu", "null"} <= set(backends)
    assert backends.origin("null").startswith(
        "entry point `null = target_arch.backends.null:backend` of target-arch "
    )
    assert backends["null"].description == "takes nothing; the skeleton to clone"


def test_nothing_is_imported_before_it_is_needed() -> None:
    loaded: list[str] = []

    def load() -> Backend:
        loaded.append("lazy")
        return make("lazy")

    backends = Backends([Source(name="lazy", origin="a test", load=load)])
    assert "lazy" in backends
    assert loaded == []
    assert backends["lazy"] is backends["lazy"]
    assert loaded == ["lazy"]


def test_modules_and_packages_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(MODULE.format(name="one"))
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "__init__.py").write_text("from .inside import backend\n")
    (tmp_path / "two" / "inside.py").write_text(MODULE.format(name="two"))
    (tmp_path / "_private.py").write_text("raise SystemError\n")
    (tmp_path / "notes.txt").write_text("not a module\n")
    backends = Backends.discover([tmp_path])
    assert backends["one"].description == "from a folder"
    assert backends["two"].name == "two"
    assert backends.origin("one") == str(tmp_path / "one.py")


def test_equal_file_names_in_two_folders_do_not_meet(tmp_path: Path) -> None:
    for folder, description in (("a", "the first"), ("b", "the second")):
        (tmp_path / folder).mkdir()
        text = MODULE.format(name="same").replace("from a folder", description)
        (tmp_path / folder / "same.py").write_text(text)
    found = [Backends.discover([tmp_path / folder])["same"].description for folder in ("a", "b")]
    assert found == ["the first", "the second"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import no_such_module_here\n", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("def broken(:\n", "SyntaxError: invalid syntax"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("value = 1\n", "AttributeError: module "),
        (
            "from target_arch.backend.contract import Backend\nbackend = Backend(name='x')\n",
            "TypeError: Backend.__init__() missing 4 required keyword-only arguments: 'description', ",
        ),
    ],
)
def test_a_broken_module_is_refused_by_name(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "x.py").write_text(text)
    message = refusal(Backends.discover([tmp_path]), "x")
    assert message.startswith(f"{tmp_path}/x.py: error: backend `x` cannot be imported: {problem}")
    assert message.endswith("[backend-broken]")


def test_a_broken_backend_does_not_disturb_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError\n")
    assert Backends.discover([tmp_path])["null"].name == "null"


def test_two_parties_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "null.py").write_text(MODULE.format(name="null"))
    with pytest.raises(PlugInError) as caught:
        Backends.discover([tmp_path])
    first, second = caught.value.origins
    assert first.startswith("entry point `null")
    assert str(caught.value) == (
        f"{tmp_path}/null.py: error: backend `null` is registered twice [backend-duplicate]\n"
        f"{first}: note: it is registered here first\n"
        "hint: rename one of them, or take one away"
    )
    assert second == f"{tmp_path}/null.py"


def test_every_clash_and_every_folder_at_once(tmp_path: Path) -> None:
    for name in ("null", "c"):
        (tmp_path / f"{name}.py").write_text(MODULE.format(name=name))
    with pytest.raises(PlugInError) as caught:
        Backends.discover([tmp_path])
    assert [each.message for each in caught.value.diagnostics] == [
        "backend `c` is registered twice",
        "backend `null` is registered twice",
    ]
    with pytest.raises(PlugInError) as caught:
        Backends.discover([tmp_path / "a", tmp_path / "b"])
    assert str(caught.value) == "\n\n".join(
        f"{tmp_path}/{folder}: error: the backend folder cannot be used: it cannot be read: No such file or "
        "directory [backend-folder]"
        for folder in ("a", "b")
    )


def test_a_folder_that_is_named_twice_is_one_folder(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(MODULE.format(name="one"))
    assert "one" in Backends.discover([tmp_path, tmp_path])


def test_whoever_names_a_folder_means_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('at import')\n")
    (tmp_path / "good.py").write_text(MODULE.format(name="good"))
    (tmp_path / "wrong.py").write_text(MODULE.format(name="right"))
    (tmp_path / "half.py").write_text(MODULE.format(name="half").replace('"c"', "''"))
    (tmp_path / "rust.py").write_text(MODULE.format(name="rust").replace('"c"', "'rust'"))
    with pytest.raises(PlugInError) as caught:
        Backends.discover([tmp_path]).load_folders()
    assert str(caught.value) == (
        f"{tmp_path}/broken.py: error: backend `broken` cannot be imported: RuntimeError: at import "
        "[backend-broken]\n\n"
        f"{tmp_path}/half.py: error: backend `half`: `codegen` is empty [backend-incomplete]\n\n"
        f"{tmp_path}/rust.py: error: backend `rust`: `codegen` is `rust`, not one of `c`, `command_stream`, "
        "`cuda`, `llvm`, `none` [backend-incomplete]\n\n"
        f"{tmp_path}/wrong.py: error: the value registered as `wrong` calls itself `right` "
        "[backend-misnamed]\n"
        "hint: give both the same name"
    )


def test_a_backend_added_in_python() -> None:
    backends = Backends()
    backends.add(make())
    assert backends["fake"].codegen == "c"
    with pytest.raises(PlugInError, match="registered twice"):
        backends.add(make())


@pytest.mark.parametrize("folder", ["absent", "empty"])
def test_a_folder_that_holds_nothing(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PlugInError, match=r"the backend folder cannot be used: .* \[backend-folder\]"):
        Backends.discover([tmp_path / folder])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (42, "backend `fake` is a int, not a Backend [backend-type]"),
        (make(contract=7), "backend `fake` is written for contract 7, this is contract 2 [backend-contract]"),
        (make(contract=0), "backend `fake` does not say which contract it is written for [backend-contract]"),
        (make(default_arch=1), "backend `fake`: `default_arch` is not a DefaultArch [backend-incomplete]"),
        (
            make(default_arch=DefaultArch(device="kDLNpu")),
            "backend `fake`: `default_arch.device` is `kDLNpu`, which DLPack does not know "
            "[backend-incomplete]",
        ),
        (
            make(default_arch=DefaultArch(memories=(Memory(name="a", size=1),) * 2)),
            "backend `fake`: `default_arch.memories`: memory `a` is declared 2 times [backend-incomplete]",
        ),
        (
            make(default_arch=DefaultArch(), needs_buffers=("inp",)),
            "backend `fake`: `default_arch.buffers` and `needs_buffers` do not name the same buffers "
            "[backend-incomplete]",
        ),
        (
            make(default_arch=DefaultArch(buffers={"inp": "a"}), needs_buffers=("inp",)),
            "backend `fake`: `default_arch.buffers` maps `inp` to `a`, which is none of its memories "
            "[backend-incomplete]",
        ),
        (make("other"), "the value registered as `fake` calls itself `other` [backend-misnamed]"),
        (make(description=" "), "backend `fake`: `description` is empty [backend-incomplete]"),
        (make(lower=1), "backend `fake`: `lower` is not callable [backend-incomplete]"),
        (
            make(lower=None),
            "backend `fake`: neither `lower` nor `hooks` says how a partition becomes a kernel "
            "[backend-incomplete]",
        ),
        (
            make(hooks=Hooks()),
            "backend `fake`: both `lower` and `hooks` say how a partition becomes a kernel "
            "[backend-incomplete]",
        ),
        (make(lower=None, hooks=1), "backend `fake`: `hooks` is not a Hooks [backend-incomplete]"),
        (by_hooks(schedules=1), "backend `fake`: `hooks.schedules` is not callable [backend-incomplete]"),
        (by_hooks(tir_passes=[]), "backend `fake`: `hooks.tir_passes` is not a tuple [backend-incomplete]"),
        (
            by_hooks(graph_passes=(1,)),
            "backend `fake`: `hooks.graph_passes[0]` is not a GraphPass [backend-incomplete]",
        ),
        (
            by_hooks(tir_patterns=(TirPattern(name="", rewrite=print),)),
            "backend `fake`: `hooks.tir_patterns[0]` lacks a name [backend-incomplete]",
        ),
        (
            by_hooks(tir_patterns=(TirPattern(name="dma", rewrite=None),)),  # type: ignore[arg-type]
            "backend `fake`: `hooks.tir_patterns[0]`: `rewrite` is not callable [backend-incomplete]",
        ),
        (
            by_hooks(tir_passes=(TirPass(name="sync", place="end", load=print),)),  # type: ignore[arg-type]
            "backend `fake`: `hooks.tir_passes[0]` stands at `end`, the places are `scheduled`, `compacted`, "
            "`rewritten`, `flat`, `last` [backend-incomplete]",
        ),
        (
            by_hooks(graph_codegen=print, schedules=print),
            "backend `fake`: `hooks.schedules` is never reached, since `hooks.graph_codegen` takes the "
            "partition whole [backend-incomplete]",
        ),
        (make(patterns=[]), "backend `fake`: `patterns` is not a tuple [backend-incomplete]"),
        (make(patterns=("x",)), "backend `fake`: `patterns[0]` is not a Pattern [backend-incomplete]"),
        (
            make(patterns=(Pattern(name="", load=list),)),
            "backend `fake`: `patterns[0]` lacks a name or a `load` that can be called [backend-incomplete]",
        ),
        (make(options=None), "backend `fake`: `options` is not a tuple [backend-incomplete]"),
        (make(options=(1,)), "backend `fake`: `options[0]` is not an Option [backend-incomplete]"),
        (
            make(options=(Option(name="A b", default=1, help="x"),)),
            "backend `fake`: `options[0]`: name `A b` is not a lower-case identifier [backend-incomplete]",
        ),
        (
            make(options=(Option(name="a", default=None, help="x"),)),  # type: ignore[arg-type]
            "backend `fake`: option `a` has no default that a SoC file can hold [backend-incomplete]",
        ),
        (
            make(options=(Option(name="a", default=1, help=""),)),
            "backend `fake`: option `a` has no help [backend-incomplete]",
        ),
        (
            make(options=(Option(name="a", default=1, help="x"),) * 2),
            "backend `fake`: option `a` is declared 2 times [backend-incomplete]",
        ),
        (make(needs_buffers="inp"), "backend `fake`: `needs_buffers` is not a tuple [backend-incomplete]"),
        (
            make(needs_buffers=("inp", "inp")),
            "backend `fake`: buffer `inp` is declared 2 times [backend-incomplete]",
        ),
        (
            make(needs_buffers=("a-b",)),
            "backend `fake`: buffer name `a-b` is not a lower-case identifier [backend-incomplete]",
        ),
        (make(runtime=None), "backend `fake`: `runtime` is not a RuntimeSources [backend-incomplete]"),
        (
            make(runtime=RuntimeSources(files=None)),  # type: ignore[arg-type]
            "backend `fake`: `runtime.files` is not callable [backend-incomplete]",
        ),
        (
            make(runtime=RuntimeSources(driver="a b")),
            "backend `fake`: `runtime.driver` is `a b`, not a C identifier [backend-incomplete]",
        ),
        (
            make(runtime=RuntimeSources(simulator_symbol="x")),
            "backend `fake`: `runtime` has a simulator and no driver that would talk to it "
            "[backend-incomplete]",
        ),
    ],
)
def test_what_breaks_the_contract_is_named(value: object, said: str) -> None:
    backends = Backends([Source(name="fake", origin="a test", load=lambda: value)])
    assert refusal(backends, "fake").split("\nhint: ")[0] == f"a test: error: {said}"


def test_a_half_filled_backend_is_told_everything_at_once() -> None:
    value = make(description="", cost=None, lower=None)
    message = refusal(Backends([Source(name="fake", origin="a test", load=lambda: value)]), "fake")
    assert [line.split("`")[3] for line in message.splitlines() if line] == ["cost", "lower", "description"]


def test_an_unknown_name_has_its_nearest() -> None:
    assert refusal(Backends.discover(), "gemm_nup") == (
        "backends: error: there is no backend `gemm_nup` [unknown-backend]\nhint: did you mean `gemm_npu`?"
    )


@pytest.fixture
def soc() -> SoC:
    return read_soc("zynq_edge")


def with_accelerator(soc: SoC, **changes: Any) -> SoC:
    archs = tuple(evolve(arch, **changes) if arch.name == "accelerator" else arch for arch in soc.archs)
    return evolve(soc, archs=archs)


def fakes() -> Backends:
    """Stand-ins for the backends of zynq_edge, so that these tests stand when real ones change."""
    backends = Backends()
    backends.add(make("c", options=(Option(name="macs_per_cycle", default=1.0, help="speed"),)))
    backends.add(make("conv2d_engine", codegen="command_stream"))
    options = (
        Option(name="lanes", default=16, help="columns of the array"),
        Option(name="boost", default=1.0, help="clock factor"),
        Option(name="strict", default=False, help="refuse what is slow"),
    )
    backends.add(make("gemm_npu", needs_buffers=("inp", "wgt", "acc"), options=options))
    return backends


def test_a_soc_of_backends_alone() -> None:
    backends = Backends.discover()
    assert backends.default_soc("gemm_npu").partitioning == ("gemm_npu", "c")
    assert backends.default_soc("c", "conv2d_engine").host.name == "c"
    backends.add(make(), origin="a test")
    with pytest.raises(PlugInError) as caught:
        backends.default_soc("fake")
    assert str(caught.value) == (
        "a test: error: backend `fake` does not say what its hardware is like by default [no-default-arch]"
    )


def test_backends_for_a_soc(soc: SoC) -> None:
    found = fakes().backends_for(soc)
    assert {arch: backend.name for arch, backend in found.items()} == {
        "host_cpu": "c",
        "dsp_cpu": "c",
        "fpga_conv2d": "conv2d_engine",
        "accelerator": "gemm_npu",
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"backend": "gemm_nup"},
            "SoC `zynq_edge`, target_arch.accelerator.backend: error: backend `gemm_nup` is not installed "
            "[unknown-backend]\nhint: did you mean `gemm_npu`?",
        ),
        (
            {"options": {"lanse": 8}},
            "SoC `zynq_edge`, target_arch.accelerator.options.lanse: error: backend `gemm_npu` has no option "
            "`lanse` [unknown-option]\nhint: did you mean `lanes`?",
        ),
        (
            {"options": {"lanes": True}},
            "SoC `zynq_edge`, target_arch.accelerator.options.lanes: error: option `lanes` of backend "
            "`gemm_npu` is a whole number, not `true` [option-type]\n"
            "hint: columns of the array; default `16`",
        ),
        (
            {"options": {"strict": 1}},
            "SoC `zynq_edge`, target_arch.accelerator.options.strict: error: option `strict` of backend "
            "`gemm_npu` is true or false, not `1` [option-type]\nhint: refuse what is slow; default `false`",
        ),
        (
            {"buffers": {"inp": "npu_inp"}},
            "SoC `zynq_edge`, target_arch.accelerator.buffers: error: backend `gemm_npu` needs `acc`, `wgt` "
            "mapped to memories of `accelerator` [unmapped-buffer]\n"
            'hint: buffers = { inp = "…", wgt = "…", acc = "…" }',
        ),
        (
            {"buffers": {"inp": "npu_inp", "wgt": "npu_wgt", "acc": "npu_acc", "out": "npu_acc"}},
            "SoC `zynq_edge`, target_arch.accelerator.buffers.out: error: backend `gemm_npu` has no buffer "
            "`out` [unknown-buffer]\nhint: its buffers: `acc`, `inp`, `wgt`",
        ),
    ],
)
def test_what_a_soc_gets_wrong_about_a_backend(soc: SoC, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(PlugInError) as caught:
        fakes().backends_for(with_accelerator(soc, **changes))
    assert str(caught.value) == said


def test_cores_need_a_backend_that_makes_functions(soc: SoC) -> None:
    with pytest.raises(PlugInError) as caught:
        Backends.discover().backends_for(with_accelerator(soc, cores=Cores(stack=1024)))
    assert str(caught.value) == (
        "SoC `zynq_edge`, target_arch.accelerator.cores: error: backend `gemm_npu` of `accelerator` has no "
        "cores: it makes no C functions [no-cores]\n"
        "hint: leave `cores` out, or name a backend that makes functions, such as `c`"
    )


def test_a_whole_number_is_a_number(soc: SoC) -> None:
    assert fakes().faults(with_accelerator(soc, options={"boost": 2})) == ()


def test_all_faults_at_once(soc: SoC) -> None:
    wrong = with_accelerator(soc, options={"nothing": 1, "lanes": "many"}, buffers={})
    assert [fault.rule for fault in fakes().faults(wrong)] == [
        "option-type",
        "unknown-option",
        "unmapped-buffer",
    ]
