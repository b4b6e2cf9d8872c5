"""The model as the planner sees it: tensors and operators, no TVM.

An operator is one matched composite (or one single Relax call). Activations are NHWC where they have four
dimensions; the importer's layout pass has put explicit `transpose` operators where a model wanted something
else. A constant keeps the layout its operator kind names (see `docs/operators.md`).
"""

import re
from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

from attrs import evolve, field, frozen

from target_arch.plan.division import SliceOf
from target_arch.plan.input_range import InputRange
from target_arch.plan.operators.facts import (
    LOOP_OPERATIONS,
    MACS_PER_OUTPUT,
    RELAX_OP,
    Arithmetic,
    Facts,
    Lowering,
)
from target_arch.plan.operators.kinds import OperatorKind, facts_of, kind_of
from target_arch.plan.simplification import Simplification
from target_arch.soc.model import DLDevice


def identifier(name: str, otherwise: str) -> str:
    """The name as a C identifier that resembles it; `otherwise` if no character of it can be kept."""
    text = re.sub(r"[^0-9a-zA-Z]+", "_", name).strip("_")
    if not text:
        return otherwise
    return f"{otherwise}_{text}" if text[0].isdigit() else text


def file_name(tensor: str) -> str:
    """A tensor's name as a file name; models use `/` and `:` freely."""
    return "".join(character if character.isalnum() or character in "._-" else "_" for character in tensor)


def model_name(name: str) -> str:
    """The name that a model has everywhere, made of what its user or its file calls it."""
    return identifier(name, "model")


DTYPE_BYTES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
}
"""The element types of tensors, and how many bytes an element has."""

C_TYPES = {
    "bool": "uint8_t",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float16": "uint16_t",
    "float32": "float",
    "float64": "double",
}
"""The C type that holds an element, in kernels and in constants alike: of a float16 its bits. Only locals of
kernels are float64.
"""

Attribute = int | float | str | bool | tuple[int, ...] | tuple[float, ...]


@frozen(kw_only=True)
class Quantization:
    """real = scale * (stored - zero_point).

    Scales are float32 values; one for the tensor or one per index of `axis`.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int | None = None


@frozen(kw_only=True)
class Origin:
    """The tensor of the model's file whose values a tensor holds: the file's elements, seen as an array of
    shape `view`, its dimensions permuted by `axes`, row by row. `channels` are the indices along the last
    dimension of what that makes which the tensor has; None where it has all.
    """

    name: str
    view: tuple[int, ...]
    axes: tuple[int, ...]
    channels: tuple[int, ...] | None = None


@frozen(kw_only=True)
class Bounded:
    """Along `axis`, as many elements count as the output `count` of the model says; behind them are zeros."""

    axis: int
    count: str


@frozen(kw_only=True, slots=False)
class Tensor:
    """A value of the model.

    `data` holds a constant's bytes (little endian, row major), None for an activation. `origin` is None where
    the model's file has no such tensor, as inside of what its operators became. `bounded`: the size of an
    output depends on values, and `shape` has the largest.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    data: bytes | None = field(default=None, repr=False)
    origin: Origin | None = field(default=None, repr=False)
    bounded: Bounded | None = None

    @cached_property
    def bytes(self) -> int:
        """Size in bytes, unpadded."""
        return prod(self.shape) * DTYPE_BYTES[self.dtype]

    def with_extent(self, axis: int, extent: int) -> "Tensor":
        """The tensor with so many elements along an axis."""
        shape = list(self.shape)
        shape[axis] = extent
        return evolve(self, shape=tuple(shape))

    def __str__(self) -> str:
        extents = list(map(str, self.shape))
        if self.bounded is not None:
            extents[self.bounded.axis] = f"<={self.shape[self.bounded.axis]}"
        return f"{self.name}: {self.dtype}[{','.join(extents)}]"


@frozen(kw_only=True)
class VirtualDevice:
    """A device that the author of a model puts an operator on, and the memory that its result is to be in;
    None where any will do. TVM's word for it is VDevice.
    """

    device: DLDevice
    memory: str | None = None

    def __str__(self) -> str:
        return f"{self.device}" if self.memory is None else f"{self.device} in {self.memory}"


@frozen(kw_only=True)
class Operator:
    """One composite.

    `kind` is one of the table, or the text that a plug-in's pattern gives its own kind. `inputs` are
    activations, `constants` are weights and the like, both by tensor name; every operator has one output.
    `relax_ops` are the Relax operators it stands for, `location` is its name in the model's file. `device` is
    where the author puts it; None where anything will do.
    """

    id: str
    kind: OperatorKind | str = field(converter=kind_of)
    arithmetic: Arithmetic = field(converter=Arithmetic)
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    output: str
    attributes: Mapping[str, Attribute] = field(factory=dict)
    relax_ops: tuple[str, ...] = ()
    location: str = ""
    device: VirtualDevice | None = None

    @property
    def loop_operations(self) -> int:
        """Operations of its loops beside the multiply-accumulates, where a reader wrote them; 0 of others."""
        stated = self.attributes.get(LOOP_OPERATIONS, 0)
        return stated if isinstance(stated, int) else 0

    def integer(self, name: str, default: int | None = None) -> int:
        """An attribute that is a whole number. KeyError where it is not there and nothing stands for it."""
        value: Any = self.attributes[name] if default is None else self.attributes.get(name, default)
        return int(value)

    def real(self, name: str, default: float | None = None) -> float:
        """An attribute that is a real number. KeyError where it is not there and nothing stands for it."""
        value: Any = self.attributes[name] if default is None else self.attributes.get(name, default)
        return float(value)

    @property
    def facts(self) -> Facts:
        """The facts of its kind, from the table."""
        return facts_of(self.kind)

    @property
    def lowering(self) -> Lowering:
        """How it becomes loops: as its kind, but for a single call of a Relax operator."""
        return Lowering.TVM if RELAX_OP in self.attributes else self.facts.lowering


@frozen(kw_only=True)
class State:
    """A value that lives from run to run.

    A run finds it in `tensor`, which no operator writes, and leaves its successor in `next`, the output of
    an operator of kind `store` that nothing reads. Both have one shape and type. `initial` is the constant
    tensor it starts with, and has again after a reset; None for zeros. `pair` are the numbers of the
    input and the output that the two are in the model's file, None where the file itself has a state.
    """

    tensor: str
    next: str
    initial: str | None = None
    pair: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"then {self.next}, at first {self.initial or 'zeros'}"


@frozen(kw_only=True, repr=False, slots=False)
class Model:
    """A model after import: operators in a topological order of the original program, those that store
    states last. `simplification` says what of the file's model is not in it; None where all of it is.
    `slices` are the operators (by id) that compute a part of what one operator of the file's model computes,
    `links` those that name bytes for slices or gather slices, each with the operator that is divided.
    `input_ranges` are promised of inputs, by their names; results are right for such inputs alone.
    """

    name: str
    source: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    states: tuple[State, ...] = ()
    tensors: Mapping[str, Tensor]
    operators: tuple[Operator, ...]
    simplification: Simplification | None = None
    slices: Mapping[str, SliceOf] = field(factory=dict)
    links: Mapping[str, str] = field(factory=dict)
    input_ranges: Mapping[str, InputRange] = field(factory=dict)

    def __repr__(self) -> str:
        return f"<model {self.name}: {len(self.operators)} operators>"

    @property
    def in_file(self) -> tuple[str, ...]:
        """The inputs of the model's file, in its order: also those that are states only here."""
        names = list(self.inputs)
        asked = {state.pair: state.tensor for state in self.states if state.pair is not None}
        for pair in sorted(asked):
            names.insert(pair[0], asked[pair])
        return tuple(names)

    @property
    def given(self) -> tuple[str, ...]:
        """The activations that are there when a run begins: inputs and states."""
        return (*self.inputs, *(state.tensor for state in self.states))

    @property
    def kept(self) -> tuple[str, ...]:
        """The tensors that are needed when a run is over: outputs and the next values of states."""
        return (*self.outputs, *(state.next for state in self.states))

    @cached_property
    def uses(self) -> Mapping[str, int]:
        """How often each tensor is read, by operators or by the caller."""
        found = dict.fromkeys(self.tensors, 0)
        for names in (self.outputs, *(operator.inputs for operator in self.operators)):
            for name in names:
                found[name] += 1
        return found

    @cached_property
    def makers(self) -> Mapping[str, Operator]:
        """The operator that writes each tensor."""
        return {operator.output: operator for operator in self.operators}

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The place of each operator, by its id."""
        return {operator.id: number for number, operator in enumerate(self.operators)}

    @cached_property
    def readers(self) -> Mapping[str, Operator]:
        """The last operator that reads each tensor."""
        return {name: operator for operator in self.operators for name in operator.inputs}

    def operator(self, id: str) -> Operator:
        """The operator with that id. KeyError where there is none."""
        return self.operators[self.numbers[id]]

    def macs_per_output(self, operator: Operator) -> int:
        """Multiply-accumulates of each element of the output; 0 where the operator is not counted in them."""
        taps = operator.facts.weight_taps
        if taps is None:
            stated = operator.attributes.get(MACS_PER_OUTPUT, 0)
            return stated if isinstance(stated, int) else 0
        weights = self.tensors[operator.constants[0]].shape
        return prod(weights[axis] for axis in taps)

    def macs(self, operator: Operator) -> int:
        """Multiply-accumulates of the whole operator."""
        return prod(self.tensors[operator.output].shape) * self.macs_per_output(operator)

    def __str__(self) -> str:
        lines = [f"model {self.name} ({self.source})"]
        lines += [f"  input  {self.tensors[name]}" for name in self.inputs]
        lines += [f"  state  {self.tensors[state.tensor]}, {state}" for state in self.states]
        for op in self.operators:
            operands = ", ".join((*op.inputs, *op.constants))
            device = "" if op.device is None else f" on {op.device}"
            lines.append(
                f"  {op.id} {op.kind}[{op.arithmetic}]({operands}) -> {self.tensors[op.output]}{device}"
            )
        lines += [f"  output {self.tensors[name]}" for name in self.outputs]
        return "\n".join(lines) + "\n"
