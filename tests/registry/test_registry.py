"""One description, and everything a person asks of a target_arch by its name."""

import pytest
from attrs import evolve

from target_arch.registry import PlugInError, Registry, UnknownNameError
from target_arch.soc import DLDevice, read_soc, shipped_socs
from tests.registry.test_backends import fakes, make


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry.from_soc(read_soc("zynq_edge"), read_soc("quad_conv"), backends=fakes())


def test_a_target_arch_by_name(registry: Registry) -> None:
    dsp = registry["zynq_edge"]["dsp_cpu"]
    assert dsp.dl_device == DLDevice(type="kDLCPU", id=1)
    assert dsp.codegen == "c"
    assert dsp.load.process == "firmware"
    assert dsp.memory_scopes == ("global.dsp_tcm",)
    assert str(dsp) == "dsp_cpu (kDLCPU:1, c by c, firmware)\n  scopes global.dsp_tcm\n"


def test_scopes_name_memories_and_local_buffers(registry: Registry) -> None:
    assert registry["zynq_edge"]["accelerator"].memory_scopes == (
        "global.npu_inp",
        "global.npu_wgt",
        "global.npu_acc",
        "local.acc_buffer",
        "local.inp_buffer",
        "local.wgt_buffer",
    )
    assert registry["zynq_edge"]["host_cpu"].memory_scopes == ("global.sram", "global.ddr")


def test_copies_say_whether_somebody_waits(registry: Registry) -> None:
    soc = registry["zynq_edge"]
    copies = soc["host_cpu"].copies_to("dsp_tcm")
    assert [(copy.source, copy.engine, copy.is_async) for copy in copies] == [
        ("ddr", "ps_dma", True),
        ("sram", "ps_dma", True),
    ]
    assert soc["dsp_cpu"].copies_from("sram") == soc["host_cpu"].copies_to("dsp_tcm")[1:]
    assert [copy.is_async for copy in soc["host_cpu"].copies_to("ddr")] == [False]
    assert soc["dsp_cpu"].copies_to("conv_bram") == ()
    with pytest.raises(UnknownNameError, match="there is no memory `srma`: did you mean `sram`"):
        soc["dsp_cpu"].copies_to("srma")


def test_a_device_finds_its_target_arch_and_back(registry: Registry) -> None:
    for soc in registry.values():
        for target in soc.values():
            assert soc.of_device(target.dl_device) is target
            assert soc.of_device((target.dl_device.code, target.dl_device.id)) is target
    with pytest.raises(UnknownNameError, match="there is no device `kDLCPU:9`"):
        registry["zynq_edge"].of_device(DLDevice(type="kDLCPU", id=9))


def test_instances_have_numbers_and_memories_of_their_own(registry: Registry) -> None:
    engines = registry["quad_conv"].instances_of("fpga_conv2d")
    assert [(engine.name, str(engine.dl_device), engine.memories) for engine in engines] == [
        (f"fpga_conv2d[{index}]", f"kDLExtDev:{index}", (f"conv_bram_{index}",)) for index in range(4)
    ]
    assert registry["quad_conv"]["fpga_conv2d"] is engines[0]
    assert registry["quad_conv"]["fpga_conv2d[3]"] is engines[3]
    with pytest.raises(UnknownNameError):
        registry["quad_conv"].instances_of("dsp_cpu")


def test_unknown_names_say_what_there_is(registry: Registry) -> None:
    with pytest.raises(UnknownNameError, match="there is no SoC `zynq`: did you mean `zynq_edge`"):
        registry["zynq"]
    with pytest.raises(KeyError, match="dsp"):
        registry["zynq_edge"]["dsp"]


def test_a_backend_can_be_added_in_python() -> None:
    registry = Registry(fakes())
    soc = read_soc("mcu_m55")
    other = evolve(soc, archs=tuple(evolve(arch, backend="mine") for arch in soc.archs))
    with pytest.raises(PlugInError, match="backend `mine` is not installed"):
        registry.add_soc(other)
    registry.add(make("mine"))
    assert registry.add_soc(other)["host_cpu"].backend.name == "mine"


def test_two_socs_of_one_name_must_be_one() -> None:
    registry = Registry(fakes())
    soc = read_soc("mcu_m55")
    registry.add_soc(soc)
    registry.add_soc(soc)
    with pytest.raises(PlugInError, match="a different SoC `mcu_m55` is registered already"):
        registry.add_soc(evolve(soc, lowering="program"))


@pytest.mark.parametrize("name", shipped_socs())
def test_every_shipped_soc_has_its_backends(name: str) -> None:
    targets = Registry.from_soc(read_soc(name))[name]
    assert {target.instance.arch.name for target in targets.values()} == {
        arch.name for arch in targets.soc.archs
    }


@pytest.mark.parametrize("name", shipped_socs())
def test_vdevices_name_the_scopes(name: str) -> None:
    for target in Registry.from_soc(read_soc(name))[name].values():
        scopes = [vdevice.memory_scope for vdevice in target.vdevices()]
        assert scopes == [f"global.{memory}" for memory in target.instance.memory]
        assert set(scopes) <= set(target.memory_scopes)
        assert target.tvm_target.kind.name == target.tvm_kind


def test_tags_of_tvm_say_what_schedules_ask_for() -> None:
    """Of every instance that says it: memories, instructions, bits of vectors, clock."""
    import tvm

    assert Registry.from_soc(read_soc("mcu_m55"))["mcu_m55"].register_tvm_targets() == ("mcu_m55/host_cpu",)
    keys = [str(key) for key in tvm.target.Target("mcu_m55/host_cpu").keys]
    assert keys == [
        *("host_cpu", "global.tcm", "global.sram", "global.flash", "global.itcm"),
        *("isa-armv8.1-m", "vector-bits-128", "clock-200000000Hz", "cpu"),
    ]
