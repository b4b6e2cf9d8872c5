"""The kernels of a model, replayed one after the other on tensors of their own: what each call reads and
writes if every tensor had bytes that nothing else ever has. No step, buffer or offset is looked at.
"""

from collections.abc import Iterator, Mapping

from attrs import frozen

from target_arch.plan.kernels import TENSOR_ALIGNMENT, Call, Kernel, LocalBuffer, Move, Operand, Slice
from target_arch.plan.model import DTYPE_BYTES, Model, Tensor
from target_arch.plan.partitions import PartitionGraph
from target_arch.stages.check.meaning.numbers import ByteNumbers, Content, Runs, count_of, one_run


@frozen(kw_only=True, eq=False)
class MeantOperand:
    """An operand of a call: the bytes that the kernel names, the alignment of the tensor or local buffer that
    they are in, and the one that it has at least where cores compute, the numbers that it reads there, and
    those that it writes; None where it does not.
    """

    operand: Operand
    part: Slice
    alignment: int
    least: int
    read: Runs | None
    written: Runs | None


@frozen(kw_only=True, eq=False)
class MeantCall:
    """A call of a kernel, with what it reads and writes."""

    call: Call
    operands: tuple[MeantOperand, ...]


class Meaning:
    """The computation of all kernels: their calls, by partition, and the bytes of every tensor at last."""

    def __init__(self, graph: PartitionGraph, kernels: Mapping[str, Kernel]) -> None:
        self.model: Model = graph.model
        self.numbers = ByteNumbers()
        self.kernels = kernels
        self.instances = {partition.id: partition.instance for partition in graph.partitions}
        self._tensors = {**graph.model.tensors, **_packed(kernels)}
        self._contents: dict[str, Content] = {}
        self._constants: dict[bytes, int] = {}
        self._given = frozenset(graph.model.given)
        self.named: dict[int, dict[str, None]] = {}
        """By value, the tensors that are, or were, these bytes. What nothing made has no name: a tensor that
        it is moved into is not made by that.
        """
        self._unmade: set[int] = set()
        self._first = self._numbered()
        self.calls = {partition.id: tuple(self._replayed(partition.id)) for partition in graph.partitions}

    def tensor(self, name: str) -> Tensor | None:
        """A tensor of the model or of a kernel; None where there is none of that name."""
        return self._tensors.get(name)

    def at_first(self, name: str) -> int:
        """The first number of a tensor before anything was computed. Constants of equal bytes have equal
        numbers.
        """
        return self._first[name]

    def at_last(self, name: str) -> Runs:
        """The numbers of a tensor when all kernels have run."""
        return self._content(name).whole

    def _numbered(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, tensor in self._tensors.items():
            if tensor.data is None:
                given = name in self._given
                found[name] = (
                    self.numbers.take(tensor.bytes, name) if given else self._nothing(tensor.bytes, name)
                )
            elif tensor.data in self._constants:
                found[name] = self._constants[tensor.data]
            else:
                found[name] = self._constants[tensor.data] = self.numbers.take(tensor.bytes, name)
            self._name(name, one_run(found[name], tensor.bytes))
        return found

    def _nothing(self, size: int, place: str) -> int:
        """The first number of so many bytes that hold nothing yet."""
        first = self.numbers.take(size, f"nothing in {place}")
        self._unmade.update(self.numbers.owners(one_run(first, size)))
        return first

    def _name(self, tensor: str, runs: Runs) -> None:
        for value in self.numbers.owners(runs):
            if value not in self._unmade:
                self.named.setdefault(value, {})[tensor] = None

    def _content(self, name: str) -> Content:
        if name not in self._contents:
            self._contents[name] = Content(self._tensors[name].bytes, self._first[name])
        return self._contents[name]

    def _replayed(self, partition: str) -> Iterator[MeantCall]:
        if partition not in self.kernels:
            return
        kernel = self.kernels[partition]
        local = {buffer.name: self._local(partition, buffer) for buffer in kernel.buffers}
        buffers = {buffer.name: buffer for buffer in kernel.buffers}
        for action in kernel.actions:
            if isinstance(action, Move):
                source, target = (
                    local.get(end.of) or self._content(end.of) for end in (action.source, action.target)
                )
                moved = source.read(action.source)
                target.write(action.target, moved)
                if action.target.of not in local:
                    self._name(action.target.of, moved)
                continue
            yield self._called(action, local, buffers)

    def _local(self, partition: str, buffer: LocalBuffer) -> Content:
        return Content(buffer.bytes, self._nothing(buffer.bytes, f"{partition}.{buffer.name}"))

    def _called(
        self, call: Call, local: Mapping[str, Content], buffers: Mapping[str, LocalBuffer]
    ) -> MeantCall:
        """All operands are read before one is written. What copies has a result of its own where it does not
        write as many bytes as it reads.
        """
        parts = [
            operand.touched((buffers.get(operand.of) or self._tensors[operand.of]).bytes)
            for operand in call.operands
        ]
        contents = [local.get(operand.of) or self._content(operand.of) for operand in call.operands]
        read = [
            content.read(part) if operand.access.reads else None
            for operand, part, content in zip(call.operands, parts, contents, strict=True)
        ]
        copied = next((runs for runs in read if runs is not None), None) if call.copies else None
        meant = []
        for operand, part, content, runs in zip(call.operands, parts, contents, read, strict=True):
            written = None
            if operand.access.writes:
                if copied is not None and count_of(copied) == part.bytes:
                    written = copied
                else:
                    written = self._result(call, part)
                content.write(part, written)
                if operand.of not in local:
                    self._name(operand.of, written)
            held = buffers.get(operand.of)
            alignment = TENSOR_ALIGNMENT if held is None else held.alignment
            least = DTYPE_BYTES[self._tensors[operand.of].dtype] if held is None else held.alignment
            meant.append(
                MeantOperand(
                    operand=operand, part=part, alignment=alignment, least=least, read=runs, written=written
                )
            )
        return MeantCall(call=call, operands=tuple(meant))

    def _result(self, call: Call, part: Slice) -> Runs:
        first = self.numbers.take(part.bytes, f"{part.of} by {call.operator or call.function}")
        return one_run(first, part.bytes)


def _packed(kernels: Mapping[str, Kernel]) -> dict[str, Tensor]:
    return {tensor.name: tensor for kernel in kernels.values() for tensor in kernel.constants}
