"""No run is shorter than the bound that needs no compilation."""

import pytest

from target_arch.explore.evaluate import Evaluator
from target_arch.explore.search import point_task
from target_arch.pipeline.compile import plan_models, shortest_run
from target_arch.pipeline.request import CompileRequest, ModelsRequest
from target_arch.registry.plug_ins import PlugIns
from target_arch.soc.files.soc_file import read_soc
from tests.explore.spaces import DIGITS, ZYNQ, space

PLUG_INS = PlugIns.discover(())


@pytest.mark.parametrize("name", ["mcu_m7", "mcu_m55", "zynq_edge", "vta_edge"])
def test_a_bound_of_shipped_chips(name: str) -> None:
    """On a microcontroller it is nearly the run: there is one place, and little to copy."""
    soc = read_soc(name)
    request = CompileRequest(model_path=DIGITS, soc=soc, plug_ins=PLUG_INS)
    (lowered,) = plan_models(ModelsRequest(models=(request,))).models
    bound = shortest_run(request)
    assert 0 <= bound <= lowered.makespan
    if name == "mcu_m7":
        assert bound > 0.95 * lowered.makespan


@pytest.mark.slow
def test_a_bound_of_varied_chips() -> None:
    chips = space(ZYNQ.replace('where = ["tcm <= sram"]', "").replace('"32 KiB"', '"1 KiB"'))
    evaluate = Evaluator(PLUG_INS)
    for point in chips.points():
        task = point_task(chips, point)
        outcome = evaluate(task)
        if outcome.fits:
            request = CompileRequest(model_path=DIGITS, soc=task.chip.soc(PLUG_INS), plug_ins=PLUG_INS)
            assert shortest_run(request) <= outcome.models["digits"].latency
