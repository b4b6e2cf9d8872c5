"""The hooks of a backend that lowers in stages: graph → S-TIR → NS-TIR → code.

    Relax ── graph_passes ──▶ composites ── legalize ──▶ S-TIR ── schedules (with the budget) ──▶ S-TIR
      ── tir_patterns ──▶ S-TIR with vendor calls ── tir_passes ──▶ NS-TIR ── codegen ──▶ Kernel

Every hook may be left out and then does what the C backend does: the standard TE definitions, their own
schedules, C. `target_arch.relax.lower.hook_stages` composes them. The values here hold Relax and TIR as
opaque objects, so that nothing imports TVM before a hook does.

Tests: `tests/relax/lower/test_hook_stages.py`, with a tiny example for every hook.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from target_arch.backend.lowering import LoweringRequest
from target_arch.plan.kernels import Kernel, LocalBuffer
from target_arch.plan.model import Operator, Tensor

PLACES = ("scheduled", "compacted", "rewritten", "flat", "last")
"""Where a `TirPass` may stand:

`scheduled`: after `schedules`; blocks with iteration variables. `compacted`: blocks without iteration
variables, local buffers cut to the part in use. `rewritten`: after `tir_patterns`. `flat`: no blocks, buffers
of one dimension (NS-TIR). `last`: simplified, intrinsics lowered.
"""


@frozen(kw_only=True)
class Composite:
    """One call of the partition after the graph passes, as `legalize` sees it.

    `name` is the operator's kind, unless a graph pass put another composite in its place. `operator` is the
    operator whose `output` it computes; `inputs` are the tensors it reads now, `constants` the operator's.
    """

    name: str
    operator: Operator
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    output: str
    request: LoweringRequest = field(repr=False)


@frozen(kw_only=True)
class TirFunction:
    """A PrimFunc on its way through the stages, and the meaning of its parameters.

    `operator` is the id of the operator it belongs to, `kind` begins the name of its kernel.
    `operands` are the tensors, constants and buffers of its parameters, in order; those in `writes` are
    written. `constants` are those that the legalization packed, `buffers` those between functions of one
    operator. `schedule` transforms an `s_tir.Schedule` of the function, where `schedules` is left out.
    `loops` are better names of loop variables than TIR has, for the printed text. `note`
    is for readers of the report; `tuned` the task of the tuning record that it was scheduled with.
    """

    operator: str
    kind: str
    function: Any = field(repr=False)
    operands: tuple[str, ...]
    writes: tuple[str, ...]
    constants: tuple[Tensor, ...] = ()
    buffers: tuple[LocalBuffer, ...] = ()
    schedule: Callable[[Any], None] | None = field(default=None, repr=False)
    loops: Mapping[Any, str] = field(factory=dict, repr=False)
    note: str = ""
    tuned: str | None = None


@frozen(kw_only=True)
class GraphPass:
    """A pass over the partition as a Relax module. `load` returns the callable, IRModule → IRModule.

    In `main`, each operator is one `R.call_dps_packed` of its kind, bound to a variable with the name of the
    output tensor. A pass may drop, reorder and replace calls; the results of the partition have to stay.
    """

    name: str
    load: Callable[[LoweringRequest], Callable[[Any], Any]]


@frozen(kw_only=True)
class Nest:
    """Perfectly nested loops around one block, outermost first, as a TIR pattern sees them.

    The block has no iteration variables: its body speaks of the loops, and of the loops around the nest. It
    only runs where `predicate` holds.
    """

    loops: tuple[Any, ...]
    block: Any
    predicate: Any


@frozen(kw_only=True)
class TirPattern:
    """`rewrite` returns the statement that takes the place of a nest, or None where it does not match."""

    name: str
    rewrite: Callable[[Nest, LoweringRequest], Any]


@frozen(kw_only=True)
class TirPass:
    """A pass over one function at a place of `PLACES`. `load` returns the callable, IRModule → IRModule."""

    name: str
    place: str
    load: Callable[[LoweringRequest], Callable[[Any], Any]]


@frozen(kw_only=True)
class Hooks:
    """How a backend lowers, stage by stage.

    `legalize` answers one or several functions in S-TIR, in order. `schedules` answers the `s_tir.Schedule`
    of a function; the bytes guaranteed to its call site are in `request.budget`. `codegen` makes the kernel
    of all functions in NS-TIR. A backend that takes the Relax module whole fills `graph_codegen` and, if it
    likes, `graph_passes`, and nothing else. `schedules` and both code generators may raise DoesNotFit.
    """

    graph_passes: tuple[GraphPass, ...] = ()
    legalize: Callable[[Composite], TirFunction | tuple[TirFunction, ...]] | None = None
    schedules: Callable[[TirFunction, LoweringRequest], Any] | None = None
    tir_patterns: tuple[TirPattern, ...] = ()
    tir_passes: tuple[TirPass, ...] = ()
    codegen: Callable[[tuple[TirFunction, ...], LoweringRequest], Kernel] | None = None
    graph_codegen: Callable[[Any, LoweringRequest], Kernel] | None = None
