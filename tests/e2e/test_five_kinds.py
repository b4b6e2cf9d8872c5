"""Five kinds on one SoC and one model: conv2d engine, GEMM accelerator, VTA-class engine, C library, plain C.

`zynq_edge`, whose DSP has the C library, with the VTA-class engine of `vta_edge` beside the others. Two
opposite partitioning orders are compiled with work for all five. Slow: all 120 orders, placed as the costs
have it; each placement that differs is compiled, run and compared.
"""

from itertools import permutations
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.pipeline import CompileRequest, compile_model, partition_model
from target_arch.run import verify, write_bundle
from target_arch.soc import SoC, read_soc
from target_arch.soc.model import CopyPath

KINDS = {
    "fpga_conv2d": "conv2d_engine",
    "accelerator": "gemm_npu",
    "tensor": "gemm_vta",
    "dsp_cpu": "cmsis_nn",
    "host_cpu": "c",
}
SPREAD = {
    "conv2d_0": "fpga_conv2d",
    "conv2d_2": "tensor",
    "conv2d_4": "accelerator",
    "depthwise_conv2d_1": "dsp_cpu",
    "avg_pool2d_9": "dsp_cpu",
    "softmax_11": "host_cpu",
}
ORDERS = tuple(permutations(KINDS))


def soc() -> SoC:
    """The two SoCs as one; the VTA's DRAM is reached from the host's by its CPU."""
    edge, vta = read_soc("zynq_edge"), read_soc("vta_edge")
    arch = evolve(vta.arch("tensor"), device=evolve(vta.arch("tensor").device, id=9))
    archs = tuple(
        evolve(each, backend="cmsis_nn", options={"fallback": False}) if each.name == "dsp_cpu" else each
        for each in edge.archs
    )
    shared = evolve(vta.memory("shared"), base=0x7000_0000)
    own = (shared, *(memory for memory in vta.memories if memory.name.startswith("vta_")))
    ways = tuple(
        CopyPath(source=source, target=target, bandwidth=600e6, setup=2e-7)
        for source, target in (("ddr", "shared"), ("shared", "ddr"), ("sram", "shared"), ("shared", "sram"))
    )
    return evolve(
        edge,
        name="five_kinds",
        memories=(*edge.memories, *own),
        copies=(*edge.copies, *ways),
        archs=(*archs, arch),
        partitioning=tuple(KINDS),
    )


def equal(request: CompileRequest, folder: Path) -> set[str]:
    """The backends at work in a bundle that computes every bit as the reference does."""
    made, model = compile_model(request), request.model_path
    write_bundle(made.bundle, folder)
    found = verify(model, folder, count=3)
    assert found.equal == found.outputs == 3, f"{request.order}\n{found}"
    names = {made.request.soc.instance(each.instance).arch.name for each in made.graph.partitions}
    return {KINDS[name] for name in names}


@pytest.mark.parametrize("order", [ORDERS[0], ORDERS[-1]], ids="-".join)
def test_five_kinds_at_once(shared: Path, tmp_path: Path, order: tuple[str, ...]) -> None:
    model = shared / "models" / "kws_int8.tflite"
    request = CompileRequest(model_path=model, soc=soc(), order=order, require=SPREAD)
    assert equal(request, tmp_path / "bundle") == set(KINDS.values())


@pytest.mark.long
def test_every_order(shared: Path, tmp_path: Path) -> None:
    placements = {}
    for order in ORDERS:
        request = CompileRequest(model_path=shared / "models" / "kws_int8.tflite", soc=soc(), order=order)
        graph = partition_model(request)
        placed = tuple((each.id, each.instance, len(each.operators)) for each in graph.partitions)
        placements.setdefault(placed, request)
    for number, request in enumerate(placements.values()):
        equal(request, tmp_path / f"bundle{number}")
