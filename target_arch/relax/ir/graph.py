"""Facts about one Relax function that matching, layout and lowering share.

The function must be straight-line: dataflow blocks of bindings, one tensor or a tuple of tensors returned.
Control flow is refused by the importers.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

from attrs import field, frozen
from tvm import relax
from tvm.ir import IRModule

from target_arch.plan.model import Quantization, VirtualDevice
from target_arch.plan.operators.facts import Arithmetic
from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.defined import is_defined
from target_arch.relax.ir.matchable import Matchable
from target_arch.relax.ir.variables import variables_of

T = TypeVar("T")


@frozen(kw_only=True, eq=False, slots=False)
class Graph:
    """A Relax function with the definition and the users of every variable, and the variables it returns.

    `arithmetic` is the format whose rules the quantized operators of this program follow: `tflite` or `onnx`.
    `bound` maps a variable to its expression, `users` a variable to the variables whose expressions read it
    (dead ones left out), `reads` one that is not dead to those that its expression reads, each once.
    """

    function: Any
    module: Any = field(repr=False)
    """What the function is of: it has the functions of TIR that it calls."""
    arithmetic: Arithmetic
    variables: tuple[Any, ...]
    bound: Any
    reads: Mapping[Any, tuple[Any, ...]] = field(repr=False)
    users: Mapping[Any, tuple[Any, ...]]
    outputs: tuple[Any, ...]
    names: Mapping[Any, str] = field(repr=False)
    """The author's names of the operators that compute these variables; not every variable has one."""
    constant: frozenset[Any] = field(repr=False)
    """Variables whose value follows from constants alone, by operators that TVM can fold: operands of our own
    definitions are computed. Used for membership only, never for order."""
    quantizations: Mapping[Any, Quantization] = field(factory=dict, repr=False)
    """Of activations, by variable, as the model file states them; composites may state others."""
    in_file: Mapping[Any, str] = field(factory=dict, repr=False)
    """The tensors of the model file that variables are, by name."""
    devices: Mapping[Any, VirtualDevice] = field(factory=dict, repr=False)
    """The devices that variables are computed on, where the author names one."""

    @cached_property
    def positions(self) -> Mapping[Any, int]:
        """The number of each variable in program order."""
        return {var: number for number, var in enumerate(self.variables)}

    @cached_property
    def called(self) -> Mapping[Any, str]:
        """The operator that the expression of each variable calls, with its dialect; empty for none."""
        return {var: _full_name(self.bound[var]) for var in self.variables}

    @cached_property
    def operators(self) -> Mapping[Any, str]:
        """The `operator_name` of the expression of each variable."""
        return {
            var: operator_name(self.bound[var]) if name == _CALL_OF_TIR else _without_dialect(name)
            for var, name in self.called.items()
        }

    @cached_property
    def matchable(self) -> Matchable:
        """The bindings as TVM's patterns take them."""
        return Matchable(
            variables=self.variables, positions=self.positions, bound=self.bound, reads=self.reads
        )

    def is_parameter(self, var: Any) -> bool:
        """True for an input of the function."""
        return var not in self.bound

    def is_activation(self, expr: Any) -> bool:
        """True for a variable that depends on an input of the function."""
        return isinstance(expr, relax.Var) and expr not in self.constant

    def call(self, var: Any) -> Any | None:
        """The call that a variable is bound to, else None."""
        value = self.bound.get(var)
        return value if isinstance(value, relax.Call) else None


@frozen(kw_only=True, eq=False)
class FileFacts:
    """Facts that only the model file has, by the expressions that variables are bound to.

    `authors` are the authors' names of operators, `quantizations` the grids of tensors (also by parameters),
    `tensors` the names of tensors (also by variables), `devices` those that operators are put on (also by
    variables).
    """

    authors: Mapping[Any, str] = field(factory=dict)
    quantizations: Mapping[Any, Quantization] = field(factory=dict)
    tensors: Mapping[Any, str] = field(factory=dict)
    devices: Mapping[Any, VirtualDevice] = field(factory=dict)


def read_graph(module: Any, arithmetic: Arithmetic, file: FileFacts | None = None) -> Graph:
    """The facts of a module's `main`, whose quantized operators follow `arithmetic`, and of its file."""
    file = file or FileFacts()
    function = module["main"]
    bound = {each.var: each.value for each in bindings_of(function)}
    parameters = tuple(function.params)
    one = {var: var for var in (*parameters, *bound)}
    outputs = tuple(one.get(var, var) for var in _outputs(function, bound))
    reads = _live_reads(bound, one, outputs)
    live = tuple(reads)
    users: dict[Any, list[Any]] = {}
    constant: set[Any] = set()
    for var, operands in reads.items():
        for read in operands:
            users.setdefault(read, []).append(var)
        if not all(read in constant for read in operands):
            continue
        if is_defined(bound[var]):
            constant -= _behind(operands, bound)
        else:
            constant.add(var)
    return Graph(
        function=function,
        module=module,
        arithmetic=arithmetic,
        variables=live,
        bound=bound,
        reads=reads,
        users={var: tuple(found) for var, found in users.items()},
        outputs=outputs,
        names=_facts(file.authors, ((var, bound[var]) for var in live)),
        constant=frozenset(constant),
        quantizations=_facts(
            file.quantizations, ((var, bound.get(var, var)) for var in (*parameters, *live))
        ),
        in_file=_facts(file.tensors, chain(zip(parameters, parameters, strict=True), _of_both(live, bound))),
        devices=_facts(file.devices, _of_both(live, bound)),
    )


def _of_both(live: Iterable[Any], bound: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Each variable with its expression, and with itself."""
    for var in live:
        yield var, bound[var]
        yield var, var


def _facts(known: Mapping[Any, T], keys: Iterable[tuple[Any, Any]]) -> dict[Any, T]:
    """Facts about variables, by what each of them is asked for; the last of several holds. TVM takes long to
    compare two expressions, so that each is looked up once.
    """
    if not known:
        return {}
    found = ((var, known.get(key)) for var, key in keys)
    return {var: fact for var, fact in found if fact is not None}


def _behind(reads: Iterable[Any], bound: Mapping[Any, Any]) -> set[Any]:
    """These variables and all that they are computed from."""
    found: set[Any] = set()
    open_ones = list(reads)
    while open_ones:
        var = open_ones.pop()
        if var not in found:
            found.add(var)
            open_ones += variables_of(bound[var])
    return found


def shape_of(expr: Any) -> tuple[int, ...]:
    """The static shape of a tensor expression."""
    return tuple(map(int, expr.ty.shape.values[:]))


def dtype_of(expr: Any) -> str:
    """The element type of a tensor expression, as `int8`."""
    return str(expr.ty.dtype)


def operator_name(value: Any) -> str:
    """The name of the Relax operator that a call applies, without `relax.`, or of the TIR function; empty for
    anything else.
    """
    name = _full_name(value)
    if name == _CALL_OF_TIR:
        return str(value.args[0].name_hint).rstrip("0123456789")
    return _without_dialect(name)


def _without_dialect(name: str) -> str:
    return name.removeprefix("relax.")


def with_main(module: Any, main: Any) -> Any:
    """The module with another `main`; its other functions stay, and so do the variables that name them."""
    return IRModule({**dict(module.functions.items()), module.get_global_var("main"): main})


def called_function(value: Any) -> Any | None:
    """The variable of the TIR function that a `call_tir` calls; None for anything else."""
    return value.args[0] if _full_name(value) == _CALL_OF_TIR else None


_CALL_OF_TIR = "relax.call_tir"


def _full_name(value: Any) -> str:
    """The name of the operator that a call applies; empty for anything else."""
    return str(getattr(getattr(value, "op", None), "name", ""))


def _outputs(function: Any, bound: dict[Any, Any]) -> tuple[Any, ...]:
    """The variables returned, with tuples (and variables bound to tuples) opened."""
    result = function.body.body
    while isinstance(result, relax.Var) and isinstance(bound.get(result), relax.Tuple | relax.Var):
        result = bound[result]
    return tuple(result.fields) if isinstance(result, relax.Tuple) else (result,)


def _live_reads(
    bound: Mapping[Any, Any], one: Mapping[Any, Any], outputs: tuple[Any, ...]
) -> dict[Any, tuple[Any, ...]]:
    """The variables the outputs depend on, in program order, with those that each of them reads.

    Of each variable it has the object that is in `one`: others are equal to it, but TVM takes long to say so.
    """
    needed = dict.fromkeys(outputs)
    found = []
    for var, value in reversed(list(bound.items())):
        if var in needed:
            reads = dict.fromkeys(one.get(read, read) for read in variables_of(value))
            found.append((var, tuple(reads)))
            needed.update(reads)
    return dict(reversed(found))
