"""Arm Ethos-U55 and U65: chains of operators compiled by Vela, Arm's own compiler.

The chain is written out as TFLite (`graph.py`, `tflite_file.py`) and compiled into the arena that the ledger
guarantees (`config.py`, `vela.py`). The result is checked address by address (`stream.py`) and becomes the
constants, the scratch and the one command of a kernel (`lower.py`).
"""

from target_arch.backend.contract import Backend, DefaultArch, LoweringRequest, Question, RuntimeSources
from target_arch.backends.ethos_u.config import EthosU, unit_of
from target_arch.backends.ethos_u.support import OPTIONS, joins, refusal, seconds
from target_arch.backends.sources import own_files
from target_arch.plan.kernels import Codegen, Kernel
from target_arch.soc.words import OperandRule


def _unit(question: Question | LoweringRequest) -> EthosU:
    return unit_of(question.soc, question.instance, backend)


def _supports(question: Question) -> str | None:
    if question.instance.memory:
        _unit(question)
    return refusal(question)


def _cost(question: Question) -> float:
    return seconds(question, _unit(question))


def _lower(request: LoweringRequest) -> Kernel:
    from target_arch.backends.ethos_u.lower import lower

    return lower(request, _unit(request))


backend = Backend(
    name="ethos_u",
    description="Arm Ethos-U55 and U65: chains of integer operators, compiled by Vela",
    codegen=Codegen.COMMAND_STREAM,
    patterns=(),
    supports=_supports,
    cost=_cost,
    lower=_lower,
    joins=joins,
    options=OPTIONS,
    runtime=RuntimeSources(
        driver="ta_ethos_u_driver",
        simulator_symbol="ta_ethos_u_simulator",
        files=lambda: own_files("drivers/ethos_u.c", "drivers/ethos_u.h"),
        simulator=lambda: own_files("simulators/ethos_u.c"),
        stand_ins=True,
    ),
    default_arch=DefaultArch(clock=500e6, operands=OperandRule.OUTPUTS),
    contract=1,
)
