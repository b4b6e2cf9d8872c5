"""Ports, load processes, policies and planners of strangers: found in a folder, checked, refused by name."""

import shutil
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.backend.port import Hosted
from target_arch.registry import PlugInError, PlugIns, PlugInTable
from tests.systems import HOST, NULL, PROCESSES, QEMU_MPS2

FOLDER = Path(__file__).parents[1] / "plug_in_folder"


def refusal(table: PlugInTable[object], name: str) -> str:
    with pytest.raises(PlugInError) as caught:
        table[name]
    return str(caught.value)


def test_the_shipped_ones_come_through_the_door_of_strangers() -> None:
    found = PlugIns.discover()
    assert found.ports.names == ("cuda", "host", "null", "qemu_mps2", "qemu_sse200")
    assert found.load_processes.names == ("bitstream", "command_stream", "firmware", "linked", "module")
    assert found.policies.names == ("accelerators-first", "c-first", "program")
    assert {"best", "cp-sat", "greedy", "search", "skyline"} <= set(found.planners)
    for table in (found.ports, found.load_processes, found.policies, found.planners):
        assert all(str(table[name]).startswith(name) for name in table)
        assert all(table.origin(name).startswith(f"entry point `{name} = target_arch.") for name in table)


def test_values_print() -> None:
    found = PlugIns.discover([FOLDER])
    assert str(found.ports["twin"]) == "twin (hosted: -lm): a computer that is nothing but its host\n"
    assert str(found.load_processes["fuses"]) == (
        "fuses (256, an image `*.fuses`, checked by fuses_check): fuses are blown once\n"
    )
    assert str(found.policies["last-first"]) == "last-first: what runs last is lowered first\n"
    assert str(found.planners["stacked"]) == "stacked: no byte is used twice\n"
    assert str(found.planners["search"]).endswith(" (takes nodes, seconds, seed)\n")


def test_nothing_is_imported_before_it_is_needed(tmp_path: Path) -> None:
    for folder in ("ports", "load_processes", "operators", "policies", "planners"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "broken.py").write_text("raise RuntimeError('at import')\n")
    found = PlugIns.discover([tmp_path])
    assert "broken" in found.ports
    with pytest.raises(PlugInError) as caught:
        found.load_folders()
    assert str(caught.value) == "\n\n".join(
        f"{tmp_path}/{folder}/broken.py: error: {word} `broken` cannot be imported: RuntimeError: at import "
        f"[{rule}-broken]"
        for folder, word, rule in (
            ("load_processes", "load process", "load-process"),
            ("operators", "operator library", "operator-library"),
            ("planners", "planner", "planner"),
            ("policies", "policy", "policy"),
            ("ports", "port", "port"),
        )
    )


def test_two_parties_of_one_name(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "policies", tmp_path / "policies")
    (tmp_path / "policies" / "last-first.py").rename(tmp_path / "policies" / "c-first.py")
    with pytest.raises(PlugInError) as caught:
        PlugIns.discover([tmp_path])
    first, second = caught.value.origins
    assert str(caught.value) == (
        f"{second}: error: policy `c-first` is registered twice [policy-duplicate]\n"
        f"{first}: note: it is registered here first\n"
        "hint: rename one of them, or take one away"
    )
    assert (first[:21], second) == ("entry point `c-first ", f"{tmp_path}/policies/c-first.py")


def test_a_value_added_in_python() -> None:
    found = PlugIns.discover()
    found.ports.add(evolve(NULL, name="bare"))
    assert found.ports["bare"].files().keys() == {"ports/null/port_null.c"}
    with pytest.raises(PlugInError, match="port `bare` is registered twice"):
        found.ports.add(evolve(NULL, name="bare"))


def test_an_unknown_name_has_its_nearest() -> None:
    found = PlugIns.discover()
    assert refusal(found.ports, "hots") == (  # type: ignore[arg-type]
        "ports: error: there is no port `hots` [unknown-port]\nhint: did you mean `host`?"
    )
    assert refusal(found.load_processes, "tape") == (  # type: ignore[arg-type]
        "load processes: error: there is no load process `tape` [unknown-load-process]\n"
        "hint: there are: `bitstream`, `command_stream`, `firmware`, `linked`, `module`"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            42,
            "port `` is a int, not a PortKind [port-type]\n"
            "hint: export a `target_arch.backend.port.PortKind`",
        ),
        (evolve(NULL, name="x", description=" "), "port `x`: `description` is empty [port-incomplete]"),
        (evolve(NULL, name="X"), "port name `X` is not a lower-case identifier [port-misnamed]"),
        (evolve(NULL, name="x", files=None), "port `x`: `files` is not callable [port-incomplete]"),
        (evolve(NULL, name="x", system=None), "port `x`: `system` is neither Hosted nor BareMetal"),
        (evolve(NULL, name="x", prefix="1x"), "port `x`: `prefix` is `1x`, not a C identifier"),
        (
            evolve(NULL, name="x", system=Hosted(simulates=True)),
            "port `x`: it says `simulates`, and names no `prefix` and `header` of its functions",
        ),
        (evolve(HOST, name="x", system=Hosted(libraries="m")), "port `x`: `libraries` is not a tuple"),
        (evolve(QEMU_MPS2, name="x", header=""), "port `x`: it names no `prefix` and `header`"),
        (
            evolve(QEMU_MPS2, name="x", system=evolve(QEMU_MPS2.system, compiler="", emulator=())),
            "port `x`: `compiler` is empty",
        ),
        (
            evolve(QEMU_MPS2, name="x", system=evolve(QEMU_MPS2.system, machines=())),
            "port `x`: `machines` holds no Machine, or something else",
        ),
    ],
)
def test_what_is_wrong_with_a_port_is_named(value: object, said: str) -> None:
    found = PlugIns.discover()
    with pytest.raises(PlugInError) as caught:
        found.ports.add(value)  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"number": 7}, "`number` is 7, those of plug-ins are from 256 on"),
        ({"number": "7"}, "`number` is not a whole number"),
        (
            {"number": 300, "macro": "X"},
            "`number` is 300, which `abi.h` leaves to plug-ins, and `macro` is set",
        ),
        ({"number": 300, "check": "a-b"}, "`a-b` is not a C identifier"),
        (
            {"number": 300, "image": "bin"},
            "`image` is `bin`, not how the name of a file ends, such as `.bin`",
        ),
        ({"number": 300, "files": {}}, "`files` is not callable"),
    ],
)
def test_what_is_wrong_with_a_load_process_is_named(changes: dict[str, object], said: str) -> None:
    value = evolve(PROCESSES["bitstream"], name="x", **{"macro": "", **changes})
    with pytest.raises(PlugInError) as caught:
        PlugIns.discover().load_processes.add(value, origin="a test")
    assert str(caught.value) == f"a test: error: load process `x`: {said} [load-process-incomplete]"


def test_a_hook_that_fails_is_reported_with_its_plug_in() -> None:
    found = PlugIns.discover()
    found.ports.add(evolve(NULL, name="bare", files=lambda: {}["a"]))
    with pytest.raises(PlugInError, match="registered twice"):
        found.ports.add(evolve(NULL, name="bare"))
    with pytest.raises(Exception, match="port `bare`, hook `files`: error: KeyError: 'a'"):
        found.ports["bare"].files()
