"""NS-TIR written statement by statement, with vectors of 128 bytes.

An element of a `View` is addressed in units of the view's own type. Every vector may begin at any address:
loads and stores are the unaligned ones.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import define, field, frozen
from tvm import tirx

BYTES = 128
"""Of a vector."""
WORDS = BYTES // 4
WORD, BYTE = "int32", "int8"
VECTOR = f"{WORD}x{WORDS}"
_WIDTHS = {8: "int64", 4: WORD, 2: "int16", 1: BYTE}


@frozen(kw_only=True, eq=False)
class Pointer:
    """A parameter of a function: so many bytes."""

    name: str
    size: int
    data: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "data", tirx.buffer.buffer_data_pointer_type(self._buffer(BYTE, 1)))
        object.__setattr__(self, "data", tirx.Var(self.name, self.data))

    def _buffer(self, dtype: str, width: int) -> Any:
        return tirx.decl_buffer((-(-self.size // width),), dtype, f"{self.name}{width}")


@define
class Writer:
    """Collects statements; `loop` and `when` open a block for those that follow."""

    _blocks: list[list[Any]] = field(factory=lambda: [[]])
    _views: dict[tuple[str, int], Any] = field(factory=dict)

    def add(self, statement: Any) -> None:
        self._blocks[-1].append(statement)

    def view(self, pointer: Pointer, width: int) -> Any:
        """The bytes of a pointer as integers of that many bytes; declared once, at the beginning."""
        key = (pointer.name, width)
        if key not in self._views:
            size = -(-pointer.size // width)
            buffer = tirx.decl_buffer((size,), _WIDTHS[width], f"{pointer.name}{width}")
            self._views[key] = buffer
            self._blocks[0].insert(0, tirx.DeclBuffer(buffer, data=pointer.data))
        return self._views[key]

    def variable(self, dtype: str, lanes: int = 1) -> Any:
        """A local vector, or a local scalar."""
        buffer = tirx.decl_buffer((lanes,), dtype, "local")
        self.add(tirx.AllocBuffer(buffer))
        return buffer

    @contextmanager
    def loop(self, extent: int, zero: Any = 0) -> Iterator[Any]:
        """A loop from 0; its variable. LLVM does not write it out where `zero` is 0, but it does not know."""
        if extent == 1:
            yield tirx.const(0, WORD)
            return
        variable = tirx.Var("i", WORD)
        self._blocks.append([])
        yield variable
        self.add(tirx.For(variable, 0, extent + zero, tirx.ForKind.SERIAL, self._closed()))

    @contextmanager
    def when(self, condition: Any) -> Iterator[None]:
        self._blocks.append([])
        yield
        self.add(tirx.IfThenElse(condition, self._closed(), None))

    def _closed(self) -> Any:
        return _sequence(self._blocks.pop())

    def body(self, aligned: Sequence[Pointer]) -> Any:
        """Everything written, as one statement, where some pointers begin at whole vectors."""
        made = _sequence(self._blocks[0])
        for pointer in aligned:
            made = tirx.AttrStmt(pointer.data, "storage_alignment", tirx.const(BYTES, WORD), made)
        return made


def _sequence(statements: list[Any]) -> Any:
    return statements[0] if len(statements) == 1 else tirx.SeqStmt(statements)


def element(buffer: Any, index: Any) -> Any:
    return tirx.BufferLoad(buffer, [index])


def store(to: Writer, buffer: Any, index: Any, value: Any) -> None:
    to.add(tirx.BufferStore(buffer, value, [index]))


def vector(buffer: Any, index: Any) -> Any:
    """The vector that begins at an element."""
    lanes = BYTES * 8 // int(str(buffer.dtype).removeprefix("int"))
    return tirx.BufferLoad(buffer, [tirx.Ramp(index, 1, lanes)])


def store_vector(to: Writer, buffer: Any, index: Any, value: Any) -> None:
    lanes = BYTES * 8 // int(str(buffer.dtype).removeprefix("int"))
    to.add(tirx.BufferStore(buffer, value, [tirx.Ramp(index, 1, lanes)]))


def pair(buffer: Any) -> Any:
    """A local pair of vectors."""
    return tirx.BufferLoad(buffer, [tirx.Ramp(0, 1, 2 * WORDS)])


def store_pair(to: Writer, buffer: Any, value: Any) -> None:
    to.add(tirx.BufferStore(buffer, value, [tirx.Ramp(0, 1, 2 * WORDS)]))
