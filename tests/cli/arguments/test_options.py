"""Every option of the API has a row on the command line, and a field of the request."""

from pathlib import Path

from attrs import fields_dict

from target_arch.api.options import CompileOptions, requested
from target_arch.cli.arguments.options import BUNDLE, MODEL, PLAN, compile_options
from target_arch.cli.arguments.parser import parser
from target_arch.cli.arguments.targets import Selection
from target_arch.pipeline import CompileRequest
from target_arch.plan.goal import Goal
from target_arch.registry import PlugIns
from target_arch.soc import read_soc

BESIDE = {"targets", "plug_ins", "backend_dirs", "passes"}
"""Read by `configured`, since the SoC follows from them."""


def test_every_option_has_one_row() -> None:
    names = [option.name for option in (*MODEL, *PLAN, *BUNDLE) if option.name]
    assert sorted(names) == sorted(CompileOptions.__annotations__.keys() - BESIDE)


def test_arguments_become_the_fields_of_a_request() -> None:
    soc, plug_ins = read_soc("zynq_edge"), PlugIns.discover(())
    chosen = Selection(soc=soc, plug_ins=plug_ins, targets=("dsp_cpu",))
    words = (
        "partition m.onnx --soc zynq_edge --mode default --memory ddr=1MiB --partitioning-order dsp_cpu "
        "--lowering-order s-tir=program --require conv2d=dsp_cpu --prefer dense= --forbid relu=dsp_cpu "
        "--forbid relu=host_cpu --state a=b --exact --optimize size --input-shape x=1x2 --batch 3 "
        "--input-value y=4"
    )
    arguments = parser()[0].parse_args(words.split())
    request = requested("m.onnx", soc, compile_options(arguments, chosen))
    assert request.model_path == Path("m.onnx")
    asked = {
        "mode": "default", "memory": {"ddr": 2**20}, "order": ("dsp_cpu",), "targets": ("dsp_cpu",),
        "lowering_order": {"s-tir": "program"}, "require": {"conv2d": "dsp_cpu"}, "prefer": {"dense": ""},
        "forbid": {"relu": ("dsp_cpu", "host_cpu")}, "states": {"a": "b"},
        "exact": True, "optimize": Goal.SIZE,
    }  # fmt: skip
    assert {name: getattr(request, name) for name in asked} == asked
    shapes = request.input_shapes
    assert (shapes.shapes, shapes.batch, shapes.values) == ({"x": (1, 2)}, 3, {"y": 4})


def test_what_is_not_said_is_the_default() -> None:
    soc, plug_ins = read_soc("zynq_edge"), PlugIns.discover(())
    chosen = Selection(soc=soc, plug_ins=plug_ins, targets=())
    arguments = parser()[0].parse_args(["partition", "m.onnx"])
    request = requested("m.onnx", soc, compile_options(arguments, chosen))
    plain = CompileRequest(model_path=Path("m.onnx"), soc=soc, plug_ins=plug_ins)
    differ = [name for name in fields_dict(CompileRequest) if getattr(request, name) != getattr(plain, name)]
    assert differ == []
