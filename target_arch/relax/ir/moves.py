"""Moves of elements in one order, whatever order a file has them in.

A file that states quantization between operators (ONNX's QDQ, PyTorch's pt2e) may have a reshape, transpose,
slice, padding or concatenation of real values where nothing is computed. Here a quantize comes before such
moves and a dequantize after them, and where both then meet on one grid, neither is left. A padding comes
after transposes and reshapes that only name dimensions, and operands have the rank of the result. Every step
is exact; so a product finds its conversions and its padding beside it.
"""

from collections.abc import Mapping
from math import prod
from typing import Any, TypeVar

from attrs import define, evolve, field
from tvm import relax

from target_arch.plan.operators.kinds import OperatorKind
from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.graph import FileFacts, dtype_of, operator_name, shape_of, with_main
from target_arch.relax.ir.variables import variables_of

_REPEATED, _JOINED, _PADDED = "broadcast_to", str(OperatorKind.CONCAT), "nn.pad"
_ONE_OPERAND = (
    *("expand_dims", "flatten", "flip", "permute_dims", "squeeze", "strided_slice"),
    str(OperatorKind.RESHAPE),
)
_Fact = TypeVar("_Fact")
_MOVES = (_REPEATED, _JOINED, _PADDED, *_ONE_OPERAND)
"""Operators that only move the elements of their first operand, or of a tuple of them."""
_RESHAPED, _PERMUTED = str(OperatorKind.RESHAPE), "permute_dims"
_RENAMES = (_RESHAPED, _PERMUTED)
_PAIRS = ("multiply", "subtract", str(OperatorKind.ADD))
_QUANTIZE, _DEQUANTIZE = str(OperatorKind.QUANTIZE), str(OperatorKind.DEQUANTIZE)


def with_moves_in_order(module: Any, file: FileFacts) -> tuple[Any, FileFacts]:
    """Return the module with moves in that order, and the facts of its file by the expressions of it."""
    function = module["main"]
    names = {operator_name(each.value) for each in bindings_of(function)}
    if len(function.body.blocks) != 1 or not names & {_QUANTIZE, _DEQUANTIZE, _REPEATED, _PADDED, *_PAIRS}:
        return module, file
    (block,) = function.body.blocks
    moves = _Moves(
        bindings=[(each.var, each.value) for each in block.bindings],
        file=file,
        active=set(function.params),
        returned=frozenset(variables_of(function.body.body)),
    )
    moves.quantize_first()
    moves.move_first()
    bindings = [relax.VarBinding(var, value) for var, value in moves.bindings]
    body = relax.SeqExpr([type(block)(bindings)], moves.renamed(function.body.body))
    main = relax.Function(function.params, body, function.ret_ty, attrs=function.attrs)
    return with_main(module, main), moves.file


@define(kw_only=True, eq=False)
class _Moves:
    """The bindings of a function in order; `active` are the variables that depend on its inputs, as far as
    they were seen, `renames` the variables that others stand for.
    """

    bindings: list[tuple[Any, Any]]
    file: FileFacts
    active: set[Any]
    returned: frozenset[Any]
    renames: dict[Any, Any] = field(factory=dict)
    _bound: dict[Any, Any] = field(factory=dict)
    _builder: Any = field(factory=relax.BlockBuilder)

    def quantize_first(self) -> None:
        """Put each quantize before the moves that it alone reads."""
        bound = dict(self.bindings)
        readers: dict[Any, int] = {}
        for value in bound.values():
            for var in variables_of(value):
                readers[var] = readers.get(var, 0) + 1
        changed: dict[Any, tuple[Any, Any]] = {}
        for original, stated in reversed(self.bindings):
            var, value = changed.get(original, (original, stated))
            if operator_name(value) != _QUANTIZE or not _is_whole(value):
                continue
            between = value.args[0]
            move = bound.get(between)
            if move is None or not _moves_one(move):
                continue
            if readers[between] != 1 or between in self.returned:
                continue
            before = self._typed(relax.Call(value.op, [move.args[0], *value.args[1:]], value.attrs))
            stored = type(between)(between.name, before.ty)
            after = self._typed(_moved(move, [stored], value))
            changed[between], changed[original] = (stored, before), (var, after)
            self._name(value, before)
            self._name(move, after)
            self._is_tensor(value, after)
        self.bindings = [changed.get(var, (var, value)) for var, value in self.bindings]

    def move_first(self) -> None:
        """Put each dequantize and padding behind the moves that read it. What converts there and back is
        left out.
        """
        bindings, self.bindings = self.bindings, []
        for var, stated in bindings:
            value = self._with_renames(stated)
            kept = self._standing_for(value)
            if kept is not None:
                self.renames[var] = kept
                continue
            self._bind(var, self._padded_last(self._of_one_rank(var, self._behind(var, value))))

    def _standing_for(self, value: Any) -> Any | None:
        """The variable whose value a conversion to and fro has, or a repetition that repeats nothing."""
        name = operator_name(value)
        if name == _REPEATED and shape_of(value.args[0]) == shape_of(value):
            return value.args[0] if isinstance(value.args[0], relax.Var) else None
        if name != _QUANTIZE or not _is_whole(value):
            return None
        before = self._dequantized(value.args[0])
        if before is None or _grid(before) != _grid(value):
            return None
        return before.args[0] if dtype_of(before.args[0]) == dtype_of(value) else None

    def _behind(self, var: Any, value: Any) -> Any:
        """The dequantize of the moved integers in place of a move of what a dequantize gives."""
        if operator_name(value) not in _MOVES or not self._is_active(value):
            return value
        whole = value.args[0]
        operands = [whole] if isinstance(whole, relax.Var) else [*getattr(whole, "fields", ())]
        befores = [call for call in map(self._dequantized, operands) if call is not None]
        if not befores or len(befores) != len(operands):
            return value
        first = befores[0]
        if not all(_alike(each, first) for each in befores):
            return value
        if operator_name(value) == _PADDED and not _pads_nothing(value):
            return value
        stored = self._typed(_moved(value, [each.args[0] for each in befores], first))
        moved = type(var)(f"{var.name}_stored", stored.ty)
        self._bind(moved, stored)
        last = self._typed(relax.Call(first.op, [moved, *first.args[1:]], first.attrs))
        self._name(value, stored)
        self._name(value, last)
        self._is_tensor(value, last)
        return last

    def _of_one_rank(self, var: Any, value: Any) -> Any:
        """An operator on two tensors with each operand of the result's size in the result's shape."""
        if operator_name(value) not in _PAIRS:
            return value
        shape, operands = shape_of(value), list(value.args)
        for number, operand in enumerate(operands):
            own = shape_of(operand) if operand in self.active else shape
            if own == shape or prod(own) != prod(shape):
                continue
            call = relax.op.reshape(operand, shape)
            reshaped = type(var)(f"{var.name}_operand", relax.TensorType(shape, dtype_of(operand)))
            self._bind(reshaped, self._behind(reshaped, self._typed(call)))
            operands[number] = reshaped
        if operands == list(value.args):
            return value
        result = self._typed(relax.Call(value.op, operands, value.attrs))
        self._name(value, result)
        self._is_tensor(value, result)
        return result

    def _padded_last(self, value: Any) -> Any:
        """A padding of a moved tensor in place of a move of a padded one, so that a convolution finds it."""
        pad = self._bound.get(value.args[0]) if operator_name(value) in _RENAMES else None
        if pad is None or operator_name(pad) != _PADDED or not self._is_active(pad):
            return value
        sides = [int(width) for width in pad.attrs.pad_width]
        places = _places(value, shape_of(pad), shape_of(value))
        wide = {at // 2 for at, width in enumerate(sides) if width}
        if places is None or wide - {*places}:
            return value
        shape = tuple(1 if at is None else shape_of(pad.args[0])[at] for at in places)
        moved = relax.DataflowVar("unpadded", relax.TensorType(shape, dtype_of(value)))
        if operator_name(value) == _RESHAPED:
            self._bind(moved, self._typed(relax.op.reshape(pad.args[0], shape)))
        else:
            self._bind(moved, self._typed(relax.Call(value.op, [pad.args[0]], value.attrs)))
        none = [0, 0]
        widths = [width for at in places for width in (none if at is None else sides[2 * at : 2 * at + 2])]
        last = relax.op.nn.pad(moved, widths, str(pad.attrs.pad_mode), float(pad.attrs.pad_value))
        result = self._typed(last)
        self._name(value, result)
        self._is_tensor(value, result)
        return result

    def _dequantized(self, expr: Any) -> Any | None:
        """The dequantize of a whole computed tensor that gives a value."""
        call = self._bound.get(expr)
        if call is None or operator_name(call) != _DEQUANTIZE or not _is_whole(call):
            return None
        return call if call.args[0] in self.active else None

    def _bind(self, var: Any, value: Any) -> None:
        self.bindings.append((var, value))
        self._bound[var] = value
        if self._is_active(value):
            self.active.add(var)

    def _is_active(self, value: Any) -> bool:
        return any(each in self.active for each in variables_of(value))

    def _with_renames(self, value: Any) -> Any:
        if not any(each in self.renames for each in variables_of(value)):
            return value
        result = self._typed(self.renamed(value))
        self._name(value, result)
        self._is_tensor(value, result)
        return result

    def renamed(self, expr: Any) -> Any:
        """The expression with the variables that others stand for."""
        if isinstance(expr, relax.Var):
            return self.renames.get(expr, expr)
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self.renamed(each) for each in expr.fields])
        if isinstance(expr, relax.TupleGetItem):
            return relax.TupleGetItem(self.renamed(expr.tuple_value), expr.index)
        if isinstance(expr, relax.Call):
            arguments = [self.renamed(each) for each in expr.args]
            return relax.Call(expr.op, arguments, expr.attrs, expr.ty_args)
        return expr

    def _typed(self, call: Any) -> Any:
        return self._builder.normalize(call)

    def _name(self, old: Any, new: Any) -> None:
        """Let a new expression have the author's name of an old one, and its device."""
        devices = _with(self.file.devices, old, new)
        self.file = evolve(self.file, authors=_with(self.file.authors, old, new), devices=devices)

    def _is_tensor(self, old: Any, new: Any) -> None:
        """Let a new expression be the tensor of the file that an old one is."""
        self.file = evolve(self.file, tensors=_with(self.file.tensors, old, new))


def _with(known: Mapping[Any, _Fact], old: Any, new: Any) -> Mapping[Any, _Fact]:
    return {**known, new: known[old]} if old in known else known


def _places(move: Any, before: tuple[int, ...], after: tuple[int, ...]) -> list[int | None] | None:
    """The dimension of the operand that each of the result is, None for a new one of extent 1; None where a
    reshape does more than add and drop such dimensions.
    """
    if operator_name(move) != _RESHAPED:
        axes = move.attrs.axes
        return list(range(len(before))[::-1]) if axes is None else [int(axis) % len(before) for axis in axes]
    kept = [at for at, extent in enumerate(before) if extent != 1]
    if [before[at] for at in kept] != [extent for extent in after if extent != 1]:
        return None
    left = iter(kept)
    return [None if extent == 1 else next(left) for extent in after]


def _moves_one(value: Any) -> bool:
    """Whether a call moves the elements of one variable, and adds none but zeros."""
    name = operator_name(value)
    if name == _PADDED and not _pads_nothing(value):
        return False
    return name in (*_ONE_OPERAND, _PADDED, _REPEATED) and isinstance(value.args[0], relax.Var)


def _moved(move: Any, operands: list[Any], conversion: Any) -> Any:
    """The same move of stored operands, on the grid of a conversion."""
    if operator_name(move) == _JOINED:
        return relax.op.concat(operands, move.attrs.axis)
    if operator_name(move) == _PADDED:
        zero = float(conversion.args[2].value.numpy().item())
        return relax.op.nn.pad(operands[0], list(move.attrs.pad_width), "constant", zero)
    return relax.Call(move.op, [*operands, *move.args[1:]], move.attrs)


def _pads_nothing(pad: Any) -> bool:
    """Whether what a padding adds is zero, which every grid has."""
    return str(pad.attrs.pad_mode) == "constant" and float(pad.attrs.pad_value) == 0


def _is_whole(conversion: Any) -> bool:
    """Whether one scale and one zero point, which are numbers, hold for a whole tensor."""
    return all(hasattr(each, "value") and each.value.numpy().size == 1 for each in conversion.args[1:3])


def _grid(conversion: Any) -> tuple[float, int]:
    scale, zero = (each.value.numpy().item() for each in conversion.args[1:3])
    return float(scale), int(zero)


def _alike(one: Any, other: Any) -> bool:
    return _grid(one) == _grid(other) and dtype_of(one.args[0]) == dtype_of(other.args[0])
