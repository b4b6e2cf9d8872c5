"""The smallest complete backend: it is found, checked and shown, and refuses every operator. Clone it to
start your own.

Change these, in this order:

1.  `name`, `description`: what `target-arch backends` prints. Register the value under the entry-point group
    `target_arch.backends`, or put the module in a folder given by `--backend-dir`.
2.  `supports`: return None for the operators your hardware takes. For every other one return the reason, with
    numbers and units (`kernel is 7 taps, the engine takes at most 5`); it is shown to users by `explain`.
3.  `cost`: seconds of computing at this instance; copies are counted by the planner.
4.  `lower`: the kernel of a partition. Name tensors as operands of calls where the device reads and writes
    whole tensors in its memory; declare local buffers and moves where it needs tiles. Take no more than
    `request.budget.guaranteed(operator, memory)` and raise `DoesNotFit` where that is too little. Or fill in
    `hooks` instead, to lower in stages: Relax, S-TIR, NS-TIR, code.
5.  `codegen`: `Codegen.C` where kernels are C functions, else what they are, such as
    `Codegen.COMMAND_STREAM`.
6.  `options`, `needs_buffers`: what a SoC file may set, and which local buffers it must map to memories.
7.  `patterns`: composites the importer does not already know.
8.  `runtime`: the C driver and the simulator, where calls are device commands.

Nothing may happen at import, and TVM is only imported inside hooks that need it.
"""

from target_arch.backend.contract import Backend, LoweringRequest, Question
from target_arch.plan.kernels import Codegen, Kernel


def supports(question: Question) -> str | None:
    """The reason for refusing: this hardware does not exist."""
    return f"the null backend computes nothing, this is {question.operator.kind}"


def cost(question: Question) -> float:
    """Seconds at this instance. Only asked about operators that `supports` takes."""
    return float("inf")


def lower(request: LoweringRequest) -> Kernel:
    """An empty kernel: there is never a partition to lower, and no action is a correct program for none."""
    return Kernel(partition=request.partition.id, instance=request.instance.name)


backend = Backend(
    name="null",
    description="takes nothing; the skeleton to clone",
    codegen=Codegen.NONE,
    patterns=(),
    supports=supports,
    cost=cost,
    lower=lower,
    contract=2,
)
