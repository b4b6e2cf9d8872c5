"""Archives of `torch.export.save`, reduced to what can be loaded without running code from the file.

`torch.export.load` of PyTorch 2.13 unpickles weights, constants and sample inputs that the archive marks so,
loads shared objects of AOTInductor, evaluates symbolic shapes with SymPy (which calls `eval`), looks up
functions by the names in the graph, writes names into Python source that it compiles, and later compiles
guards from their text. Here every member is checked: it must be one that an exported program of plain tensors
has. The result is the values of those members alone: PyTorch is given these (`pt2_program.py`) and never the
archive, which it might read in another way than the reader that checked.

Tests: `tests/relax/readers/pytorch/test_pt2_archive.py`.
"""

import ast
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

_MODEL = "models/model.json"
_WEIGHTS = "data/weights/model_weights_config.json"
_CONSTANTS = "data/constants/model_constants_config.json"
_SAMPLES = "data/sample_inputs/model.pt"
_NEEDED = (_MODEL, _WEIGHTS, _CONSTANTS, "archive_format", "archive_version")
_FACTS = {"archive_format": (b"pt2",), "archive_version": (b"0",), "byteorder": (b"little", b"")}
"""What members say of an archive that can be read here."""
_EMPTY: Mapping[str, Any] = {"metadata": {}, "guards_code": []}
"""Keys of nodes, modules and programs that are not needed: traces for people, and the source of guards."""
_NAME = re.compile(r"[A-Za-z0-9_./-]{0,500}")
_PAYLOAD = re.compile(r"weight_[0-9]{1,6}|tensor_[0-9]{1,6}")
_SYMBOL = re.compile(r"[a-z]{1,9}[0-9]{1,6}")
_EXPRESSION = re.compile(
    "Symbol|Integer|Add|Mul|Max|Min|Mod|PythonMod|ModularIndexing|FloorDiv|CeilDiv|CleanDiv|Equality|"
    "Unequality|LessThan|GreaterThan|StrictLessThan|StrictGreaterThan|Not|And|Or"
)
_LONGEST_EXPRESSION = 2000
_TARGET = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed)\.[A-Za-z0-9_]{1,80}\.[A-Za-z0-9_]{1,80}"
    r"|torch\.ops\.higher_order\.(wrap_with_set_grad_enabled|wrap_with_autocast)"
    r"|torch\.sym_(int|float|max|min|not|sum|ite)"
    r"|_operator\.(getitem|add|sub|mul|floordiv|truediv|mod|neg|pos|eq|ne|lt|le|gt|ge|and_|or_)"
)
_LIBRARY = re.compile(r"torch\.ops\.([A-Za-z_]\w{0,80})\.([A-Za-z_]\w{0,80})\.[A-Za-z0-9_]{1,80}", re.ASCII)
_BUILT_IN = ("aten", "prims", "quantized_decomposed", "higher_order")
"""Namespaces of operators that are PyTorch's own."""
_FILES = re.compile(r"torch\.ops\.aten\.(from_file|_?save.*|_?load.*)\..*")
_MOST_BYTES = 2**32
"""Of all members unpacked."""


class NoProgram(Exception):
    """The archive is damaged, or no exported program."""


class Unsafe(Exception):
    """Loading the archive would run code; the text says which part of it."""


@frozen
class _Members:
    contents: Mapping[str, bytes]

    def table(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads(self.contents[name])
        except (ValueError, RecursionError):
            raise NoProgram(f"`{name}` is no JSON") from None
        if not isinstance(found, dict):
            raise NoProgram(f"`{name}` is no table")
        return found


def _no_others(name: str) -> bool:
    return False


@frozen(kw_only=True, eq=False)
class PlainArchive:
    """The graph of an exported program, without guards, as the JSON of the archive has it; its tables of
    weights and constants, and the bytes of those by their files; the bytes of sample inputs, which are
    tensors and plain values, or none.
    """

    graph: Mapping[str, Any]
    weights: Mapping[str, Any]
    constants: Mapping[str, Any]
    weight_files: Mapping[str, bytes] = field(repr=False)
    constant_files: Mapping[str, bytes] = field(repr=False)
    samples: bytes = field(repr=False)


def plain_archive(data: bytes, others: Callable[[str], bool] = _no_others) -> PlainArchive:
    """The plain tensors and known operators of an archive. Beside PyTorch's own operators it may have
    those that `others` takes by name, as `acme::gain`. Needs PyTorch.

    Raises NoProgram, or Unsafe where something else is needed.
    """
    members = _members(data)
    weights, weight_files = _tensors(members, _WEIGHTS, "data/weights")
    constants, constant_files = _tensors(members, _CONSTANTS, "data/constants")
    graph = members.table(_MODEL)
    _check_functions(graph, others)
    return PlainArchive(
        graph=_plain(graph),
        weights=weights,
        constants=constants,
        weight_files=weight_files,
        constant_files=constant_files,
        samples=_plain_samples(members.contents.get(_SAMPLES, b"")),
    )


def _tensors(members: _Members, config: str, folder: str) -> tuple[Mapping[str, Any], dict[str, bytes]]:
    """A table of tensors, and their bytes by file."""
    table = members.table(config)
    _check_functions(table, _no_others)
    files = {}
    for payload in _payloads(table):
        path = f"{folder}/{payload}"
        if path not in members.contents:
            raise NoProgram(f"`{path}` is missing")
        files[payload] = members.contents[path]
    return _plain(table), files


def _plain_samples(pickled: bytes) -> bytes:
    """The sample inputs if they are tensors and plain values, else none: PyTorch would unpickle the rest."""
    import torch

    try:
        torch.load(io.BytesIO(pickled), weights_only=True)
    except Exception:
        return b""
    return pickled


def _members(data: bytes) -> _Members:
    """All files of the archive by their paths below its one folder."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > _MOST_BYTES:
                raise NoProgram(f"it unpacks to more than {_MOST_BYTES:,} B")
            found = {info.filename.partition("/")[2]: archive.read(info) for info in infos}
    except NoProgram:
        raise
    except Exception as error:  # of zipfile, and of the decompressors, which have no class in common
        raise NoProgram("the archive is cut off or damaged") from error
    if "serialized_exported_program.json" in {info.filename for info in infos}:
        raise NoProgram("an old version of PyTorch wrote it")
    for name in found:
        if name.startswith("data/aotinductor"):
            raise Unsafe("compiled code (`data/aotinductor`)")
        if re.fullmatch(r"data/(weights|constants)/[^/]*\.pt", name):
            raise Unsafe(f"pickled tensors (`{name}`)")
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise NoProgram(f"`{missing[0]}` is missing")
    for name, known in _FACTS.items():
        if found.get(name, b"").strip() not in known:
            raise NoProgram(f"`{name}` is one that is not known here")
    return _Members(found)


def _payloads(config: Mapping[str, Any]) -> Iterator[str]:
    """The files of the tensors in a table of weights or constants."""
    entries = config.get("config")
    if not isinstance(entries, dict):
        raise NoProgram("a table of tensors has no entries")
    for name, entry in entries.items():
        path = entry.get("path_name") if isinstance(entry, dict) else None
        if not isinstance(path, str):
            raise NoProgram(f"tensor `{name}` has no file")
        if entry.get("use_pickle") is not False:
            raise Unsafe(f"the pickled tensor `{name}`")
        if not _PAYLOAD.fullmatch(path):
            raise Unsafe(f"the object `{name}`, which is no tensor (`{path}`)")
        yield path


def _plain(value: Any, key: str = "") -> Any:
    """The value without metadata and guards. Raises Unsafe for anything in it that may become code."""
    if isinstance(value, dict):
        _check_table(value)
        for name in value:
            _check_name(name)
        owner = bool({"target", "signature", "graph_module"} & value.keys())
        return {
            name: _EMPTY[name] if owner and name in _EMPTY else _plain(value[name], name) for name in value
        }
    if isinstance(value, list):
        return [_plain(each, key) for each in value]
    if isinstance(value, str):
        _check_text(value, key)
    return value


def _check_functions(value: Any, others: Callable[[str], bool]) -> None:
    """Raise Unsafe for a function that is neither one of PyTorch's operators nor one that `others` takes."""
    if isinstance(value, list):
        for each in value:
            _check_functions(each, others)
    if not isinstance(value, dict):
        return
    if "target" in value and {"inputs", "outputs"} <= value.keys():
        target = value["target"]
        if not isinstance(target, str) or not (_is_own(target) or _is_of_others(target, others)):
            raise Unsafe(f"the function `{str(target)[:100]}`")
    for each in value.values():
        _check_functions(each, others)


def _is_own(target: str) -> bool:
    return _TARGET.fullmatch(target) is not None and _FILES.fullmatch(target) is None


def _is_of_others(target: str, others: Callable[[str], bool]) -> bool:
    operator = _LIBRARY.fullmatch(target)
    return operator is not None and operator[1] not in _BUILT_IN and others("::".join(operator.groups()))


def _check_table(table: Mapping[str, Any]) -> None:
    for key in ("as_custom_obj", "as_opaque_obj", "as_operator"):
        if table.get(key) is not None:
            raise Unsafe("an object that is no tensor")


def _check_text(text: str, key: str) -> None:
    """Text by its key. Names become Python source when PyTorch compiles the graph."""
    if key == "expr_str":
        if not _is_expression(text):
            raise Unsafe(f"the expression `{text[:100]}`")
    elif key in ("in_spec", "out_spec"):
        _check_specification(text)
    elif key not in ("target", "as_string", "as_strings", "torch_version"):
        _check_name(text)


def _is_expression(text: str) -> bool:
    """Whether it is a symbol, a number, or a known function of such, as `sympy.srepr` writes them."""
    try:
        tree = ast.parse(text if len(text) < _LONGEST_EXPRESSION else "()", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_is_part(node) for node in ast.walk(tree))


def _is_part(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=called):
            return isinstance(called, ast.Name)
        case ast.Name(id=name):
            return _EXPRESSION.fullmatch(name) is not None or _SYMBOL.fullmatch(name) is not None
        case ast.Constant(value=str(text)):
            return _SYMBOL.fullmatch(text) is not None
        case ast.Constant(value=value):
            return isinstance(value, int) and abs(value) < 2**63
    return isinstance(node, ast.Expression | ast.keyword | ast.Load | ast.UnaryOp | ast.USub)


def _check_specification(text: str) -> None:
    """The nesting of inputs or outputs: JSON whose texts are names, or JSON again."""
    if _NAME.fullmatch(text):
        return
    try:
        rest = [json.loads(text)]
    except (ValueError, RecursionError):
        raise Unsafe(f"the specification `{text[:100]}`") from None
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += [*value, *value.values()]
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, str):
            _check_specification(value)


def _check_name(text: str) -> None:
    if not _NAME.fullmatch(text):
        raise Unsafe(f"the name `{text[:100]}`")
