"""The bundle as a value: which files, which bytes, what the tables say."""

import json
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.emit import EmitInputs
from target_arch.emit.programs.files import program_files
from target_arch.plan.goal import Goal
from target_arch.plan.kernels import CFunction, Kernel, Slice
from target_arch.plan.model_pools import Sharing
from target_arch.plan.steps import Copy
from target_arch.soc.numbering import abi_hash
from target_arch.stages.memory.model_pools import model_pools
from tests import tiny_plans
from tests.systems import NULL

Golden = Callable[[str, str], None]


def text(inputs: EmitInputs, path: str) -> str:
    return tiny_plans.bundle(inputs).files[path].decode()


def test_files() -> None:
    files = tiny_plans.bundle(tiny_plans.on_dsp()).files
    own = [path for path in files if not path.startswith(("runtime/", "include/target_arch/"))]
    assert own == [
        "CMakeLists.txt",
        "LICENSE",
        "Makefile",
        "NOTICE",
        "README.md",
        "cmake/tiny_addConfig.cmake",
        "include/tiny_add.h",
        "include/tiny_soc.h",
        "library.json",
        "manifest.json",
        "sbom.cdx.json",
        "src/program_table.h",
        "src/runner.c",
        "src/selftest.c",
        "src/test_vectors.h",
        "src/tiny_add.c",
        "src/tiny_add_constants.c",
        "src/tiny_add_dsp_kernels.c",
        "src/tiny_add_internal.h",
        "src/tiny_add_steps.c",
        "src/tiny_simulation.c",
        "src/tiny_soc.c",
        "target_arch.tiny_add.pdsc",
        "tiny.ld",
        "tiny.toml",
        "trace.json",
        "zephyr/CMakeLists.txt",
        "zephyr/Kconfig",
        "zephyr/module.yml",
    ]
    assert {
        "include/target_arch/abi.h",
        "runtime/core/runtime.c",
        "runtime/ports/host/port_host.c",
    } <= files.keys()


def test_without_a_vector_the_self_test_says_so() -> None:
    files = tiny_plans.bundle(tiny_plans.on_host(self_test=None)).files
    assert b'missing[] = {\n    "tiny-add: no self-test: ",\n};' in files["src/test_vectors.h"]
    assert b"vectors = {NULL, missing, 0u, 1u};" in files["src/test_vectors.h"]
    assert b"$(BUILD)/selftest" in files["Makefile"]


def test_the_null_port_has_no_simulation() -> None:
    files = tiny_plans.bundle(tiny_plans.on_host(port=NULL)).files
    assert "src/tiny_simulation.c" not in files
    assert not any("ports/host" in path for path in files)
    assert b"pthread" not in files["Makefile"]


def test_steps(golden: Golden) -> None:
    golden("tiny_add_steps.c", text(tiny_plans.on_dsp(), "src/tiny_add_steps.c"))


def test_kernels(golden: Golden) -> None:
    golden("tiny_add_dsp_kernels.c", text(tiny_plans.on_dsp(), "src/tiny_add_dsp_kernels.c"))


def test_constants(golden: Golden) -> None:
    golden("tiny_add_constants.c", text(tiny_plans.on_dsp(), "src/tiny_add_constants.c"))


def test_model_header(golden: Golden) -> None:
    golden("tiny_add.h", text(tiny_plans.on_host(), "include/tiny_add.h"))


def test_soc_and_simulation(golden: Golden) -> None:
    inputs = tiny_plans.on_dsp()
    golden("tiny_soc.c", text(inputs, "src/tiny_soc.c") + text(inputs, "src/tiny_simulation.c"))


def test_linker_fragment(golden: Golden) -> None:
    golden("tiny.ld", text(tiny_plans.on_host(), "tiny.ld"))


def test_manifest() -> None:
    manifest = json.loads(text(tiny_plans.on_dsp(), "manifest.json"))
    assert manifest["abi_hash"] == f"0x{abi_hash(tiny_plans.soc()):016x}"
    (model,) = manifest["models"]
    assert model["partitions"] == [
        {
            "id": "p0",
            "instance": "dsp",
            "operators": ["add0"],
            "reason": "only one there is",
            "notes": [],
            "target_arch": "dsp",
        }
    ]
    assert model["lowering_order"] == [{"partition": "p0", "phase": "codegen", "reason": "codegen is C"}]
    assert manifest["pools"]["tcm"] == {
        "memory": "tcm",
        "capacity": 1024,
        "bytes": 56,
        "apart": 56,
        "overlaid": True,
        "peaks": {model["name"]: 56},
    }
    assert model["pools"]["tcm"] == {
        "memory": "tcm",
        "capacity": 1024,
        "peak": 56,
        "bound": 56,
        "in_place_bound": 56,
    }
    assert model["steps"][2] == {
        "number": 2,
        "kind": "copy",
        "what": "copy add/bias@flash[0:+32] -> add/bias@tcm[0:+32] by dma, event dma.0#2",
        "event": "dma.0#2",
    }
    assert model["inputs"][0] == {
        "name": "x:0",
        "shape": [1, 8],
        "dtype": "int8",
        "bytes": 8,
        "buffer": "x:0@sram",
    }
    assert model["verification"] is manifest["image"] is manifest["firmware"] is None


def test_the_stand_in_image_has_its_crc() -> None:
    source = text(tiny_plans.on_dsp(), "src/tiny_add_steps.c")
    assert f"#define TINY_IMAGE_DSP_CRC32 0x{zlib.crc32(b'stand-in for dsp.elf'):08x}u" in source


def test_same_inputs_same_bytes_whatever_the_hash_seed() -> None:
    program = (
        "import hashlib; from tests import tiny_plans;"
        "files = tiny_plans.bundle(tiny_plans.on_dsp()).files;"
        "print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


def test_one_function_for_two_partitions_is_defined_once() -> None:
    inputs = tiny_plans.on_host()
    kernel = inputs.members[0].lowered.kernels["p0"]
    twice = tiny_plans.changed(inputs, kernels={"p0": kernel, "p1": evolve(kernel, partition="p1")})
    assert text(twice, "src/tiny_add_host_kernels.c").count("static void add_bias(") == 1


def test_one_function_on_two_archs_has_two_entries() -> None:
    inputs = tiny_plans.on_dsp()
    kernels = {
        **inputs.members[0].lowered.kernels,
        "p1": Kernel(partition="p1", instance="host", functions=(tiny_plans.ADD,)),
    }
    both = tiny_plans.bundle(tiny_plans.changed(inputs, kernels=kernels)).files
    assert b"static void add_bias(" in both["src/tiny_add_host_kernels.c"]
    assert b"static void add_bias(" in both["src/tiny_add_dsp_kernels.c"]


def test_two_functions_of_one_name_are_refused() -> None:
    inputs = tiny_plans.on_host()
    other = CFunction(name="add_bias", parameters=(), text="void add_bias(void)\n{\n}\n")
    kernels = {
        **inputs.members[0].lowered.kernels,
        "p1": Kernel(partition="p1", instance="host", functions=(other,)),
    }
    with pytest.raises(ValueError, match="two C functions are named `add_bias` and differ"):
        tiny_plans.bundle(tiny_plans.changed(inputs, kernels=kernels))


def test_a_text_that_does_not_define_its_function_is_refused() -> None:
    bad = CFunction(name="other", parameters=(), text="void add_bias(void)\n{\n}\n")
    kernels = {"p0": Kernel(partition="p0", instance="host", functions=(bad,))}
    with pytest.raises(ValueError, match="the text of C function `other` does not define it"):
        tiny_plans.bundle(tiny_plans.on_host(kernels=kernels))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ({"row_bytes": 8}, {"row_bytes": 4}, "different size"),
        (
            {"row_bytes": 4, "rows": 4, "stride": 8},
            {"row_bytes": 8, "rows": 2, "stride": 16},
            "different shape",
        ),
    ],
)
def test_a_copy_whose_ends_differ_is_refused(
    source: dict[str, int], target: dict[str, int], message: str
) -> None:
    copy = Copy(
        source=Slice(of="x:0@sram", offset=0, **source),
        target=Slice(of="y@sram", offset=0, **target),
        engine="cpu",
    )
    inputs = tiny_plans.on_host()
    with pytest.raises(ValueError, match=message):
        tiny_plans.bundle(
            tiny_plans.changed(inputs, steps=evolve(inputs.members[0].lowered.steps, steps=(copy,)))
        )


def test_a_model_whose_name_clashes_is_refused() -> None:
    inputs = tiny_plans.on_host()
    with pytest.raises(DiagnosticError) as failure:
        tiny_plans.bundle(tiny_plans.changed(inputs, model=evolve(inputs.members[0].model, name="runner")))
    assert str(failure.value) == (
        "model runner: error: the model's name gives two files the name `src/runner.c` [file-clash]\n"
        "hint: give the model another name"
    )


def test_an_output_that_the_host_cannot_see_is_refused() -> None:
    inputs = tiny_plans.on_dsp()
    with pytest.raises(ValueError, match="`y` of the outputs is where the host cannot see it: y@tcm"):
        tiny_plans.bundle(
            tiny_plans.changed(
                inputs, steps=evolve(inputs.members[0].lowered.steps, outputs=(("y", "y@tcm"),))
            )
        )


def two(arenas: Sharing) -> EmitInputs:
    """The model twice, under two names."""
    one = tiny_plans.on_host()
    (member,) = one.members
    members = tuple(evolve(member, model=evolve(member.model, name=name)) for name in ("ear", "eye"))
    plans = {each.name: each.lowered.plan for each in members}
    return evolve(one, name="duo", members=members, pools=model_pools(one.soc, plans, arenas))


def own(inputs: EmitInputs) -> set[str]:
    """The sources that depend on models, less the programs."""
    files = (path for path in tiny_plans.bundle(inputs).files if path.startswith(("src/", "include/")))
    left = (path for path in files if "target_arch/" not in path and "tiny_s" not in path)
    return set(left) - program_files(inputs).keys()


def test_of_several_models_the_bundle_has_the_files_they_share() -> None:
    """A single model is the bundle, and has these in its own name."""
    shared = {"src/duo_internal.h", "src/duo_host_kernels.c", "include/duo.h", "src/duo.c"}
    each = {
        path for name in ("ear", "eye") for path in (
            f"include/{name}.h", f"src/{name}.c", f"src/{name}_constants.c", f"src/{name}_steps.c",
        )
    }  # fmt: skip
    assert own(two(Sharing.SHARED)) == {*shared, *each, "src/duo_arenas.c"}
    assert {path.replace("duo", "tiny_add") for path in shared} < own(tiny_plans.on_host())
    assert {path.replace("ear", "tiny_add") for path in each if "ear" in path} < own(tiny_plans.on_host())


@pytest.mark.parametrize(("arenas", "bytes"), [(Sharing.SHARED, [32]), (Sharing.SEPARATE, [32, 32])])
def test_models_share_an_arena_or_have_one_each(arenas: Sharing, bytes: list[int]) -> None:
    source = text(two(arenas), "src/duo_arenas.c")
    assert [int(size) for size in re.findall(r"uint8_t arena_\w*sram\[(\d+)\]", source)] == bytes


@pytest.mark.parametrize(
    ("arenas", "ear", "eye"),
    [
        (Sharing.SHARED, "{2, 0}, {0, 16}, {2, 16},", "{2, 0}, {1, 16}, {2, 16},"),
        (Sharing.SEPARATE, "{2, 0}, {0, 16}, {2, 16},", "{3, 0}, {1, 16}, {3, 16},"),
    ],
)
def test_a_model_finds_its_arenas_in_the_table_of_all(arenas: Sharing, ear: str, eye: str) -> None:
    """First the constants of each, then the arenas of inputs and outputs."""
    inputs = two(arenas)
    assert f"    {ear} /* step 0" in text(inputs, "src/ear_steps.c")
    assert f"    {eye} /* step 0" in text(inputs, "src/eye_steps.c")


@pytest.mark.parametrize("plan", [tiny_plans.on_host, tiny_plans.on_machine])
def test_size_is_compiled_for_size_and_said(plan: Callable[..., EmitInputs]) -> None:
    """The usual goal leaves no trace."""
    made = {goal: tiny_plans.bundle(plan(goal=goal)).files for goal in Goal}
    assert made[Goal.BALANCED] == tiny_plans.bundle(plan()).files
    for goal, files in made.items():
        assert f" {goal.flag}\n".encode() in files["Makefile"]
        assert (b"PRIVATE -Os" in files["CMakeLists.txt"]) == (goal is Goal.SIZE)
        assert json.loads(files["manifest.json"])["optimize"] == goal
