"""Every small fault that could be in a function, in the order of its text."""

import ast
import copy
from collections import Counter
from collections.abc import Container, Iterator
from typing import TypeVar

from attrs import field, frozen

Function = ast.FunctionDef
Node = TypeVar("Node", bound=ast.AST)

BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"all": "any", "any": "all", "min": "max", "max": "min"}
FIRST_ARGUMENT = ("round_up", "sorted", "reversed")
"""Calls that are left out, with their first argument in their place."""
SIBLINGS = {
    one: other
    for pair in (
        ("first", "last"),
        ("start", "end"),
        ("source", "target"),
        ("now", "next"),
        ("inputs", "outputs"),
        ("offset", "bytes"),
        ("rows", "row_bytes"),
        ("reads", "writes"),
        ("read", "written"),
        ("memory", "name"),
        ("peaks", "offsets"),
    )
    for one, other in (pair, pair[::-1])
}
"""Attributes that one mistakes for each other."""
OTHERS = ("first", "attribute", "side", "element")
"""Kinds of faults that are asked for by themselves: only the first turn of a loop, another attribute, half of
an equality, tuples of which one element is not compared.
"""
EMPTY = {
    "bool": ("True", "False"),
    "int": ("0",),
    "list": ("[]",),
    "tuple": ("()",),
    "dict": ("{}",),
    "Mapping": ("{}",),
    "set": ("set()",),
    "frozenset": ("frozenset()",),
    "Iterator": ("iter(())",),
}
"""By what a function returns, the values that say nothing."""


@frozen(kw_only=True)
class Mutant:
    """A function with one fault.

    `name` is unique and stays the same when other functions change: file, qualified name, kind of fault and
    its number among those of the kind in the function. `first` and `last` are the lines of the statement.
    `default` is a parameter and its wrong default, for a fault that is not in the body.
    """

    name: str
    change: str
    function: str
    first: int
    last: int
    tree: ast.Module = field(repr=False)
    default: tuple[str, object] | None = None


@frozen(kw_only=True)
class _Fault:
    """A node in the place of another, which is `parent.field` or, with an index, an element of that."""

    kind: str
    parent: ast.AST
    field: str
    index: int | None
    old: ast.AST
    new: ast.AST
    span: tuple[int, int]


def mutants(
    path: str, text: str, wanted: Container[str] | None = None, *, others: bool = False
) -> Iterator[Mutant]:
    """The mutants of a source file, all or those of the names that are wanted: of the `others` kinds, or of
    all but these. The tree of each is its own: the definition that has the fault.
    """
    for name, module, qualified, function, fault in _planted(path, text, others):
        if wanted is None or name in wanted:
            new = "left out" if fault.kind == "statement" else _text(fault.new)
            yield Mutant(
                name=name,
                change=f"{_text(fault.old)} -> {new}",
                function=qualified,
                first=fault.span[0],
                last=fault.span[1],
                tree=ast.fix_missing_locations(copy.deepcopy(module)),
                default=_default(function, fault),
            )


def names(path: str, text: str, *, others: bool = False) -> list[str]:
    """The names of all mutants of a source file, which begin with `path`."""
    return [name for name, *_ in _planted(path, text, others)]


def _planted(path: str, text: str, others: bool) -> Iterator[tuple[str, ast.Module, str, Function, _Fault]]:
    """Each fault with its name while it is in the tree, which holds one definition; then it is taken out."""
    definitions = (ast.Module(body=[each], type_ignores=[]) for each in ast.parse(text).body)
    found = ((module, *each) for module in definitions for each in _functions(module, ""))
    for module, qualified, function in found:
        count: Counter[str] = Counter()
        for fault in _faults(function):
            if (fault.kind in OTHERS) != others:
                continue
            count[fault.kind] += 1
            _put(fault, fault.new)
            yield f"{path}:{qualified}:{fault.kind}#{count[fault.kind]}", module, qualified, function, fault
            _put(fault, fault.old)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    """Functions and methods with their qualified names; a nested function is part of the outer one."""
    for child in getattr(node, "body", ()):
        if isinstance(child, Function):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _put(fault: _Fault, node: ast.AST) -> None:
    if fault.index is None:
        setattr(fault.parent, fault.field, node)
    else:
        getattr(fault.parent, fault.field)[fault.index] = node


def _text(node: ast.AST) -> str:
    """One line of a node, and for a statement with a body only its head."""
    text = ast.unparse(node).splitlines()
    return text[0] if len(text) == 1 else f"{text[0]} ..."


def _default(function: Function, fault: _Fault) -> tuple[str, object] | None:
    if fault.parent is not function.args:
        return None
    assert isinstance(fault.new, ast.Constant)
    assert fault.index is not None
    named = [*function.args.posonlyargs, *function.args.args]
    if fault.field == "kw_defaults":
        return function.args.kwonlyargs[fault.index].arg, fault.new.value
    return named[len(named) - len(function.args.defaults) + fault.index].arg, fault.new.value


def _faults(function: Function) -> Iterator[_Fault]:
    """The faults of one function: wrong defaults, then those of its body."""
    span = (function.lineno, function.lineno)
    for name in ("defaults", "kw_defaults"):
        for index, value in enumerate(getattr(function.args, name)):
            for kind, new in _of_constant(value) if isinstance(value, ast.Constant) else ():
                yield _Fault(
                    kind=kind, parent=function.args, field=name, index=index, old=value, new=new, span=span
                )
    returns = ast.unparse(function.returns) if function.returns else ""
    for number in range(len(function.body)):
        if not (number == 0 and _is_text(function.body[0])):
            yield from _below(function, "body", number, function.body[number], span, returns)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _below(
    parent: ast.AST, name: str, index: int | None, node: ast.AST, span: tuple[int, int], returns: str
) -> Iterator[_Fault]:
    """The faults of a node, and of what is in it. Messages and annotations have none."""
    if isinstance(node, ast.JoinedStr | ast.Raise) and not isinstance(node, ast.stmt):
        return
    if isinstance(node, ast.stmt):
        span = _lines(node)
    for kind, new in (*_of_statement(node, returns), *_of_expression(node)):
        fixed = ast.copy_location(new, node)
        yield _Fault(kind=kind, parent=parent, field=name, index=index, old=node, new=fixed, span=span)
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Name | ast.Constant):
        return
    if isinstance(node, ast.FunctionDef):
        returns = ast.unparse(node.returns) if node.returns else ""
    for below, value in ast.iter_fields(node):
        if below in ("annotation", "returns", "args", "decorator_list") and not isinstance(node, ast.Call):
            continue
        if isinstance(value, list):
            for number, each in enumerate(value):
                if isinstance(each, ast.AST):
                    yield from _below(node, below, number, each, span, returns)
        elif isinstance(value, ast.AST):
            yield from _below(node, below, None, value, span, returns)


def _lines(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement, without those of its body."""
    body = getattr(node, "body", None)
    end = node.end_lineno or node.lineno
    return node.lineno, max(node.lineno, body[0].lineno - 1) if body else end


def _of_statement(node: ast.AST, returns: str) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Expr() if not _is_text(node):
            yield "statement", _never(node)
        case ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Continue() | ast.Break():
            yield "statement", _never(node)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "statement", _never(node)
        case ast.Return(value=None):
            yield "statement", _never(node)
        case ast.Return(value=value) if value is not None:
            for text in _empty(returns):
                if ast.unparse(value) != text:
                    yield "return", ast.Return(value=_parsed(text))
        case ast.If(body=body, orelse=orelse):
            for value in (True, False):
                yield "condition", ast.If(test=ast.Constant(value=value), body=body, orelse=orelse)
        case ast.While(body=body):
            yield "loop", ast.While(test=ast.Constant(value=False), body=body, orelse=[])
        case ast.For(target=target, body=body):
            yield "loop", ast.For(target=target, iter=_parsed("()"), body=body, orelse=[])
            yield "first", ast.For(target=target, iter=_only_first(node.iter), body=body, orelse=[])


def _never(node: ast.stmt) -> ast.stmt:
    """The statement, not executed. It is still there: a generator stays one."""
    return ast.If(test=ast.Constant(value=False), body=[node], orelse=[])


def _empty(returns: str) -> tuple[str, ...]:
    if returns.endswith("| None"):
        return ("None",)
    return EMPTY.get(returns.partition("[")[0], ())


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _of_expression(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=right):
            for index, operator in enumerate(ops):
                other = [*ops[:index], BOUNDARY[type(operator)](), *ops[index + 1 :]]
                yield "comparison", ast.Compare(left=left, ops=other, comparators=right)
            yield from _members(node)
            yield from _halves(node)
        case ast.BoolOp(op=op, values=values):
            yield "logic", ast.BoolOp(op=ast.Or() if isinstance(op, ast.And) else ast.And(), values=values)
            for index in range(len(values)):
                left = [*values[:index], *values[index + 1 :]]
                yield "operand", left[0] if len(left) == 1 else ast.BoolOp(op=op, values=left)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "sign", operand
        case ast.IfExp(body=body, orelse=orelse):
            yield "condition", body
            yield "condition", orelse
        case ast.comprehension(target=target, iter=source, ifs=ifs, is_async=kind):
            for index in range(len(ifs)):
                left = [*ifs[:index], *ifs[index + 1 :]]
                yield "filter", ast.comprehension(target=target, iter=source, ifs=left, is_async=kind)
            first = _only_first(source)
            yield "first", ast.comprehension(target=target, iter=first, ifs=ifs, is_async=kind)
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if name in SIBLINGS:
            yield "attribute", ast.Attribute(value=value, attr=SIBLINGS[name], ctx=ast.Load())
        case ast.BinOp():
            yield from _of_arithmetic(node)
        case ast.Call(func=ast.Name(id=name)):
            yield from _of_call(node, name)
        case ast.Constant():
            yield from _of_constant(node)


def _of_arithmetic(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    if type(node.op) not in ARITHMETIC:
        return
    other = ARITHMETIC[type(node.op)]()
    yield "arithmetic", ast.BinOp(left=node.left, op=other, right=node.right)
    yield "operand", node.left
    if not isinstance(node.op, ast.Mod):
        yield "operand", node.right


def _of_call(node: ast.Call, name: str) -> Iterator[tuple[str, ast.AST]]:
    if name in NAMES:
        function = ast.Name(id=NAMES[name], ctx=ast.Load())
        yield "name", ast.Call(func=function, args=node.args, keywords=node.keywords)
    if name in FIRST_ARGUMENT:
        yield "call", node.args[0]


def _of_constant(node: ast.Constant) -> Iterator[tuple[str, ast.Constant]]:
    if isinstance(node.value, bool):
        yield "constant", ast.Constant(value=not node.value)
    elif isinstance(node.value, int):
        yield "constant", ast.Constant(value=node.value + 1)
        if node.value > 0:
            yield "constant", ast.Constant(value=node.value - 1)


def _members(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    """Membership in a tuple written out, with one element fewer."""
    listed = node.comparators[0]
    if not isinstance(node.ops[0], ast.In | ast.NotIn) or not isinstance(listed, ast.Tuple | ast.Set):
        return
    for index in range(len(listed.elts)):
        fewer = ast.Tuple(elts=[*listed.elts[:index], *listed.elts[index + 1 :]], ctx=ast.Load())
        yield "member", ast.Compare(left=node.left, ops=node.ops, comparators=[fewer])


def _only_first(source: ast.expr) -> ast.expr:
    """The first element alone."""
    listed = ast.List(elts=[ast.Starred(value=source, ctx=ast.Load())], ctx=ast.Load())
    return ast.Subscript(value=listed, slice=ast.Slice(upper=ast.Constant(value=1)), ctx=ast.Load())


def _halves(node: ast.Compare) -> Iterator[tuple[str, ast.AST]]:
    """An equality that holds on one side too, and tuples that differ in an element that is not compared."""
    (operator, *more), (right, *_) = node.ops, node.comparators
    if more or not isinstance(operator, ast.Eq | ast.NotEq):
        return
    if isinstance(node.left, ast.Tuple) and isinstance(right, ast.Tuple):
        for index in range(len(node.left.elts)):
            sides = [
                ast.Tuple(elts=[*side.elts[:index], *side.elts[index + 1 :]], ctx=ast.Load())
                for side in (node.left, right)
            ]
            yield "element", ast.Compare(left=sides[0], ops=node.ops, comparators=[sides[1]])
        return
    equal = isinstance(operator, ast.Eq)
    for other in (ast.LtE(), ast.GtE()) if equal else (ast.Lt(), ast.Gt()):
        yield "side", ast.Compare(left=node.left, ops=[other], comparators=node.comparators)
