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
class StringType:
    """A string."""


@frozen
class TableType:
    """A table; `fields` are the types that its fields (by index in the schema) refer to, without scalars."""

    fields: Mapping[int, "FieldType"] = field(factory=dict)


@frozen
class Tables:
    """A vector of tables."""

    element: TableType


FieldType = Scalars | StringType | TableType | Tables


@define
class _Verifier:
    data: bytes

    def number(self, layout: str, at: int) -> int:
        if at < 0 or at + struct.calcsize(layout) > len(self.data):
            raise Damaged(f"offset {at} is outside the file of {len(self.data)} B")
        return int(struct.unpack_from(layout, self.data, at)[0])

    def referred(self, at: int) -> int:
        return at + self.number("<I", at)

    def check(self, at: int, kind: FieldType) -> None:
        """Check that offset `at` (to which an offset has been followed) holds that kind."""
        if isinstance(kind, TableType):
            self._check_table(at, kind)
            return
        size = 4 if isinstance(kind, Tables) else 1 if isinstance(kind, StringType) else kind.size
        count = self.number("<I", at)
        if at + 4 + count * size > len(self.data):
            end = len(self.data)
            raise Damaged(f"a vector of {count} elements at offset {at} ends beyond the file of {end} B")
        if isinstance(kind, StringType):
            self._check_text(at + 4, count)
        if isinstance(kind, Tables):
            for index in range(count):
                self._check_table(self.referred(at + 4 + 4 * index), kind.element)

    def _check_text(self, at: int, count: int) -> None:
        try:
            self.data[at : at + count].decode("utf-8")
        except UnicodeDecodeError:
            raise Damaged(f"the name at offset {at} is no text") from None

    def _check_table(self, at: int, kind: TableType) -> None:
        vtable = at - self.number("<i", at)
        entries, size = self.number("<H", vtable), self.number("<H", vtable + 2)
        if entries < 4 or entries % 2 or vtable + entries > len(self.data) or at + size > len(self.data):
            raise Damaged(f"the table at offset {at} ends beyond the file or has no valid fields")
        offsets = struct.unpack_from(f"<{entries // 2 - 2}H", self.data, vtable + 4)
        if any(offset >= size for offset in offsets):
            raise Damaged(f"a field of the table at offset {at} is outside it")
        for index, referred in kind.fields.items():
            if index < len(offsets) and offsets[index]:
                self.check(self.referred(at + offsets[index]), referred)


def verify(data: bytes, root: TableType) -> None:
    """Raise Damaged unless `data` is a flatbuffer whose root table is as described."""
    verifier = _Verifier(data)
    verifier.check(verifier.referred(0), root)


_INT32, _INT64, _BYTES = Scalars(4), Scalars(8), Scalars(1)
_OPERATOR_CODE = TableType({1: StringType()})
_QUANTIZATION = TableType({0: _INT32, 1: _INT32, 2: _INT32, 3: _INT64})
_TENSOR = TableType({0: _INT32, 3: StringType(), 4: _QUANTIZATION, 7: _INT32})
_OPERATOR = TableType({1: _INT32, 2: _INT32, 4: TableType(), 5: _BYTES, 7: _BYTES, 8: _INT32})
_SUBGRAPH = TableType({0: Tables(_TENSOR), 1: _INT32, 2: _INT32, 3: Tables(_OPERATOR), 4: StringType()})
_BUFFER = TableType({0: _BYTES})
TFLITE_MODEL = TableType(
    {1: Tables(_OPERATOR_CODE), 2: Tables(_SUBGRAPH), 3: StringType(), 4: Tables(_BUFFER), 5: _INT32}
)
"""The tables of TFLite's schema (version 3) that its readers follow; field numbers are those of
`schema.fbs`."""
