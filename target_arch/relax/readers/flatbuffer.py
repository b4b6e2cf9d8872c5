"""Verify the bytes of a flatbuffer before generated readers follow its offsets.

The readers of the `tflite` package trust every offset and length: on a damaged file they return garbage, or
loop over a vector of four thousand million elements. A file that this module accepts can be read without
leaving its bytes.

Format: FlatBuffers internals, https://flatbuffers.dev/internals/
"""

import struct
from collections.abc import Mapping

from attrs import define, field, frozen

TFLITE_IDENTIFIER = b"TFL3"
"""Bytes 4 to 7 of a TFLite file."""


class Damaged(Exception):
    """The bytes contradict themselves; the text says where."""


@frozen
class Scalars:
    """A vector of scalars of `size` bytes each."""

    size: int


@frozen
class Text:
    """A string."""


@frozen
class Table:
    """A table; `fields` are the types that its fields (by index in the schema) refer to, without scalars."""

    fields: Mapping[int, "Kind"] = field(factory=dict)


@frozen
class Tables:
    """A vector of tables."""

    element: Table


Kind = Scalars | Text | Table | Tables


@define
class _Verifier:
    data: bytes

    def number(self, layout: str, at: int) -> int:
        if at < 0 or at + struct.calcsize(layout) > len(self.data):
            raise Damaged(f"offset {at} lies outside of the file of {len(self.data)} B")
        return int(struct.unpack_from(layout, self.data, at)[0])

    def referred(self, at: int) -> int:
        return at + self.number("<I", at)

    def check(self, at: int, kind: Kind) -> None:
        """Check that offset `at` (to which an offset has been followed) holds that kind."""
        if isinstance(kind, Table):
            self._check_table(at, kind)
            return
        size = 4 if isinstance(kind, Tables) else 1 if isinstance(kind, Text) else kind.size
        count = self.number("<I", at)
        if at + 4 + count * size > len(self.data):
            end = len(self.data)
            raise Damaged(f"a vector of {count} elements at offset {at} ends beyond the file of {end} B")
        if isinstance(kind, Text):
            self._check_text(at + 4, count)
        if isinstance(kind, Tables):
            for index in range(count):
                self._check_table(self.referred(at + 4 + 4 * index), kind.element)

    def _check_text(self, at: int, count: int) -> None:
        try:
            self.data[at : at + count].decode("utf-8")
        except UnicodeDecodeError:
            raise Damaged(f"the name at offset {at} is no text") from None

    def _check_table(self, at: int, kind: Table) -> None:
        vtable = at - self.number("<i", at)
        entries, size = self.number("<H", vtable), self.number("<H", vtable + 2)
        if entries < 4 or entries % 2 or vtable + entries > len(self.data) or at + size > len(self.data):
            raise Damaged(f"the table at offset {at} ends beyond the file or has no valid fields")
        offsets = struct.unpack_from(f"<{entries // 2 - 2}H", self.data, vtable + 4)
        if any(offset >= size for offset in offsets):
            raise Damaged(f"a field of the table at offset {at} lies outside of it")
        for index, referred in kind.fields.items():
            if index < len(offsets) and offsets[index]:
                self.check(self.referred(at + offsets[index]), referred)


def verify(data: bytes, root: Table) -> None:
    """Raise Damaged unless `data` is a flatbuffer whose root table is as described."""
    verifier = _Verifier(data)
    verifier.check(verifier.referred(0), root)


_INT32, _INT64, _BYTES = Scalars(4), Scalars(8), Scalars(1)
_OPERATOR_CODE = Table({1: Text()})
_QUANTIZATION = Table({0: _INT32, 1: _INT32, 2: _INT32, 3: _INT64})
_TENSOR = Table({0: _INT32, 3: Text(), 4: _QUANTIZATION, 7: _INT32})
_OPERATOR = Table({1: _INT32, 2: _INT32, 4: Table(), 5: _BYTES, 7: _BYTES, 8: _INT32})
_SUBGRAPH = Table({0: Tables(_TENSOR), 1: _INT32, 2: _INT32, 3: Tables(_OPERATOR), 4: Text()})
_BUFFER = Table({0: _BYTES})
TFLITE_MODEL = Table(
    {1: Tables(_OPERATOR_CODE), 2: Tables(_SUBGRAPH), 3: Text(), 4: Tables(_BUFFER), 5: _INT32}
)
"""The tables of TFLite's schema (version 3) that its readers follow; field numbers are those of
`schema.fbs`."""
