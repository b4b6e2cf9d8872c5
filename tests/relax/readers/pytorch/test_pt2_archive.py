"""Hostile `.pt2` files: each would run code in `torch.export.load` or later, none does here."""

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from conformance.fuzz_readers.corpus import exported_programs
from target_arch.diagnostics import DiagnosticError
from target_arch.relax.readers.pytorch.pt2_archive import NoProgram, Unsafe, plain_archive
from target_arch.relax.readers.pytorch.torch_export import load_program

Members = dict[str, bytes]
MODEL, WEIGHTS = "m/models/model.json", "m/data/weights/model_weights_config.json"
CONSTANTS, SAMPLES = "m/data/constants/model_constants_config.json", "m/data/sample_inputs/model.pt"


class Payload:
    """A pickle that makes a file when it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@pytest.fixture(scope="module")
def harmless() -> bytes:
    pytest.importorskip("torch", reason="pip install target-arch[torch]")
    return exported_programs()[0]


def changed(data: bytes, change: Callable[[Members], object]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def in_json(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        table = json.loads(members[name])
        change(table)
        members[name] = json.dumps(table).encode()

    return apply


def node(table: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = table["graph_module"]["graph"]["nodes"][0]
    return found


def pickled_weight(mark: Path) -> Callable[[Members], None]:
    import torch

    def apply(members: Members) -> None:
        in_json(WEIGHTS, lambda table: next(iter(table["config"].values())).update(use_pickle=True))(members)
        buffer = io.BytesIO()
        torch.save(Payload(mark), buffer)
        members["m/data/weights/weight_0"] = buffer.getvalue()

    return apply


def pickled_samples(mark: Path) -> Callable[[Members], None]:
    import torch

    def apply(members: Members) -> None:
        buffer = io.BytesIO()
        torch.save(Payload(mark), buffer)
        members[SAMPLES] = buffer.getvalue()

    return apply


def opaque_constant(mark: Path) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        entry = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
        in_json(CONSTANTS, lambda table: table.update(config={"c": entry}))(members)
        members["m/data/constants/opaque_obj_0"] = pickle.dumps(Payload(mark))

    return apply


@pytest.mark.parametrize("vector", [pickled_weight, pickled_samples, opaque_constant])
def test_pytorch_runs_it_and_this_reader_does_not(
    tmp_path: Path, harmless: bytes, vector: Callable[[Path], Callable[[Members], None]]
) -> None:
    import torch

    mark = tmp_path / "mark"
    hostile = changed(harmless, vector(mark))
    with suppress(Exception):
        torch.export.load(io.BytesIO(hostile))
    assert mark.exists()
    mark.unlink()
    if vector is pickled_samples:
        assert load_program(Path("m.pt2"), hostile).example_inputs is None
    else:
        with pytest.raises(DiagnosticError, match=r"run code from the file: it contains .*\[unsafe-model\]"):
            load_program(Path("m.pt2"), hostile)
    assert not mark.exists()


EVIL = "__import__('os').abort()"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (in_json(MODEL, lambda m: node(m).update(target="torch.load")), "the function `torch.load`"),
        (
            in_json(MODEL, lambda m: node(m).update(target="torch.ops.load_library")),
            "the function `torch.ops.load_library`",
        ),
        (
            in_json(MODEL, lambda m: node(m).update(target="torch.ops.aten.from_file.default")),
            "the function `torch.ops.aten.from_file.default`",
        ),
        (in_json(MODEL, lambda m: node(m).update(name=EVIL)), f"the name `{EVIL}`"),
        (
            in_json(MODEL, lambda m: m["graph_module"]["graph"].update(tensor_values={EVIL: {}})),
            f"the name `{EVIL}`",
        ),
        (
            in_json(MODEL, lambda m: m["range_constraints"].update(s0={"expr_str": EVIL})),
            f"the expression `{EVIL}`",
        ),
        (
            in_json(MODEL, lambda m: m["graph_module"]["module_call_graph"].append({"in_spec": EVIL})),
            f"the specification `{EVIL}`",
        ),
        (
            lambda members: members.update({"m/data/aotinductor/m/a.so": b""}),
            "compiled code (`data/aotinductor`)",
        ),
        (
            lambda members: members.update({"m/data/weights/model.pt": b""}),
            "pickled tensors (`data/weights/model.pt`)",
        ),
    ],
)
def test_the_other_ways_to_code(harmless: bytes, change: Callable[[Members], object], what: str) -> None:
    with pytest.raises(Unsafe) as caught:
        plain_archive(changed(harmless, change))
    assert str(caught.value) == what


def test_guards_and_traces_are_left_out(harmless: bytes) -> None:
    guarded = changed(harmless, in_json(MODEL, lambda model: model.update(guards_code=[EVIL])))
    model = plain_archive(guarded).graph
    assert (model["guards_code"], node(dict(model))["metadata"]) == ([], {})


def test_what_unpacks_to_too_much_says_so(harmless: bytes) -> None:
    """The sizes in the list at the end of an archive, which are added before anything is unpacked."""
    entry = harmless.rindex(b"PK\x01\x02")
    huge = harmless[: entry + 24] + struct.pack("<L", 2**32 - 2) + harmless[entry + 28 :]
    with pytest.raises(NoProgram, match="it unpacks to more than 4,294,967,296 B"):
        plain_archive(huge)
