"""The dispatches of a step table: the kernel of each, its operands, and the needs of the kernel.

A kernel's needs follow from the memory plan: a call may touch the bytes that it declares, at the alignment
that the plan keeps. A function is one kernel however many steps call it, so it needs the least that any of
them has: each is as much as the function touches. A command is a kernel for itself, as its words say what it
touches.
"""

from collections.abc import Iterable, Mapping, Sequence
from struct import pack

from attrs import frozen

from target_arch.emit.model.arenas import Arenas
from target_arch.emit.model.inputs import EmitInputs
from target_arch.emit.model.kernels import entry
from target_arch.emit.model.naming import describe, macro
from target_arch.emit.text.emitter import Emitter
from target_arch.emit.text.names import comment
from target_arch.plan.kernels import Operand
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Dispatch, StepOrder

_MOST_ALIGNMENT = 1 << 15
"""The largest power of two that `ta_operand.alignment` holds."""


@frozen(kw_only=True)
class _Need:
    """The requirements of a kernel on an operand: a `ta_operand`."""

    size: int
    alignment: int
    writes: bool

    def least(self, other: "_Need") -> "_Need":
        """The common requirements of two calls of one function."""
        return _Need(
            size=min(self.size, other.size),
            alignment=min(self.alignment, other.alignment),
            writes=self.writes or other.writes,
        )

    def __str__(self) -> str:
        return f"{{{self.size}, {self.alignment}, {int(self.writes)}}}"

    def packed(self) -> bytes:
        """The bytes of the `ta_operand`."""
        return pack("<IHH", self.size, self.alignment, self.writes)


@frozen(kw_only=True)
class _Kernel:
    """A `ta_kernel`: `function` is the C name of the entry, NULL for a command of so many words."""

    function: str
    needs: tuple[_Need, ...]
    words: int

    def least(self, other: "_Kernel") -> "_Kernel":
        """The kernel for two calls of the same function."""
        needs = tuple(one.least(two) for one, two in zip(self.needs, other.needs, strict=True))
        return _Kernel(function=self.function, needs=needs, words=self.words)


def dispatch_tables(
    out: Emitter, inputs: EmitInputs, steps: StepOrder, arenas: Arenas, turns: Sequence[str] = ()
) -> Mapping[str, bytes]:
    """The tables `words`, `refs`, `operands`, `kernels` and `dispatches`, those that have rows; the bytes of
    the first three, which hold no addresses. `turns` are equal cores on which frames take turns.
    """
    numbered = [(number, step) for number, step in enumerate(steps.steps) if isinstance(step, Dispatch)]
    notes = {number: comment(f"step {number}: {describe(step)}") for number, step in numbered}
    buffers = {buffer.name: buffer for buffer in steps.buffers}
    needed = [_needed(inputs, step, buffers, turns) for _, step in numbered]
    words = [(", ".join(f"{w & 0xFFFFFFFF}u" for w in step.words), notes[n]) for n, step in numbered]
    refs = [(", ".join(arenas.ref(o.of, o.offset) for o in step.operands), notes[n]) for n, step in numbered]
    out.table("static const uint32_t words", _rows(words))
    out.table("static const ta_ref refs", _rows(refs))
    kernels = _distinct(needed)
    numbers = _kernel_tables(out, kernels)
    rows = []
    word = ref = 0
    for (number, step), kernel in zip(numbered, needed, strict=True):
        command = f"&words[{word}], {len(step.words)}" if step.words else "NULL, 0"
        operands = f"&refs[{ref}], {len(step.operands)}" if step.operands else "NULL, 0"
        of = f"&kernels[{numbers[_identity(kernel)]}]"
        instance = macro(inputs, "INSTANCE", step.instance)
        rows.append(f"{{{instance}, {of}, {command}, {operands}}}, /* {notes[number]} */")
        word += len(step.words)
        ref += len(step.operands)
    out.table("static const ta_dispatch dispatches", rows)
    return {
        "words": b"".join(pack("<I", word & 0xFFFFFFFF) for _, step in numbered for word in step.words),
        "refs": b"".join(arenas.packed(o.of, o.offset) for _, step in numbered for o in step.operands),
        "operands": b"".join(need.packed() for kernel in kernels.values() for need in kernel.needs),
    }


def _rows(texts: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{text}, /* {note} */" for text, note in texts if text]


def _needed(
    inputs: EmitInputs, step: Dispatch, buffers: Mapping[str, Buffer], turns: Sequence[str]
) -> _Kernel:
    """The kernel of one dispatch, by the facts of its step. On one of equal cores its function is that of the
    core which computes runs.
    """
    home = turns[0] if step.instance in turns else step.instance
    arch = inputs.soc.instance(home).arch.name
    driver = inputs.backends[arch].runtime.driver
    return _Kernel(
        function="NULL" if driver else entry(inputs, arch, step.function),
        needs=tuple(_need(operand, buffers[operand.of]) for operand in step.operands),
        words=len(step.words),
    )


def _need(operand: Operand, buffer: Buffer) -> _Need:
    kept = buffer.alignment | operand.offset | _MOST_ALIGNMENT
    return _Need(
        size=operand.touched(buffer.bytes).end - operand.offset,
        alignment=kept & -kept,
        writes=operand.access.writes,
    )


def _identity(kernel: _Kernel) -> str | _Kernel:
    """Equal for two dispatches of one kernel."""
    return kernel if kernel.function == "NULL" else kernel.function


def _distinct(needed: Iterable[_Kernel]) -> Mapping[str | _Kernel, _Kernel]:
    """The kernel for all calls of each, by its identity."""
    found: dict[str | _Kernel, _Kernel] = {}
    for kernel in needed:
        known = found.setdefault(_identity(kernel), kernel)
        found[_identity(kernel)] = known.least(kernel)
    return found


def _kernel_tables(out: Emitter, found: Mapping[str | _Kernel, _Kernel]) -> Mapping[str | _Kernel, int]:
    """Emit `operands` and `kernels`; the number of each kernel by its identity."""
    operands, kernels = [], []
    count = 0
    for number, kernel in enumerate(found.values()):
        name = "a command" if kernel.function == "NULL" else kernel.function
        of = f"&operands[{count}], {len(kernel.needs)}" if kernel.needs else "NULL, 0"
        kernels.append(f"{{{kernel.function}, {of}, {kernel.words}}}, /* {number} */")
        operands.append((", ".join(map(str, kernel.needs)), f"{number}: {name}"))
        count += len(kernel.needs)
    out.table("static const ta_operand operands", _rows(operands))
    out.table("static const ta_kernel kernels", kernels)
    return {identity: number for number, identity in enumerate(found)}
