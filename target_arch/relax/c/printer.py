"""Flat TIR as C99: one PrimFunc becomes one function definition that needs <stdint.h>, <math.h> and
nothing else.

Input: a PrimFunc without blocks, buffers flattened to one dimension (`target_arch.relax.lower.lowering` makes
it). Parameters are its buffers, in order; pointers are `const` where nothing is stored, and `restrict` except
those that may alias (see `in_place`); a loop that writes one of these says that its turns are independent. A
local buffer of one element is a variable, of at most `STACK_BYTES`
an array, a larger one an additional pointer parameter after the others: scratch that the memory plan
provides.

The name of a function is its kind and a hash of everything else, so equal text means one function.

Tests: `tests/relax/c/test_c_printer.py` prints, compiles, runs and compares.
"""

import hashlib
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any, ClassVar

from attrs import frozen
from tvm import tirx

from target_arch.plan.kernels import CFunction
from target_arch.plan.model import C_TYPES, DTYPE_BYTES
from target_arch.relax.c.expressions import (
    PRODUCT,
    SUM,
    Scope,
    UnprintableError,
    at_level,
    dtype_of,
)
from target_arch.relax.c.in_place import in_place

STACK_BYTES = 256
"""The largest local buffer that may be on the stack."""
LINE = 110
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if inline int"
        " long register restrict return short signed sizeof static struct switch typedef union unsigned void"
        " volatile while",
    )
)


_INDEPENDENT = (
    "#if defined(__GNUC__) && defined(__x86_64__) && !defined(__clang__)",
    "#pragma GCC ivdep",
    "#endif",
)
"""Before a loop whose turns are independent though pointers may be equal: with -O2, GCC takes vectors where
it need not ask first whether arrays overlap. Other compilers ask.
"""
_TRANSPARENT = (tirx.SeqStmt, tirx.AttrStmt, tirx.DeclBuffer, tirx.Bind)
"""Statements that store nothing themselves."""


@frozen(kw_only=True)
class PrintedFunction:
    """A C function and the bytes of its scratch parameters, which come last in `function.parameters`."""

    function: CFunction
    scratch: tuple[int, ...]


def print_function(
    function: Any, kind: str, *, loops: Mapping[Any, str] | None = None, wraps: bool = False
) -> PrintedFunction:
    """The C of a flat PrimFunc; `kind` begins its name, `loops` gives loop variables better names than
    TIR did.

    `wraps` gives int32 and int64 arithmetic on data the wrap-around that TIR on most machines has and C
    has not; where a kernel's values are known to stay in range, it is not needed. Raises UnprintableError
    for a node without C.
    """
    shared = in_place(function)
    printer = _Printer(function, loops or {}, wraps, frozenset(written for written, _ in shared))
    printer.statement(function.body)
    parameters = printer.parameters()
    free = {number for pair in shared for number in pair}
    signature = [
        f"{c_type}{'' if number in free else 'restrict '}{name}"
        for number, (c_type, name) in enumerate(parameters)
    ]
    body = "\n".join(["{", *printer.unused(), *printer.lines, "}"]) + "\n"
    digest = hashlib.sha256(("\n".join(signature) + body).encode()).hexdigest()[:8]
    name = f"{kind}_{digest}"
    return PrintedFunction(
        function=CFunction(
            name=name,
            parameters=tuple(c_type for c_type, _ in parameters),
            text="\n".join([*_comment(function, kind), *_head(name, signature)]) + "\n" + body,
            in_place=shared,
        ),
        scratch=tuple(_bytes(buffer) for buffer in printer.scratch),
    )


def _head(name: str, signature: list[str]) -> list[str]:
    """The first lines of a definition, broken between parameters only."""
    text = f"void {name}({', '.join(part.replace(' ', chr(0)) for part in signature)})"
    lines = textwrap.wrap(text, LINE, subsequent_indent=" " * (len(name) + 6), break_long_words=False)
    return [line.replace(chr(0), " ") for line in lines]


def walk(statement: Any) -> Iterator[Any]:
    """A statement and every statement in it, in program order."""
    yield statement
    for child in _children(statement):
        yield from walk(child)


def _children(statement: Any) -> list[Any]:
    if isinstance(statement, tirx.SeqStmt):
        return list(statement.seq)
    found = [getattr(statement, name, None) for name in ("body", "then_case", "else_case")]
    return [child for child in found if child is not None]


def is_scratch(buffer: Any) -> bool:
    """True for a local buffer that is too large for the stack."""
    return _bytes(buffer) > STACK_BYTES


def _bytes(buffer: Any) -> int:
    return prod(int(extent) for extent in buffer.shape) * DTYPE_BYTES[str(buffer.dtype)]


def _comment(function: Any, kind: str) -> list[str]:
    """A comment about the function, made from the function alone, so that equal functions have equal text."""
    shapes = [f"{p.name} {p.dtype}[{','.join(str(int(e)) for e in p.shape)}]" for p in function.params]
    text = f"/* {kind}: {', '.join(shapes)} */"
    return textwrap.wrap(text, LINE, subsequent_indent=" * ", break_long_words=False)


def _c_type(node: Any, dtype: str) -> str:
    if dtype not in C_TYPES:
        raise UnprintableError(node, f"has element type {dtype}, which C99 lacks,")
    return C_TYPES[dtype]


class _Printer:
    """Prints statements into `lines`, and knows the names in force where it stands."""

    def __init__(
        self, function: Any, loops: Mapping[Any, str], wraps: bool, replacing: frozenset[int]
    ) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.loops = loops
        self.active: list[str] = []
        self.names: dict[Any, str] = {}
        self.scalars: set[Any] = set()
        self.undeclared: list[Any] = []
        self.scope = Scope(self.names, self.scalars, wraps=wraps)
        self.scope.declare = self._declare_constant
        statements = list(walk(function.body))
        stored = {node.buffer for node in statements if isinstance(node, tirx.BufferStore)}
        locals_ = [node.buffer for node in statements if isinstance(node, tirx.AllocBuffer)]
        self.scratch = [buffer for buffer in locals_ if is_scratch(buffer) and buffer in stored]
        self.params = [*function.params, *self.scratch]
        for param in self.params:
            self._name(param)
        self.replacing = [self.params[number] for number in sorted(replacing)]
        self.owner: dict[Any, Any] = {param: param for param in self.params}
        for node in statements:
            if isinstance(node, tirx.DeclBuffer):
                self._view(node)
        self.stores: dict[Any, int] = {}
        for node in statements:
            if isinstance(node, tirx.BufferStore):
                owner = self.owner.get(node.buffer, node.buffer)
                self.stores[owner] = self.stores.get(owner, 0) + 1

    def parameters(self) -> list[tuple[str, str]]:
        """C type and name of every parameter."""
        return [
            (
                f"{'' if param in self.stores else 'const '}{_c_type(param, str(param.dtype))} *",
                self.names[param],
            )
            for param in self.params
        ]

    def unused(self) -> list[str]:
        """Lines that mark parameters that are deliberately unused."""
        names = [self.names[param] for param in self.params if param not in self.stores]
        return [f"    (void){name};" for name in names if name not in self.scope.read]

    def statement(self, node: Any) -> None:
        """Prints one statement, with the statements in it. Raises UnprintableError."""
        printer = self._PRINTERS.get(type(node))
        if printer is None:
            raise UnprintableError(node)
        printer(self, node)

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _block(self, opening: str, body: Any) -> None:
        self._line(opening)
        names, undeclared = len(self.active), len(self.undeclared)
        self.depth += 1
        self.statement(body)
        self.depth -= 1
        del self.active[names:], self.undeclared[undeclared:]

    def _name(self, variable: Any, wish: str = "") -> str:
        base = re.sub(r"\W", "_", wish or variable.name)
        base = f"_{base}" if base[:1].isdigit() or base in _RESERVED else base
        name, count = base, 1
        while name in self.active:
            count += 1
            name = f"{base}_{count}"
        self.active.append(name)
        if variable is not None:
            self.names[variable] = name
        return name

    def _declare_constant(self, c_type: str, value: str) -> str:
        name = self._name(None, "value")
        self._line(f"const {c_type} {name} = {value};")
        return name

    def _view(self, node: Any) -> None:
        """Another shape of a buffer: the same C pointer."""
        source = next((arg for arg in getattr(node.data, "args", ()) if arg in self.owner), None)
        if source is None or str(source.dtype) != str(node.buffer.dtype):
            raise UnprintableError(node, "views a buffer as another type")
        self.owner[node.buffer] = self.owner[source]
        self.names[node.buffer] = self.names[source]

    def _sequence(self, node: Any) -> None:
        for child in node.seq:
            self.statement(child)

    def _loop(self, node: Any) -> None:
        if node.kind not in (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED):
            raise UnprintableError(node, f"of kind {tirx.ForKind(node.kind).name.lower()} has no form in C")
        self._settle(node)
        if self._is_of_independent_turns(node):
            self.lines += _INDEPENDENT
        c_type = _c_type(node, dtype_of(node.loop_var))
        start = at_level(node.min, self.scope)
        end = at_level(node.extent, self.scope, SUM)
        stop = end if start == "0" else f"{at_level(node.min, self.scope, SUM)} + {end}"
        step = "1" if node.step is None else at_level(node.step, self.scope)
        names = len(self.active)
        name = self._name(node.loop_var, self.loops.get(node.loop_var, ""))
        advance = f"++{name}" if step == "1" else f"{name} += {step}"
        self._block(f"for ({c_type} {name} = {start}; {name} < {stop}; {advance}) {{", node.body)
        self._line("}")
        del self.active[names:]

    def _is_of_independent_turns(self, node: Any) -> bool:
        """Whether a loop does nothing but store an element of an output that may be an input: nothing reads
        that output, and of the input a turn reads the element that it stores, as `in_place` proved.
        """
        inner = [each for each in walk(node.body) if not isinstance(each, _TRANSPARENT)]
        stores = [each for each in inner if isinstance(each, tirx.BufferStore)]
        if len(stores) != 1 or len(inner) > len(stores):
            return False
        return self.owner.get(stores[0].buffer) in self.replacing

    def _while(self, node: Any) -> None:
        self._settle(node)
        self._block(f"while ({self.scope.guarded(node.condition, 0)}) {{", node.body)
        self._line("}")

    def _condition(self, node: Any) -> None:
        self._settle(node)
        self._block(f"if ({at_level(node.condition, self.scope)}) {{", node.then_case)
        if node.else_case is not None:
            self._block("} else {", node.else_case)
        self._line("}")

    def _allocate(self, node: Any) -> None:
        buffer = node.buffer
        if buffer in self.scratch or buffer not in self.stores:
            return
        count = prod(int(extent) for extent in buffer.shape)
        name, c_type = self._name(buffer), _c_type(buffer, str(buffer.dtype))
        if count == 1:
            self.scalars.add(buffer)
            self.undeclared.append(buffer)
        else:
            self._line(f"{c_type} {name}[{count}];")

    def _store(self, node: Any) -> None:
        buffer = node.buffer
        if buffer not in self.names:
            raise UnprintableError(node, "stores to a buffer that is neither parameter nor local")
        value = at_level(node.value, self.scope)
        target = self.names[buffer]
        if buffer in self.undeclared:
            self.undeclared.remove(buffer)
            const = "const " if self.stores[buffer] == 1 else ""
            target = f"{const}{_c_type(buffer, str(buffer.dtype))} {target}"
        elif buffer not in self.scalars:
            if len(node.indices) != 1:
                raise UnprintableError(node, "has several indices: flatten first")
            target = f"{target}[{at_level(node.indices[0], self.scope)}]"
        self._line(f"{target} = {value};")

    def _settle(self, node: Any) -> None:
        """Declares the undeclared local variables that a loop or condition stores to."""
        stored = {inner.buffer for inner in walk(node) if isinstance(inner, tirx.BufferStore)}
        for buffer in [buffer for buffer in self.undeclared if buffer in stored]:
            self.undeclared.remove(buffer)
            self._line(f"{_c_type(buffer, str(buffer.dtype))} {self.names[buffer]};")

    def _bind(self, node: Any) -> None:
        value = at_level(node.value, self.scope)
        self._line(f"const {_c_type(node, dtype_of(node.value))} {self._name(node.var)} = {value};")

    def _attribute(self, node: Any) -> None:
        self.statement(node.body)

    def _evaluate(self, node: Any) -> None:
        if not isinstance(node.value, tirx.IntImm):
            self._line(f"{at_level(node.value, self.scope, PRODUCT)};")

    _PRINTERS: ClassVar[Mapping[type, Callable[["_Printer", Any], None]]] = {
        tirx.SeqStmt: _sequence,
        tirx.For: _loop,
        tirx.While: _while,
        tirx.IfThenElse: _condition,
        tirx.AllocBuffer: _allocate,
        tirx.DeclBuffer: lambda self, node: None,
        tirx.BufferStore: _store,
        tirx.Bind: _bind,
        tirx.AttrStmt: _attribute,
        tirx.Evaluate: _evaluate,
    }
