"""The bytes that windows of a divided model read of what another instance left.

Only windows: they wait for each line of the neighbour's rows, while those of a matrix that is read from
end to end are fetched ahead.
"""

from collections.abc import Iterator, Mapping
from math import prod

from target_arch.plan.model import DTYPE_BYTES, Model, Operator
from target_arch.plan.operators.kinds import OperatorKind
from target_arch.plan.windows import windows_of


def foreign_bytes(model: Model, where: Mapping[str, str]) -> dict[str, int]:
    """How many, by operator with windows that read any; `where` has the instance of each."""
    readers = _Readers(model, where)
    found = ((each.id, readers.foreign(each)) for each in model.operators if _reaches_over(each, model))
    return {id: bytes for id, bytes in found if bytes}


def _reaches_over(operator: Operator, model: Model) -> bool:
    """True where it reads more of an image than the places at which it writes."""
    return any(not window.plain for window in windows_of(operator, model) or ())


class _Readers:
    """The makers of the bytes of tensors: slices of a result follow each other, so links are runs. Slices of
    channels do not: who gathers them leaves all of the result.
    """

    def __init__(self, model: Model, where: Mapping[str, str]) -> None:
        self._model, self._where, self._makers = model, where, model.makers

    def foreign(self, operator: Operator) -> int:
        """The bytes of its inputs that were left by another instance."""
        own = self._where[operator.id]
        return sum(
            bytes
            for name in dict.fromkeys(operator.inputs)
            for maker, bytes in self._runs(name, 0, self._model.tensors[name].bytes)
            if maker != own
        )

    def _runs(self, name: str, start: int, stop: int) -> Iterator[tuple[str, int]]:
        """The instances that left these bytes of a tensor, and how many; none for what the caller left."""
        maker = self._makers.get(name)
        if maker is None or start >= stop:
            return
        if maker.id not in self._model.links or self._interleaves(maker):
            yield self._where[maker.id], stop - start
        elif maker.kind is OperatorKind.SLICE:
            first = self._first(maker)
            yield from self._runs(maker.inputs[0], first + start, first + stop)
        else:
            done = 0
            for part in maker.inputs:
                size = self._model.tensors[part].bytes
                yield from self._runs(part, max(start - done, 0), min(stop - done, size))
                done += size

    def _interleaves(self, maker: Operator) -> bool:
        """Whether it joins slices whose bytes do not follow each other."""
        axis = maker.attributes.get("axis")
        return isinstance(axis, int) and prod(self._model.tensors[maker.output].shape[:axis]) > 1

    def _first(self, view: Operator) -> int:
        """The first byte of its source that a view names."""
        source, begin = self._model.tensors[view.inputs[0]], view.attributes["begin"]
        assert isinstance(begin, tuple)
        strides = (prod(source.shape[axis + 1 :]) for axis in range(len(begin)))
        return DTYPE_BYTES[source.dtype] * sum(
            int(at) * stride for at, stride in zip(begin, strides, strict=True)
        )
