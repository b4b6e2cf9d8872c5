"""The identity of the code that computes an operator: a hash of its text, so that a measurement can say what
it measured.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache

from target_arch.plan.kernels import Call, CFunction, Kernel
from target_arch.resources import runtime_c

_DIGITS = 12
_NUMBER = re.compile(r"\b\d+\w*")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def code_hashes(kernel: Kernel, device: Mapping[str, str]) -> dict[str, str]:
    """By the operator of a call, the hash of its function, but for numbers, with the headers of kernels that
    this includes, and of the sources of a library; of a command of a device, that of the texts in `device`,
    its driver and simulator.
    """
    functions = {function.name: function for function in kernel.functions}
    carried = "".join(library.texts[path] for library in kernel.libraries for path in sorted(library.texts))
    commands = _hash(*(text for _, text in sorted(device.items())))
    found: dict[str, list[str]] = {}
    for call in (action for action in kernel.actions if isinstance(action, Call)):
        function = functions.get(call.function)
        own = commands if function is None else _hash(*_texts(function), carried)
        found.setdefault(call.operator, []).append(own)
    return {operator: _hash(*sorted(set(hashes))) for operator, hashes in found.items()}


def _texts(function: CFunction) -> Iterator[str]:
    # Numbers are of one operator; sizes are in its signature, and the rest does not change its time.
    yield _NUMBER.sub("0", function.text.replace(function.name, "function"))
    yield from _with_includes(tuple(sorted(header for header in function.headers if "/" in header)))


@cache
def _with_includes(headers: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of headers below `runtime_c`, and of those that they include, each once."""
    seen: dict[str, str] = {}
    waiting = list(headers)
    while waiting:
        name = waiting.pop()
        file = runtime_c() / name
        if name in seen or not file.is_file():
            continue
        seen[name] = file.read_text(encoding="utf-8")
        below = name.rpartition("/")[0]
        waiting += [path if "/" in path else f"{below}/{path}" for path in _INCLUDE.findall(seen[name])]
    return tuple(seen[name] for name in sorted(seen))


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:_DIGITS]
