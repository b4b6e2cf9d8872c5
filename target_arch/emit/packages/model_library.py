"""A bundle of one model in the shape of TVM's Model Library Format, version 7, so that its readers read ours.

`codegen/host` has C and headers, `metadata.json` inputs, outputs and bytes; the entry is `tvmgen_default_run`
with a struct of inputs and one of outputs; its first call brings the system up. There are no parameters and
no text of Relay. Format: "Model Library Format" in TVM's documentation, 0.14 and before.
"""

import json
from collections.abc import Mapping, Sequence

from target_arch.diagnostics import refusal
from target_arch.emit.packages.carried import CarriedBundle, functions, place
from target_arch.emit.text.emitter import Emitter
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.model import ModelEntry, TensorEntry
from target_arch.plan.memory import Arena

_VERSION = 7
_MODULE = "default"
_INCLUDE, _SOURCE = "codegen/host/include", "codegen/host/src"
_NEVER = "1970-01-01 00:00:00Z"
_CPU = 1
"""`kDLCPU`."""

Tensors = Mapping[str, TensorEntry]


def model_library(files: Mapping[str, bytes], carried: CarriedBundle, manifest: Manifest) -> dict[str, bytes]:
    """Path in the archive → content, for the files of a bundle. DiagnosticError for several models."""
    model, *others = manifest.models
    if others:
        text = f"has {1 + len(others)} models, and the format has one"
        raise refusal("one-model", f"bundle {carried.name}", text, "compile them one by one")
    placed: dict[str, bytes] = {}
    for path, content in files.items():
        if path in carried.sources:
            placed[f"{_SOURCE}/{path.replace('/', '_')}"] = _flat(path, content)
        elif path.endswith(".h"):
            place(placed, path, content, carried, _INCLUDE)
        elif path.startswith("weights/"):
            placed[f"{_INCLUDE}/{path.removeprefix('weights/')}"] = content
        elif path in ("LICENSE", "NOTICE", "manifest.json"):
            placed[path] = content
    inputs, outputs = _tensors(model.inputs), _tensors(model.outputs)
    entry = _Entry(carried, inputs, outputs)
    placed[f"{_INCLUDE}/tvmgen_{_MODULE}.h"] = entry.header().encode()
    placed[f"{_SOURCE}/tvmgen_{_MODULE}.c"] = entry.source().encode()
    placed["metadata.json"] = _metadata(carried, model, inputs, outputs).encode()
    return dict(sorted(placed.items()))


def _flat(path: str, content: bytes) -> bytes:
    """A source that was moved: headers beside it are named by their path below the folder of all headers."""
    inner = path.partition("/")[2] if path.startswith(("runtime/", "src/")) else path
    folder = inner.rpartition("/")[0]
    if not folder:
        return content
    lines = (_moved(line, folder) for line in content.decode().split("\n"))
    return "\n".join(lines).encode()


def _moved(line: str, folder: str) -> str:
    above = folder.rpartition("/")[0]
    if line.startswith('#include "../'):
        return line.replace('"../', f'"{above}/' if above else '"')
    beside = line.startswith('#include "') and "/" not in line
    return line.replace('"', f'"{folder}/', 1) if beside else line


def _tensors(tensors: Sequence[TensorEntry]) -> Tensors:
    return {tensor.name: tensor for tensor in tensors}


class _Entry:
    """The C that calls a bundle as TVM's C interface does."""

    def __init__(self, carried: CarriedBundle, inputs: Tensors, outputs: Tensors) -> None:
        self._carried = carried
        self._sides = {"input": inputs, "output": outputs}
        self._functions = {kind: functions(carried.stem, kind, held) for kind, held in self._sides.items()}

    def header(self) -> str:
        out = Emitter()
        guard = f"TVMGEN_{_MODULE.upper()}_H_"
        out.lines((f"#ifndef {guard}", f"#define {guard}", "#include <stdint.h>", ""))
        out.lines(("#ifdef __cplusplus", 'extern "C" {', "#endif", ""))
        for kind, found in self._functions.items():
            out.line(f"struct tvmgen_{_MODULE}_{kind}s {{")
            with out.indent():
                out.lines(f"void *{name};" for name in found)
            out.lines(("};", ""))
        out.line(
            "/* 0, or a status of the runtime (target_arch/abi.h). The first call brings the system up. */"
        )
        out.lines((f"{_signature()};", "", "#ifdef __cplusplus", "}", "#endif", "#endif"))
        return out.text()

    def source(self) -> str:
        name, out = self._carried.name, Emitter()
        out.lines(("#include <string.h>", "", f'#include "tvmgen_{_MODULE}.h"', f'#include "{name}.h"', ""))
        out.lines((_signature(), "{"))
        with out.indent():
            out.lines(("static int up;", "ta_status status = TA_OK;", "if (!up)"))
            with out.indent():
                out.line(f"status = {name}_init(&ta_port_{self._carried.port});")
            out.lines(("if (status != TA_OK)", "    return (int32_t)status;", "up = 1;"))
            out.lines(self._lent() if self._carried.lent else self._copied())
        out.line("}")
        return out.text()

    def _lent(self) -> list[str]:
        """The run on the memory of the caller."""
        stem = self._carried.stem
        sides = self._functions.items()
        members = [f"    {kind}s->{name}," for kind, found in sides for name in found]
        return [
            "{",
            f"    const {stem}_io io = {{",
            *(f"    {member}" for member in members),
            "    };",
            f"    return (int32_t){stem}_run(&io);",
            "}",
        ]

    def _copied(self) -> list[str]:
        """The run between copies to the arenas and from there."""
        return [
            *self._copy("input", "(void)memcpy({function}(), inputs->{name}, {bytes}u);"),
            f"status = {self._carried.stem}_run();",
            "if (status != TA_OK)",
            "    return (int32_t)status;",
            *self._copy("output", "(void)memcpy(outputs->{name}, {function}(), {bytes}u);"),
            "return 0;",
        ]

    def _copy(self, kind: str, line: str) -> list[str]:
        sizes = [tensor.bytes for tensor in self._sides[kind].values()]
        found = self._functions[kind].items()
        return [
            line.format(name=name, function=function, bytes=size)
            for (name, function), size in zip(found, sizes, strict=True)
        ]


def _signature() -> str:
    return (
        f"int32_t tvmgen_{_MODULE}_run(struct tvmgen_{_MODULE}_inputs *inputs, "
        f"struct tvmgen_{_MODULE}_outputs *outputs)"
    )


def _metadata(carried: CarriedBundle, model: ModelEntry, inputs: Tensors, outputs: Tensors) -> str:
    peaks = {Arena.named(name, pool.memory): pool.peak for name, pool in model.pools.items()}
    main = {
        "device": _CPU,
        "workspace_size_bytes": sum(
            peak for arena, peak in peaks.items() if not (arena.constant or arena.caller)
        ),
        "constants_size_bytes": sum(peak for arena, peak in peaks.items() if arena.constant),
        "io_size_bytes": sum(tensor.bytes for tensor in (*inputs.values(), *outputs.values())),
        "inputs": _sizes(inputs),
        "outputs": _sizes(outputs),
    }
    facts = {
        "model_name": carried.stem,
        "export_datetime": _NEVER,
        "memory": {"functions": {"main": [main], "operator_functions": []}},
        "target": ["c"],
        "executors": ["aot"],
        "style": "full-model",
    }
    return json.dumps({"modules": {_MODULE: facts}, "version": _VERSION}, indent=2, sort_keys=True) + "\n"


def _sizes(tensors: Tensors) -> dict[str, dict[str, object]]:
    return {name: {"dtype": tensor.dtype, "size": tensor.bytes} for name, tensor in tensors.items()}
