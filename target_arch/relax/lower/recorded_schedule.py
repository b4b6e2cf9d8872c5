"""Schedules from tuning records, used instead of the definitions' own.

Tests: `tests/tune`.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from tvm import s_tir

from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.tuning import Tuning, TuningRecord


def task_name(function: Any, kind: str) -> str:
    """The task of a function in S-TIR that nothing has scheduled yet: its kind and a hash of its text.

    TVM's own structural hash is not the same in every version and process; printed S-TIR is.
    """
    return f"{kind}_{hashlib.sha256(function.script().encode()).hexdigest()[:16]}"


def scheduled(
    function: Any, kind: str, default: Callable[[Any], None] | None, tuning: Tuning
) -> tuple[Any, str | None]:
    """The scheduled function, and the task whose record was used; None where the default schedule was.

    DiagnosticError for a record that does not apply to its own task.
    """
    record = tuning.records.get(task_name(function, kind)) if tuning else None
    schedule = s_tir.Schedule(function)
    if record is not None and record.trace:
        _replay(record, schedule)
        return schedule.mod["main"], record.task
    if default is not None:
        default(schedule)
    return schedule.mod["main"], None


def _replay(record: TuningRecord, schedule: Any) -> None:
    try:
        s_tir.schedule.Trace.apply_json_to_schedule(json.loads(record.trace), schedule)
    except Exception as error:
        said = str(error).strip() or type(error).__name__
        raise DiagnosticError(
            [
                Diagnostic(
                    rule="stale-record",
                    place=f"tuning record {record.task}",
                    message=f"its schedule does not apply: {said.splitlines()[-1][:200]}",
                    hint="tune again, or take the record out of the file",
                )
            ]
        ) from error
