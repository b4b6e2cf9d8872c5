"""The materials of a bundle, for those who must know: a bill of them, licences in files, and a trace.

`sbom.cdx.json` is CycloneDX 1.5 without times and random numbers. Its properties have the origin of all that
is generated: version of the tool, hash of the model as it was read, hash of the description of the chip.
`trace.json` leads from each operator to the functions that compute it, and to what tests them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from target_arch.emit.build.build_files import MAINS
from target_arch.emit.build.libraries import FOLDER, folder_of, libraries
from target_arch.emit.digests import digest
from target_arch.emit.model.inputs import EmitInputs, Member
from target_arch.emit.model.kernels import entry
from target_arch.plan.steps import Dispatch
from target_arch.soc import numbering

SBOM = "sbom.cdx.json"
TRACE = "trace.json"
RUNTIME_LICENCE = "Apache-2.0"
GENERATED_LICENCE = "LicenseRef-generated"
"""The NOTICE says what it is."""

_TAG = "SPDX-License-Identifier"
_C = (".c", ".h", ".cu", ".ld", ".S")
_HASHES = (".cmake", ".toml", ".txt", "Makefile")
_HASHES_BEHIND = (".yml", "Kconfig")


def tagged(path: str, text: str) -> str:
    """The text with its licence, where its format has comments and it does not say so itself."""
    if path.startswith(f"{FOLDER}/") or _TAG in text:
        return text
    line = f"{_TAG}: {licence_of(path)}"
    if path.endswith(".pdsc"):  # whose first line has to be first
        first, end, rest = text.partition("\n")
        return f"{first}{end}<!-- {line} -->\n{rest}"
    if path.endswith(_HASHES_BEHIND):
        return f"{text}# {line}\n"
    if path.endswith(".md"):
        return f"{text}\n<!-- {line} -->\n"
    return f"{_front(path, line)}{text}"


def _front(path: str, line: str) -> str:
    """The first line of a file; nothing where its format has no comments."""
    if path.endswith(_C):
        return f"/* {line} */\n"
    return f"# {line}\n" if path.endswith(_HASHES) else ""


def licence_of(path: str) -> str:
    """The SPDX identifier of a file of the bundle that is not a library's."""
    runtime = path.startswith(("runtime/", "include/target_arch/")) or path in MAINS
    return RUNTIME_LICENCE if runtime else GENERATED_LICENCE


def supply(inputs: EmitInputs, contents: Mapping[str, bytes]) -> dict[str, str]:
    """Path and text of the bill of materials, of all files that it is given, and of the trace."""
    models = {member.name: model_hash(member) for member in inputs.members}
    return {SBOM: _json(_sbom(inputs, contents, models)), TRACE: _json(_trace(inputs, models))}


def model_hash(member: Member) -> str:
    """SHA-256 of the model as it was read: its printed form, its operators with all attributes, and the bytes
    of its constants by name.
    """
    content = hashlib.sha256(str(member.model).encode())
    for operator in member.model.operators:
        content.update(f"{operator!r}\n".encode())
    for name in sorted(member.model.tensors):
        data = member.model.tensors[name].data
        if data is not None:
            content.update(f"\n{name} {len(data)}\n".encode())
            content.update(data)
    return content.hexdigest()


def soc_hash(inputs: EmitInputs) -> str:
    """SHA-256 of the description of the chip; the ABI hash is its first 64 bits."""
    return digest(numbering.canonical(inputs.soc).encode())


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def tool_version() -> str:
    """The version of target-arch, as it was installed."""
    try:
        return version("target-arch")
    except PackageNotFoundError:
        return "unknown"


def _sbom(
    inputs: EmitInputs, contents: Mapping[str, bytes], models: Mapping[str, str]
) -> Mapping[str, object]:
    """The bill of materials; `models` are the hashes of models by name."""
    tool = {
        "type": "application",
        "name": "target-arch",
        "version": tool_version(),
        **_licensed(RUNTIME_LICENCE),
    }
    runtime = {"type": "library", "name": "target-arch runtime", "version": tool_version()}
    networks = [
        {"type": "machine-learning-model", "bom-ref": f"model:{name}", "name": name}
        | {"hashes": [_sha256(value)]}
        for name, value in models.items()
    ]
    soc = {"type": "data", "bom-ref": f"soc:{inputs.soc.name}", "name": inputs.soc.name}
    carried = [
        {"type": "library", "bom-ref": f"library:{each.name}", "name": each.name}
        | ({"components": _files(contents, (f"{folder_of(each)}/",))} if each.carried else {})
        for each in libraries(inputs.kernels)
    ]
    origin = {
        "target_arch:model_sha256": ",".join(models.values()),
        "target_arch:soc_sha256": soc_hash(inputs),
        "target_arch:tool_version": tool_version(),
    }
    parts = ("runtime/", "include/target_arch/")
    generated = [path for path in contents if not path.startswith((*parts, f"{FOLDER}/"))]
    own: dict[str, object] = {"type": "library", "bom-ref": f"bundle:{inputs.stem}", "name": inputs.stem}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "tools": {"components": [tool]},
            "component": own | _licensed(GENERATED_LICENCE, by_name=True),
            "properties": [{"name": name, "value": value} for name, value in sorted(origin.items())],
        },
        "components": [
            runtime
            | {"bom-ref": "runtime", "components": _files(contents, parts), **_licensed(RUNTIME_LICENCE)},
            *carried,
            *networks,
            soc | {"hashes": [_sha256(soc_hash(inputs))]},
            *(_file(path, contents[path]) for path in sorted(generated)),
        ],
    }


def _licensed(name: str, *, by_name: bool = False) -> dict[str, object]:
    return {"licenses": [{"license": {"name" if by_name else "id": name}}]}


def _sha256(value: str) -> Mapping[str, str]:
    return {"alg": "SHA-256", "content": value}


def _files(contents: Mapping[str, bytes], starts: tuple[str, ...]) -> list[Mapping[str, object]]:
    return [_file(path, contents[path]) for path in sorted(contents) if path.startswith(starts)]


def _file(path: str, content: bytes) -> Mapping[str, object]:
    return {"type": "file", "bom-ref": f"file:{path}", "name": path, "hashes": [_sha256(digest(content))]}


def _trace(inputs: EmitInputs, models: Mapping[str, str]) -> Mapping[str, object]:
    return {
        "origin": {"tool": f"target-arch {tool_version()}", "soc_sha256": soc_hash(inputs)},
        "models": [
            {
                "name": member.name,
                "sha256": models[member.name],
                "operators": _operators(inputs, member),
                "test": None
                if member.self_test is None
                else {"program": "src/selftest.c", "reference": member.self_test.reference},
            }
            for member in inputs.members
        ],
    }


def _operators(inputs: EmitInputs, member: Member) -> Sequence[Mapping[str, object]]:
    """Every operator in the order of the partitions: where it is computed, by which functions and steps."""
    found = []
    for partition in member.lowered.graph.partitions:
        arch = inputs.soc.instance(partition.instance).arch.name
        driver = inputs.backends[arch].runtime.driver
        own = _own(_dispatches(member, partition.id), [operator.id for operator in partition.operators])
        for operator in partition.operators:
            names = dict.fromkeys(step.function for step in own[operator.id].values())
            found.append(
                {
                    "operator": operator.id,
                    "kind": str(operator.kind),
                    "instance": partition.instance,
                    "source": f"commands of {driver}" if driver else f"src/{inputs.stem}_{arch}_kernels.c",
                    "functions": [name if driver else entry(inputs, arch, name) for name in names],
                    "steps": list(own[operator.id]),
                }
            )
    return found


def _dispatches(member: Member, partition: str) -> Mapping[int, Dispatch]:
    """The dispatches of a partition, by the number of the step."""
    steps = enumerate(member.lowered.steps.steps)
    return {n: step for n, step in steps if isinstance(step, Dispatch) and step.partition == partition}


def _own(
    dispatches: Mapping[int, Dispatch], operators: Sequence[str]
) -> Mapping[str, Mapping[int, Dispatch]]:
    """Dispatches that compute each operator: its own, else those that name none, else all of them."""
    named: dict[str, dict[int, Dispatch]] = {operator: {} for operator in operators}
    unnamed: dict[int, Dispatch] = {}
    for number, step in dispatches.items():
        named.get(step.operator, unnamed)[number] = step
    return {operator: own or unnamed or dispatches for operator, own in named.items()}
