"""Programs made of checked archives are those that PyTorch loads."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conformance.fuzz_readers.corpus import exported_programs
from target_arch.diagnostics import DiagnosticError
from target_arch.plan.inputs.cut import WHOLE
from target_arch.relax.importer import import_model
from target_arch.relax.readers.pytorch.pt2_archive import plain_archive
from target_arch.relax.readers.pytorch.torch_export import load_program
from target_arch.run.references.pytorch import pytorch

torch = pytest.importorskip("torch", reason="pip install target-arch[torch]")


def loaded(content: bytes) -> Any:
    return load_program(Path("m.pt2"), content)


def saved(program: Any) -> bytes:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def with_member(content: bytes, ending: str, member: bytes) -> bytes:
    """The archive with another member of that ending."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, member if info.filename.endswith(ending) else old.read(info))
    return made.getvalue()


def facts(program: Any) -> str:
    nodes = [
        (node.op, str(node.target), node.args, node.kwargs, node.meta.get("val"))
        for node in program.graph.nodes
    ]
    return f"{nodes} {program.graph_signature} {program.range_constraints} {program.call_spec}"


@pytest.mark.parametrize("number", range(3))
def test_it_is_the_program_that_pytorch_loads(number: int) -> None:
    content = exported_programs()[number]
    ours, theirs = loaded(content), torch.export.load(io.BytesIO(content))
    assert facts(ours) == facts(theirs)
    for mine, its in ((ours.state_dict, theirs.state_dict), (ours.constants, theirs.constants)):
        assert list(mine) == list(its)
        for name, value in its.items():
            assert (type(mine[name]), mine[name].stride()) == (type(value), value.stride())
            assert torch.equal(mine[name], value)


class Tied(torch.nn.Module):  # type: ignore[name-defined, misc]  # PyTorch has no types here
    """Views of one memory: a transposed weight, and a buffer that begins inside of another one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
        whole = torch.arange(8, dtype=torch.int64)
        self.register_buffer("whole", whole)
        self.register_buffer("part", whole[3:7:2])
        self.register_buffer("nothing", torch.zeros(0, 4))

    def forward(self, x: Any) -> Any:
        """Read all of them."""
        return x @ self.weight + self.part + self.whole[:2] + self.nothing.sum()


def test_tensors_of_one_file_share_its_memory() -> None:
    x = torch.ones(2, 3)
    program = loaded(saved(torch.export.export(Tied(), (x,))))
    tensors = program.state_dict
    assert torch.equal(program.module()(x), Tied()(x))
    assert tensors["part"].tolist() == [3, 5]
    tensors["whole"][3] = 9
    assert tensors["part"].tolist() == [9, 5]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda graph: graph["graph_module"]["graph"].update(nodes="none"),
            "its parts contradict each other",
        ),
        (lambda graph: graph["graph_module"]["graph"].update(inputs=[{}]), "its parts contradict each other"),
        (
            lambda graph: graph["graph_module"]["graph"].update(inputs=[{"as_a": 1}]),
            "its parts contradict each other",
        ),
        (lambda graph: graph["schema_version"].update(major=99), "its parts contradict each other"),
    ],
)
def test_records_that_are_none(change: Any, said: str) -> None:
    content = exported_programs()[0]
    graph = json.loads(json.dumps(plain_archive(content).graph))
    change(graph)
    with pytest.raises(DiagnosticError, match=said):
        loaded(with_member(content, "/models/model.json", json.dumps(graph).encode()))


@pytest.mark.parametrize(
    ("member", "content"), [("archive_version", b"9"), ("archive_format", b"pt3"), ("byteorder", b"big")]
)
def test_archives_of_other_kinds(member: str, content: bytes) -> None:
    archive = with_member(exported_programs()[0], f"/{member}", content)
    said = f"this is no saved torch.export program: `{member}` is one that is not known here"
    with pytest.raises(DiagnosticError, match=said):
        loaded(archive)


def test_a_tensor_beyond_its_file() -> None:
    content = with_member(exported_programs()[0], "/data/weights/weight_0", bytes(4))
    with pytest.raises(DiagnosticError, match="its parts contradict each other"):
        loaded(content)


def test_the_reference_runs_what_the_reader_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.pt2"
    path.write_bytes(exported_programs()[0])
    program = import_model(path)[1]
    path.unlink()
    reference = pytorch(path, (), WHOLE, program.loaded)
    (frame,) = reference.frames(1, seed=0)
    ((answer,),) = reference.answer(frame)
    expected = program.loaded.module()(torch.from_numpy(frame[0]))
    assert torch.equal(torch.from_numpy(answer), expected.detach())
