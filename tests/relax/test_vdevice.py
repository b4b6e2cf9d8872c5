"""Instances as TVM sees them."""

import pytest

from target_arch.relax.vdevice import tvm_target, vdevices
from target_arch.soc.model import DLDevice, Instance, TargetArch


def test_one_vdevice_per_memory_each_with_its_own_scope() -> None:
    arch = TargetArch(name="dsp", backend="c", device=DLDevice(type="kDLCPU", id=1), memory=("tcm", "ddr"))
    instance = Instance(arch=arch, index=0, device=arch.device, memory=arch.memory, buffers={})
    found = vdevices(instance, "c")
    assert [(str(device.memory_scope), int(device.vdevice_id)) for device in found] == [
        ("global.tcm", 1),
        ("global.ddr", 1),
    ]
    assert {str(device.target.kind.name) for device in found} == {"c"}


def test_an_unknown_target_kind() -> None:
    with pytest.raises(ValueError, match="TVM has no target kind `wobble`"):
        tvm_target("wobble")
