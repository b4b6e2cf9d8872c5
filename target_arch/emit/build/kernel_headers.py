"""The headers of `runtime_c/kernels` that the kernels of a bundle include, directly or through another."""

import re

from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.kernels import CARRIED
from target_arch.resources import runtime_c

_INCLUDE = re.compile(rf'^#include "({re.escape(CARRIED)}[^"]+)"', re.MULTILINE)


def kernel_headers(inputs: EmitInputs) -> dict[str, str]:
    """Path below `runtime/` → text. FileNotFoundError for a header that the runtime lacks."""
    found: dict[str, str] = {}
    left = [
        header
        for kernel in inputs.kernels.values()
        for function in kernel.functions
        for header in function.headers
        if header.startswith(CARRIED)
    ]
    while left:
        header = left.pop()
        if header not in found:
            found[header] = (runtime_c() / header).read_text(encoding="utf-8")
            left += _INCLUDE.findall(found[header])
    return found
