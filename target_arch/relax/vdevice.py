"""An instance of a target_arch as TVM sees it: a Target, and one VDevice for each of its memories.

Every memory has a scope of its own (`global.<memory>`): TVM's planner takes two VDevices of one scope for one
memory.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import tvm
from tvm.relax import VDevice
from tvm.target import Target

from target_arch.soc.model import Instance


@cache
def tvm_target(kind: str) -> Any:
    """The TVM target of a kind such as `c`, `llvm`, `cuda` or `ext_dev`, with TVM's defaults.

    ValueError for a kind that TVM does not know.
    """
    if kind not in Target.list_kinds():
        raise ValueError(f"TVM has no target kind `{kind}`")
    return Target(kind)


def register_tag(tag: str, kind: str, keys: Sequence[str]) -> str:
    """Register a target of that kind, with these keys before its own, as a tag of TVM. The tag."""
    own = [str(key) for key in tvm_target(kind).keys]
    tvm.target.register_tag(tag, {"kind": kind, "keys": [*keys, *own]}, override=True)
    return tag


def memory_scope(memory: str) -> str:
    """The name by which TVM code refers to a memory of the SoC."""
    return f"global.{memory}"


def vdevices(instance: Instance, target_kind: str) -> list[Any]:
    """One VDevice per memory of the instance, in its order of preference, with the instance's DLDevice id."""
    target = tvm_target(target_kind)
    return [VDevice(target, instance.device.id, memory_scope(memory)) for memory in instance.memory]
