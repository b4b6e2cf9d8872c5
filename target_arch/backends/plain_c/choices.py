"""The codes of an operator that has a kernel for 8-bit values: a kernel with its weights in one of the
layouts, or the definition. Tuning measures which is the fastest, and its record chooses.
"""

from attrs import field, frozen

from target_arch.backend.contract import LoweringRequest
from target_arch.backends.plain_c.kernels import products
from target_arch.backends.plain_c.kernels.layout import LAYOUTS, WeightLayout, layout_of
from target_arch.backends.plain_c.kernels.pick import Driver, Pick
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.goal import Goal
from target_arch.plan.model import Operator
from target_arch.plan.tuning import DEFINITION, TuningRecord


@frozen(kw_only=True)
class KernelChoice:
    """A kernel, or without a driver the definition. `task` is that of the record that chose it, if any."""

    driver: Driver | None
    layout: WeightLayout
    task: str | None = None
    others: tuple[str, ...] = field(default=(), repr=False)
    """What else could be chosen."""

    @property
    def name(self) -> str:
        """The name in tuning records."""
        if self.driver is None:
            return DEFINITION
        return f"{self.driver} in {self.layout.name}" if self.driver is Driver.PRODUCTS else str(self.driver)


def chosen(operator: Operator, picked: Pick, request: LoweringRequest) -> KernelChoice:
    """The code of an operator: what the rules `picked`, or what a record has in its place.

    DiagnosticError for a record that chooses what there is not.
    """
    rule = KernelChoice(driver=picked.kernel, layout=layout_of(request.instance.arch.isa))
    if rule.driver not in (Driver.PRODUCTS, Driver.DEPTHWISE):
        return rule
    by_name = {each.name: each for each in _others(operator, rule, request)}
    record = _record(operator, request)
    if record is None or record.rule != rule.name:
        return KernelChoice(driver=rule.driver, layout=rule.layout, others=tuple(by_name))
    if record.choice not in by_name:
        raise DiagnosticError([_stale(record)])
    found = by_name[record.choice]
    return KernelChoice(driver=found.driver, layout=found.layout, task=record.task)


def _others(operator: Operator, rule: KernelChoice, request: LoweringRequest) -> list[KernelChoice]:
    layouts = [each for each in LAYOUTS if each != rule.layout] if rule.driver is Driver.PRODUCTS else []
    bounded = request.goal is not Goal.SPEED
    found = [
        KernelChoice(driver=rule.driver, layout=layout)
        for layout in layouts
        if products.refusal(operator, request.model, layout, bounded=bounded) is None
    ]
    return [*found, KernelChoice(driver=None, layout=rule.layout)]


def _record(operator: Operator, request: LoweringRequest) -> TuningRecord | None:
    if not request.tuning:
        return None
    from target_arch.relax.tuning.tasks import task_of

    return request.tuning.records.get(task_of(operator, request.model))


def _stale(record: TuningRecord) -> Diagnostic:
    return Diagnostic(
        rule="stale-record",
        place=f"tuning record {record.task}",
        message=f"there is no `{record.choice}` in place of `{record.rule}`",
        hint="tune again, or take the record out of the file",
    )
