"""Every reader of files that others may have made, as a function of bytes.

A reader either returns or raises DiagnosticError. Anything else is a finding: another exception, a signal, an
execution that does not end.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

from conformance.fuzz_readers import corpus, mutate
from conformance.fuzz_readers.onnx_graphs import of_onnx
from conformance.fuzz_readers.tflite_graphs import of_tflite
from target_arch.diagnostics import DiagnosticError


@frozen(kw_only=True)
class Reader:
    """`read` gets a file of its own; `sample` is how many mutants each run of the tests tries."""

    name: str
    file: str
    seeds: Callable[[], Sequence[bytes]]
    mutate: mutate.Mutate
    read: Callable[[Path], object]
    sample: int

    def accepts(self, content: bytes, folder: Path) -> bool:
        """True where the reader takes this content, False where it refuses it with a message."""
        path = folder / self.file
        path.write_bytes(content)
        try:
            self.read(path)
        except DiagnosticError as error:
            text = str(error)
            text.encode(errors="backslashreplace")
            odd = {each for each in text if not each.isprintable()} - {"\n", "\t"}
            assert not odd, f"a message has {sorted(odd)}"
            return False
        return True


def _soc(path: Path) -> object:
    from target_arch.soc import read_soc

    return str(read_soc(path))


def _costs(path: Path) -> object:
    from target_arch.soc.files.cost_file import read_costs

    return read_costs(path, _zynq())


def _zynq() -> Any:
    from target_arch.soc import read_soc

    if not _CHIP:
        _CHIP.append(read_soc("zynq_edge"))
    return _CHIP[0]


_CHIP: list[Any] = []


def _manifest(path: Path) -> object:
    from target_arch.api.views.manifest_text import report_text
    from target_arch.run.bundles.contents import claims_of
    from target_arch.run.bundles.manifest import inputs_of, read_manifest

    claims_of(path.parent)
    manifest = read_manifest(path.parent)
    inputs_of(manifest)
    return report_text(manifest)


def _tuning(path: Path) -> object:
    from target_arch.plan.tuning import read_tuning

    return read_tuning(path)


def _target(path: Path) -> object:
    from target_arch.cli.arguments.target_text import parsed
    from target_arch.cli.arguments.targets import built
    from target_arch.registry import PlugIns

    if not _FOUND:
        _FOUND.append(PlugIns.discover())
    words = path.read_bytes().replace(b"\0", b"").decode(errors="surrogateescape")
    return built(parsed([words]), _FOUND[0].backends)


_FOUND: list[Any] = []


def _array(path: Path) -> object:
    from target_arch.plan.manifest.model import TensorEntry
    from target_arch.run.execute.tensors import read_tensor

    return read_tensor(path, TensorEntry(name="x", dtype="int8", shape=(1, 8), bytes=8, buffer="x@sram"))


def _workload(path: Path) -> object:
    from target_arch.plan.workloads.workload_file import read_workload

    _beside(path)
    return str(read_workload(path))


def _space(path: Path) -> object:
    from target_arch.explore.space_file import read_space

    _beside(path)
    return str(read_space(path))


def _beside(path: Path) -> None:
    for name in ("kws.tflite", "vww.tflite"):
        (path.parent / name).touch()


def _arrays(path: Path) -> object:
    from target_arch.run.execute.tensors import read_archive

    return read_archive(path, "data is")


def _archive(path: Path) -> object:
    from target_arch.relax.readers.pytorch.pt2_archive import NoProgram, Unsafe, plain_archive

    try:
        return plain_archive(path.read_bytes())
    except (NoProgram, Unsafe) as error:
        raise DiagnosticError([]) from error


def _model(path: Path) -> object:
    from target_arch.relax.importer import import_model

    return str(import_model(path)[0])


def _program(path: Path) -> object:
    """A model of PyTorch, which looks through all of its operators for each namespace of each program, since
    another library may have come in between: no mutant brings one, and half of the time is spent there.
    """
    from torch._export import utils

    looks = "_collect_all_valid_cia_ops_for_namespace"
    if not hasattr(getattr(utils, looks), "cache_info"):
        setattr(utils, looks, cache(getattr(utils, looks)))
    return _model(path)


_EVERY = (
    Reader(name="soc", file="a.toml", seeds=corpus.soc_files, mutate=mutate.of_toml, read=_soc, sample=150),
    Reader(
        name="workload",
        file="a.toml",
        seeds=corpus.workload_files,
        mutate=mutate.of_toml,
        read=_workload,
        sample=200,
    ),
    Reader(
        name="space", file="a.toml", seeds=corpus.space_files, mutate=mutate.of_toml, read=_space, sample=100
    ),
    Reader(
        name="cost", file="a.json", seeds=corpus.cost_files, mutate=mutate.of_json, read=_costs, sample=500
    ),
    Reader(
        name="manifest",
        file="manifest.json",
        seeds=corpus.manifests,
        mutate=mutate.of_json,
        read=_manifest,
        sample=60,
    ),
    Reader(
        name="tuning",
        file="a.json",
        seeds=corpus.tuning_files,
        mutate=mutate.of_json,
        read=_tuning,
        sample=500,
    ),
    Reader(
        name="target", file="a.txt", seeds=corpus.targets, mutate=mutate.of_text, read=_target, sample=500
    ),
    Reader(
        name="npz", file="a.npz", seeds=corpus.archives, mutate=mutate.of_archive, read=_arrays, sample=300
    ),
    Reader(name="npy", file="a.npy", seeds=corpus.arrays, mutate=mutate.of_bytes, read=_array, sample=500),
    Reader(name="onnx", file="a.onnx", seeds=corpus.onnx_models, mutate=of_onnx, read=_model, sample=60),
    Reader(
        name="onnx-ml",
        file="a.onnx",
        seeds=corpus.classical_models,
        mutate=of_onnx,
        read=_model,
        sample=30,
    ),
    Reader(
        name="tflite",
        file="a.tflite",
        seeds=corpus.tflite_models,
        mutate=of_tflite,
        read=_model,
        sample=60,
    ),
    Reader(
        name="archive",
        file="a.pt2",
        seeds=corpus.exported_programs,
        mutate=mutate.of_archive,
        read=_archive,
        sample=100,
    ),
    Reader(
        name="pt2",
        file="a.pt2",
        seeds=corpus.exported_programs,
        mutate=mutate.of_archive,
        read=_program,
        sample=4,
    ),
)
READERS: Mapping[str, Reader] = {reader.name: reader for reader in _EVERY}
