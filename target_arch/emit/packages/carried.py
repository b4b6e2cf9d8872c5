"""The facts about a bundle on disk that other builds need, read from its own list."""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from attrs import frozen

from target_arch.diagnostics import refusal
from target_arch.emit.programs.buffers import lent_array, lent_value
from target_arch.emit.text.literals import c_type
from target_arch.emit.text.names import header_stem, identifiers
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import ModelEntry
from target_arch.plan.memory import BufferKind, IoOwner

_OWN = ("include", "runtime", "src")


@frozen(kw_only=True)
class CarriedBundle:
    """A bundle's name in C, its models in words, its port, how the C names of its first model begin, the C
    lines of the memory that a program lends this model (none where inputs and outputs are in arenas), the
    bundle's C files, and the folders that are searched for headers.
    """

    name: str
    version: str
    about: str
    port: str
    stem: str
    lent: tuple[str, ...]
    sources: tuple[str, ...]
    headers: tuple[str, ...]


def carried_by(files: Mapping[str, bytes], manifest: Manifest) -> CarriedBundle:
    """The facts about the bundle with these files and this manifest."""
    facts = json.loads(files["library.json"])
    build, name = facts["build"], facts["name"]
    private = tuple(flag.removeprefix("-I ") for flag in build["flags"])
    first = manifest.models[0]
    stem = header_stem(first.name)
    return CarriedBundle(
        name=name,
        version=facts["version"],
        about=facts["description"],
        port=manifest.port,
        stem=stem,
        lent=_lent(stem, first),
        sources=tuple(each[2:-1] for each in build["srcFilter"][1:]),
        headers=(build["includeDir"], *private),
    )


def _lent(stem: str, model: ModelEntry) -> tuple[str, ...]:
    if model.io is not IoOwner.CALLER:
        return ()
    arrays: dict[str, str] = {}
    for kind, tensors in ((BufferKind.INPUT, model.inputs), (BufferKind.OUTPUT, model.outputs)):
        names = functions(stem, kind, {tensor.name: tensor for tensor in tensors}).values()
        arrays |= {name: c_type(tensor.dtype) for tensor, name in zip(tensors, names, strict=True)}
    lines = (line for name, of in arrays.items() for line in lent_array(of, name))
    return *lines, *lent_value(stem, list(arrays))


def place(placed: dict[str, bytes], path: str, content: bytes, carried: CarriedBundle, folder: str) -> None:
    """Add a source or header of a bundle, where one folder is searched for all headers. DiagnosticError where
    another file has the path.
    """
    for each in _places(path, carried, folder):
        if placed.setdefault(each, content) != content:
            raise refusal("file-clash", each, "two headers of the bundle have this path")


def _places(path: str, carried: CarriedBundle, folder: str) -> list[str]:
    top, _, rest = path.partition("/")
    if top in _OWN:
        return [f"{folder}/{rest}"]
    searched = [each for each in carried.headers if PurePosixPath(path).is_relative_to(each)]
    return [f"{folder}/{path}", *(f"{folder}/{PurePosixPath(path).relative_to(each)}" for each in searched)]


def functions(stem: str, kind: str, tensors: Mapping[str, Any]) -> dict[str, str]:
    """The function that gives each input or output of a model, by the name of the tensor in C."""
    return {name: f"{stem}_{kind}_{name}" for name in identifiers(tensors).values()}
