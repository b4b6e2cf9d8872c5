"""Exported programs, made of what `pt2_archive.py` checked. Imports PyTorch.

`torch.export.load` looks the types of a record's fields up for each record of the graph, which takes longer
than all else it does; here once for each type of record.

Tests: `tests/relax/readers/pytorch/test_pt2_program.py`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, ForwardRef, get_args, get_origin, get_type_hints

import torch
from torch._export.serde import schema
from torch._export.serde.serialize import ExportedProgramDeserializer, deserialize_scalar_type
from torch._export.serde.union import _Union as OneOf

from target_arch.relax.readers.pytorch.pt2_archive import PlainArchive

_QUANTIZED = "torch.ops.quantized_decomposed."
"""Operators that PyTorch knows only after a module of its own is imported."""


def loaded(archive: PlainArchive) -> Any:
    """The program in an archive. Raises whatever PyTorch does, and others where a record is none."""
    graph = record(schema.ExportedProgram, archive.graph)
    nodes = graph.graph_module.graph.nodes
    if any(node.target.startswith(_QUANTIZED) for node in nodes):
        pass
    return ExportedProgramDeserializer().deserialize(
        graph,
        _tensors(archive.weights, archive.weight_files),
        _tensors(archive.constants, archive.constant_files),
        archive.samples,
    )


def record(kind: Any, data: Any) -> Any:
    """A value of a type of PyTorch's schema, of its JSON; keys that the type does not have are left out, as
    a later PyTorch may write them. Raises ValueError where it is none.
    """
    return _reader(kind)(data)


_Reader = Callable[[Any], Any]


@cache
def _reader(kind: Any) -> _Reader:
    """Return the function that reads the JSON of a type."""
    name = kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind
    if isinstance(name, str):
        return _reader(getattr(schema, name))
    if get_origin(kind) is not None:
        return _of_parts(get_origin(kind), [each for each in get_args(kind) if each is not type(None)])
    if isinstance(kind, type) and issubclass(kind, OneOf):
        return _one_of(kind)
    if dataclasses.is_dataclass(kind):
        return _fields(kind)
    return float if kind is float else _as_it_is


def _of_parts(origin: Any, parts: list[Any]) -> _Reader:
    if origin is list:
        return _list(_reader(parts[0]))
    if origin is dict:
        return _table(_reader(parts[1]))
    read = _reader(parts[0])
    return read if origin is Annotated else _optional(read)


def _as_it_is(data: Any) -> Any:
    return data


def _optional(read: _Reader) -> _Reader:
    return lambda data: None if data is None else read(data)


def _list(read: _Reader) -> _Reader:
    return lambda data: [read(each) for each in _checked(list, data)]


def _table(read: _Reader) -> _Reader:
    return lambda data: {name: read(each) for name, each in _checked(dict, data).items()}


def _one_of(kind: Any) -> _Reader:
    """A table with one key, which says what kind its value is of."""
    types = get_type_hints(kind, globalns=vars(schema))

    def read(data: Any) -> Any:
        ((name, value),) = _checked(dict, data).items()
        if name not in types:
            raise ValueError(f"`{name}` is none of {kind.__name__}")
        return kind.create(**{name: _reader(types[name])(value)})

    return read


def _fields(kind: Any) -> _Reader:
    types = get_type_hints(kind, globalns=vars(schema))
    names = [each.name for each in dataclasses.fields(kind)]

    def read(data: Any) -> Any:
        table = _checked(dict, data)
        return kind(**{name: _reader(types[name])(table[name]) for name in names if name in table})

    return read


def _checked(kind: type, data: Any) -> Any:
    if not isinstance(data, kind):
        raise ValueError(f"{str(data)[:100]} is no {kind.__name__}")
    return data


def _tensors(table: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """The tensors of a table of weights or constants; those of one file share its memory."""
    entries = {
        name: record(schema.PayloadMeta, entry) for name, entry in _checked(dict, table["config"]).items()
    }
    flat: dict[str, Any] = {}
    for entry in entries.values():
        if entry.path_name not in flat:
            flat[entry.path_name] = _flat(entry.tensor_meta, files[entry.path_name])
    return {name: _tensor(entry, flat[entry.path_name]) for name, entry in entries.items()}


def _flat(facts: Any, content: bytes) -> Any:
    kind = deserialize_scalar_type(facts.dtype)
    if not content:
        return torch.zeros(0, dtype=kind, device=facts.device.type)
    # A copy, as programs may write into their tensors.
    return torch.frombuffer(bytearray(content), dtype=kind).to(facts.device.type)


def _tensor(entry: Any, flat: Any) -> Any:
    facts = entry.tensor_meta
    sizes, strides = [each.as_int for each in facts.sizes], [each.as_int for each in facts.strides]
    seen = torch.as_strided(flat, sizes, strides, facts.storage_offset.as_int)
    return torch.nn.Parameter(seen, requires_grad=facts.requires_grad) if entry.is_param else seen
