"""MetaSchedule's search over the spaces of `tuning_space`: candidates as C, costs back.

TVM's measuring (its builders, runners and code) is left out: the measured code is the C that a bundle has.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import tvm
from attrs import frozen
from tvm.s_tir import meta_schedule

from target_arch.plan.kernels import CFunction
from target_arch.relax.lower.lowering import print_scheduled
from target_arch.relax.tuning.space import spaces

_INTRINSICS = "tvm.s_tir.tensor_intrin"


@frozen(kw_only=True)
class ScheduleCandidate:
    """A scheduled task: its C, the bytes of its scratch parameters, and its trace as JSON text."""

    function: CFunction
    scratch: tuple[int, ...]
    trace: str


class Search:
    """One task's search: `candidates` until there are none, each batch answered by `tell`."""

    def __init__(self, function: Any, kind: str, *, trials: int, batch: int, seed: int) -> None:
        self._kind = kind
        space = meta_schedule.space_generator.ScheduleFn(
            lambda schedule: spaces(schedule.mod["main"]), sch_rules=[], postprocs=[], mutator_probs={}
        )
        with _without_intrinsics():
            self._context = meta_schedule.TuneContext(
                mod=function.with_attr("global_symbol", "main"),
                target=tvm.target.Target({"kind": "llvm", "num-cores": 1}),
                space_generator=space,
                search_strategy=meta_schedule.search_strategy.ReplayTrace(),
                task_name=kind,
                rand_state=seed + 1,
                num_threads=1,
            )
        model = meta_schedule.cost_model.RandomModel(seed=seed)
        database = meta_schedule.database.MemoryDatabase()
        self._context.pre_tuning(trials, batch, self._context.generate_design_space(), database, model)
        self._asked: Any = None

    def candidates(self) -> tuple[ScheduleCandidate, ...]:
        """The next batch; empty where the trials are used up."""
        self._asked = self._context.generate_measure_candidates()
        return tuple(self._candidate(each.sch) for each in self._asked or ())

    def tell(self, seconds: Sequence[float | None]) -> None:
        """The seconds of the last batch's candidates, in their order; None for one that failed."""
        results = [
            meta_schedule.runner.RunnerResult([cost], None)
            if cost is not None
            else meta_schedule.runner.RunnerResult(None, "failed")
            for cost in seconds
        ]
        self._context.notify_runner_results(self._asked, results)

    def _candidate(self, schedule: Any) -> ScheduleCandidate:
        printed = print_scheduled(schedule.mod["main"], self._kind)
        trace = json.dumps(_plain(schedule.trace.as_json()))
        return ScheduleCandidate(function=printed.function, scratch=printed.scratch, trace=trace)


@contextmanager
def _without_intrinsics() -> Iterator[None]:
    """`TuneContext` imports the tensor intrinsics of every vendor, which takes 40 s and no C kernel uses."""
    stands_in = _INTRINSICS not in sys.modules
    if stands_in:
        sys.modules[_INTRINSICS] = ModuleType(_INTRINSICS)
    try:
        yield
    finally:
        if stands_in:
            del sys.modules[_INTRINSICS]


def _plain(value: Any) -> Any:
    """TVM's containers as Python's."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, tvm.tirx.IntImm):
        return int(value)
    return [_plain(each) for each in value]
