"""The default `legalize` stage: the standard TE definitions in S-TIR.

Tests: `tests/relax/lower/test_hook_stages.py`.
"""

from tvm import te

from target_arch.backend.hooks import Composite, TirFunction
from target_arch.relax.kinds.table import defined


def standard_functions(composite: Composite) -> tuple[TirFunction, ...]:
    """The S-TIR of a composite from its TE definition, with the schedule of that definition.

    ValueError for a composite without one, or whose parameters have no exact form.
    """
    operator, model = composite.operator, composite.request.model
    definition = defined(composite.name, operator, model)
    packed = tuple(each.tensor(operator) for each in definition.packed)
    return (
        TirFunction(
            operator=operator.id,
            kind=composite.name,
            function=te.create_prim_func(list(definition.arguments)),
            operands=(
                *composite.inputs,
                *composite.constants,
                *(each.name for each in packed),
                composite.output,
            ),
            writes=(composite.output,),
            constants=packed,
            schedule=definition.schedule,
        ),
    )
