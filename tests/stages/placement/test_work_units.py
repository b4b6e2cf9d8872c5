"""The units of work of operators with loops that a reader wrote."""

import pytest

from target_arch.backend.contract import Question
from target_arch.backends.plain_c.cost import seconds
from target_arch.registry.plug_ins import PlugIns
from target_arch.soc import read_soc
from target_arch.stages.placement.work_units import work_parts
from tests.backends.c.one import one_operator, real


def test_loops_have_units_of_their_element_type() -> None:
    soc = read_soc("mcu_m7")
    facts = {"relax_op": "LSTM", "macs_per_output": 7, "loop_operations": 50}
    model = one_operator("recurrent", "float", [real("x", (4,))], real("out", (2, 5)), **facts)
    question = Question(operator=model.operators[0], model=model, instance=soc.instance("host_cpu"), soc=soc)
    backend = PlugIns.discover(()).backends_for(soc)["host_cpu"]
    counts = {unit: part.count for unit, part in work_parts(question, backend).items()}
    assert counts == {
        "recurrent of float32: product": 70,
        "recurrent of float32: byte": 56,
        "recurrent of float32: element": 10,
        "recurrent of float32: operation": 50,
        "recurrent of float32: call": 1,
    }
    assert seconds(question, backend) * soc.host.clock == pytest.approx(70 * 6.0 + 50)
