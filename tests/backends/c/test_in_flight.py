"""Operators of a core with a memory of its own, in pieces of rows: the moves and calls of random convolutions
are made one after the other, on bytes that begin as rubbish.
"""

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from attrs import evolve, frozen

from target_arch.backends.c.backend import backend
from target_arch.backends.plain_c.in_flight import kernel_in_flight
from target_arch.plan.kernels import Kernel, Move, Operand, Slice
from target_arch.plan.model import Model
from target_arch.soc.words import InstructionSet
from tests.backends.c.one import Array, array_of
from tests.backends.c.striped import Case, cases_of, compiled, one_by_one
from tests.backends.c.test_stripes import CHAINS, model_of
from tests.backends.engines import bench

MODELS = range(12)


@frozen(kw_only=True)
class Flying:
    """A model of one operator, its kernel in pieces, and the same operator whole."""

    model: Model
    kernel: Kernel
    whole: Case


def first_alone(model: Model) -> Model:
    operator = model.operators[0]
    return evolve(model, operators=(operator,), outputs=(operator.output,))


def drawn() -> Iterator[Flying]:
    """Moves take so long that pieces pay."""
    made = bench("c", {"tcm": 1 << 16})
    copies = tuple(evolve(path, bandwidth=1e6) for path in made.soc.copies)
    slow = evolve(made, soc=evolve(made.soc, copies=copies))
    for number in MODELS:
        model = first_alone(model_of(np.random.default_rng(number), number % CHAINS))
        kernel = kernel_in_flight(slow.request(model), backend)
        whole = next(cases_of(model, InstructionSet.GENERIC, 1), None)
        if kernel is not None and whole is not None:
            yield Flying(model=model, kernel=kernel, whole=whole)


@cache
def cases() -> tuple[Flying, ...]:
    return tuple(drawn())


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, needs_tool: Callable[[str], str]) -> ctypes.CDLL:
    functions = [function for case in cases() for function in case.kernel.functions]
    whole = (case.whole for case in cases())
    return compiled(whole, tmp_path_factory.mktemp("flight"), needs_tool("gcc"), functions)


class Machine:
    """The bytes of tensors and local buffers."""

    def __init__(self, case: Flying, x: Array) -> None:
        constants = {each.name: array_of(each).view(np.uint8).ravel() for each in case.kernel.constants}
        rubbish = {each.name: np.full(each.bytes, 0xAA, np.uint8) for each in case.kernel.buffers}
        output = case.model.tensors[case.model.outputs[0]]
        given = {
            case.model.inputs[0]: x.view(np.uint8).ravel(),
            output.name: np.zeros(output.bytes, np.uint8),
        }
        self.bytes: dict[str, Any] = {**constants, **rubbish, **given}

    def move(self, move: Move) -> None:
        self._part(move.target)[:] = self._part(move.source)

    def _part(self, part: Slice) -> Any:
        assert part.rows == 1
        return self.bytes[part.of][part.offset : part.offset + part.row_bytes]

    def at(self, operand: Operand) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.bytes[operand.of].ctypes.data + operand.offset)


def test_most_are_in_pieces() -> None:
    assert len(cases()) > len(MODELS) // 2
    assert {case.kernel.notes[0].split(": ")[1] for case in cases()} >= {"2 pieces of rows in flight"}


def test_the_pieces_are_the_operator(library: ctypes.CDLL) -> None:
    for case in cases():
        assert_computes_the_whole(case, library)


def assert_computes_the_whole(case: Flying, library: ctypes.CDLL) -> None:
    tensor = case.model.tensors[case.model.inputs[0]]
    x = np.random.default_rng(3).integers(0, 256, tensor.shape).astype(np.uint8).view(tensor.dtype)
    machine = Machine(case, x)
    for action in case.kernel.actions:
        if isinstance(action, Move):
            machine.move(action)
        else:
            getattr(library, action.function)(*map(machine.at, action.operands))
    expected = one_by_one(case.whole, library, {tensor.name: x})
    np.testing.assert_array_equal(machine.bytes[case.model.outputs[0]], expected.view(np.uint8).ravel())
