"""Placement rules in SoC files: read, shown, checked, and honoured by the pipeline."""

from pathlib import Path

import pytest
from attrs import evolve

from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, partition_model
from target_arch.resources import soc_configs
from target_arch.soc import SoC, check_soc, parse_soc, read_soc, show
from target_arch.soc.numbering import abi_hash

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_int8.onnx"
TEXT = (soc_configs() / "zynq_edge.toml").read_text()
ORDER = 'order = ["accelerator", "fpga_conv2d", "dsp_cpu", "host_cpu"]\n'
RULES = (
    'require = { softmax = "host_cpu" }\n'
    'prefer = { "*" = "dsp_cpu" }\n'
    'forbid = { conv2d = ["dsp_cpu", "accelerator"] }\n'
    'divide = { conv2d = ["fpga_conv2d", "dsp_cpu"], "*" = [] }\n'
)


def with_rules(rules: str) -> SoC:
    assert TEXT.count(ORDER) == 1
    return parse_soc(TEXT.replace(ORDER, ORDER + rules), "z.toml")


def refusal(rules: str) -> str:
    with pytest.raises(DiagnosticError) as caught:
        with_rules(rules)
    return str(caught.value)


def test_they_are_read_and_shown() -> None:
    soc = with_rules(RULES)
    assert soc.require == {"softmax": "host_cpu"}
    assert soc.prefer == {"*": "dsp_cpu"}
    assert soc.forbid == {"conv2d": ("dsp_cpu", "accelerator")}
    assert soc.divide == {"conv2d": ("fpga_conv2d", "dsp_cpu"), "*": ()}
    for line in (
        "require       softmax on host_cpu",
        "prefer        * on dsp_cpu",
        "forbid        conv2d on dsp_cpu, accelerator",
        "divide        conv2d on fpga_conv2d, dsp_cpu",
        "divide        * not",
    ):
        assert line in show(soc)
    assert abi_hash(soc) != abi_hash(read_soc("zynq_edge"))
    assert check_soc(soc) == ()


def test_a_target_must_exist() -> None:
    assert "error: target_arch `hots_cpu` is not declared [unknown-target-arch]" in refusal(
        'require = { softmax = "hots_cpu" }\n'
    )
    assert "did you mean `dsp_cpu`?" in refusal('forbid = { softmax = ["dps_cpu"] }\n')
    soc = evolve(read_soc("zynq_edge"), prefer={"add": "nowhere"})
    assert [diagnostic.place for diagnostic in check_soc(soc)] == ["partitioning.prefer.add"]


CONTRADICTIONS = {
    'require = { "*" = "dsp_cpu" }\nforbid = { conv2d = ["dsp_cpu"] }\n': (
        "`conv2d` must run on `dsp_cpu`, which another rule forbids"
    ),
    'require = { conv2d = "dsp_cpu" }\nforbid = { "*" = ["dsp_cpu"] }\n': (
        "`conv2d` must run on `dsp_cpu`, which another rule forbids"
    ),
    'require = { "*" = "dsp_cpu" }\nprefer = { conv2d = "host_cpu" }\n': (
        "`conv2d` would best run on `host_cpu`, which another rule excludes"
    ),
    'forbid = { "*" = ["accelerator", "fpga_conv2d", "dsp_cpu", "host_cpu"] }\n': (
        "every operator may run nowhere: every target_arch is forbidden"
    ),
    'prefer = { "*" = "dsp_cpu" }\nforbid = { conv2d = ["dsp_cpu"] }\n': "",
    'require = { "*" = "host_cpu", conv2d = "dsp_cpu" }\nforbid = { conv2d = ["host_cpu"] }\n': "",
}


@pytest.mark.parametrize("rules", CONTRADICTIONS)
def test_rules_that_contradict_each_other(rules: str) -> None:
    if not CONTRADICTIONS[rules]:
        assert check_soc(with_rules(rules)) == ()
        return
    said = refusal(rules)
    assert f"error: {CONTRADICTIONS[rules]} [contradicting-rules]" in said
    assert said.count("error:") == 1


def test_one_instance_of_several_may_be_forbidden() -> None:
    quad = evolve(
        read_soc("quad_conv"), require={"conv2d": "fpga_conv2d"}, forbid={"conv2d": ("fpga_conv2d[0]",)}
    )
    assert check_soc(quad) == ()


def test_types_and_names() -> None:
    assert "`softmax` must be text, not a list [wrong-type]" in refusal(
        'prefer = { softmax = ["dsp_cpu"] }\n'
    )
    assert "must be a list of names, not text [wrong-type]" in refusal('forbid = { softmax = "dsp_cpu" }\n')
    assert "`a-b` is not a C identifier [bad-identifier]" in refusal('prefer = { "a-b" = "dsp_cpu" }\n')
    assert "unknown key `preferr` [unknown-key]" in refusal("preferr = {}\n")


def test_an_instance_may_be_named() -> None:
    quad = evolve(read_soc("quad_conv"), require={"conv2d": "fpga_conv2d[2]"})
    assert check_soc(quad) == ()
    graph = partition_model(CompileRequest(model_path=DIGITS, soc=quad))
    places = {c.instance for c in graph.choices if c.operator.startswith("conv2d")}
    assert places == {"fpga_conv2d[2]"}


def test_placement_honours_them_and_the_command_line_goes_first() -> None:
    soc = with_rules('prefer = { add = "host_cpu" }\nforbid = { conv2d = ["fpga_conv2d"] }\n')
    graph = partition_model(CompileRequest(model_path=DIGITS, soc=soc))
    assert graph.choice("add_3").instance == "host_cpu"
    assert "fpga_conv2d" not in {choice.instance for choice in graph.choices}
    graph = partition_model(CompileRequest(model_path=DIGITS, soc=soc, prefer={"add": "dsp_cpu"}))
    assert graph.choice("add_3").instance == "dsp_cpu"


def test_a_rule_for_a_kind_that_this_model_lacks_is_no_mistake() -> None:
    soc = with_rules('prefer = { softmax = "dsp_cpu" }\n')
    assert partition_model(CompileRequest(model_path=DIGITS, soc=soc)).partitions
    with pytest.raises(DiagnosticError, match="no kind of operator `softmix`"):
        partition_model(
            CompileRequest(model_path=DIGITS, soc=with_rules('prefer = { softmix = "dsp_cpu" }\n'))
        )
