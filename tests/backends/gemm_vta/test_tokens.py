"""Tokens are exactly those that are needed, and every wrong stream is a fault, never a lucky result."""

import ctypes
from collections.abc import Callable

import pytest
from attrs import evolve

from target_arch.backends.gemm_vta.description import Instruction
from target_arch.backends.gemm_vta.tokens import as_text, module
from tests.backends.engines import random_bytes
from tests.backends.gemm_vta.machine import STATUS, Run, conv2d, engine, instructions, lowered, reference

Build = Callable[[str], ctypes.CDLL]
Stream = tuple[Instruction, ...]
BUDGET = {"inp": 1024, "wgt": 4608, "acc": 1024}
MODEL = conv2d((6, 6, 20), 24, (3, 3), padding=(1, 1, 1, 1))
KERNEL = lowered(MODEL, engine(), BUDGET)
STREAM = instructions(KERNEL)
INPUT = random_bytes(6 * 6 * 20, 5)


@pytest.fixture
def run(build: Build) -> Run:
    return Run(build, engine(), MODEL, KERNEL)


def changed(stream: Stream, at: int, **fields: int) -> Stream:
    """The stream with fields of one instruction set."""
    instruction = evolve(stream[at], fields={**stream[at].fields, **fields})
    return (*stream[:at], instruction, *stream[at + 1 :])


def pairs(stream: Stream) -> list[tuple[int, int, str, str]]:
    """Who pushes and who pops every token, with the names of the flags."""
    found = []
    for sender, flag, receiver, other in (
        (0, "PUSH_NEXT", 1, "POP_PREV"),
        (1, "PUSH_PREV", 0, "POP_NEXT"),
        (1, "PUSH_NEXT", 2, "POP_PREV"),
        (2, "PUSH_PREV", 1, "POP_NEXT"),
    ):
        pushes = [n for n, each in enumerate(stream) if module(each) == sender and each[flag]]
        pops = [n for n, each in enumerate(stream) if module(each) == receiver and each[other]]
        found += [(push, pop, flag, other) for push, pop in zip(pushes, pops, strict=True)]
    return found


def first(opcode: str) -> int:
    return next(n for n, each in enumerate(STREAM) if each.opcode == opcode)


def test_the_stream_of_a_small_layer(golden: Callable[[str, str], None]) -> None:
    golden("stream", as_text(STREAM))


def test_with_its_tokens_the_stream_is_exact(run: Run) -> None:
    assert len(pairs(STREAM)) > 20
    assert run(INPUT, STREAM) == (STATUS["DONE"], reference(MODEL, INPUT))


def test_without_a_token_there_is_a_race(run: Run) -> None:
    """For every single token, so none of them is there for nothing."""
    for push, pop, sent, received in pairs(STREAM):
        if STREAM[pop].opcode == "FINISH":
            continue
        status, _ = run(INPUT, changed(changed(STREAM, push, **{sent: 0}), pop, **{received: 0}))
        assert status == STATUS["FAULT_RACE"], (push, pop)


def test_a_token_that_nobody_pushes_is_a_deadlock(run: Run) -> None:
    for push, _, sent, _ in pairs(STREAM):
        # A later token may come in its place; what it orders then is too little, or the last one waits.
        status, _ = run(INPUT, changed(STREAM, push, **{sent: 0}))
        assert status in (STATUS["FAULT_DEADLOCK"], STATUS["FAULT_RACE"]), push


def test_a_token_that_nobody_pops_is_left(run: Run) -> None:
    for _, pop, _, received in pairs(STREAM):
        status, _ = run(INPUT, changed(STREAM, pop, **{received: 0}))
        assert status in (STATUS["FAULT_TOKENS"], STATUS["FAULT_RACE"]), pop


def test_two_modules_that_wait_for_each_other_are_a_deadlock(run: Run) -> None:
    stream = changed(STREAM, first("LOAD"), POP_NEXT=1)
    assert run(INPUT, stream)[0] == STATUS["FAULT_DEADLOCK"]


def test_a_stream_without_finish_does_not_end(run: Run) -> None:
    assert run(INPUT, STREAM[:-1])[0] == STATUS["FAULT_TOKENS"]


def test_finish_must_be_the_last(run: Run) -> None:
    finish = Instruction(opcode="FINISH", fields={})
    assert run(INPUT, (finish, *STREAM))[0] == STATUS["FAULT_TOKENS"]


@pytest.mark.parametrize(
    ("opcode", "fields", "fault"),
    [
        ("LOAD", {"ENTRY": 65535}, "FAULT_ADDRESS"),
        ("LOAD", {"OFFSET": 1 << 20}, "FAULT_ADDRESS"),
        ("LOAD", {"ROW_STRIDE": 0xFFFFFFFF}, "FAULT_ADDRESS"),
        ("LOAD", {"OPERAND": 5}, "FAULT_INSTRUCTION"),
        ("LOAD", {"WIDTH": 17}, "FAULT_INSTRUCTION"),
        ("LOAD", {"TOP": 255}, "FAULT_INSTRUCTION"),
        ("LOAD", {"PUSH_PREV": 1}, "FAULT_INSTRUCTION"),
        ("STORE", {"OFFSET": 1 << 20}, "FAULT_ADDRESS"),
        ("STORE", {"ENTRY": 65535}, "FAULT_ADDRESS"),
        ("STORE", {"WIDTH": 17}, "FAULT_INSTRUCTION"),
        ("GEMM", {"ACC": 65535}, "FAULT_ADDRESS"),
        ("ALU", {"ACC": 65535}, "FAULT_ADDRESS"),
        ("ALU", {"ROUNDING": 3}, "FAULT_INSTRUCTION"),
        ("ALU", {"OPERATION": 7}, "FAULT_INSTRUCTION"),
        ("ALU", {"OPERATION": 3}, "FAULT_ARITHMETIC"),
    ],
)
def test_what_is_out_of_range_is_a_fault(run: Run, opcode: str, fields: dict[str, int], fault: str) -> None:
    assert run(INPUT, changed(STREAM, first(opcode), **fields))[0] == STATUS[fault]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("INPUT_BYTES", 719),
        ("WEIGHTS_BYTES", 100),
        ("OUTPUT_BYTES", 100),
        ("INP_ENTRIES", 3),
        ("ACC_ENTRIES", 3),
    ],
)
def test_bounds_are_those_of_the_command(run: Run, word: str, value: int) -> None:
    assert run(INPUT, STREAM, **{word: value})[0] == STATUS["FAULT_ADDRESS"]


@pytest.mark.parametrize(
    ("word", "value"), [("INP_ENTRIES", 2049), ("COUNT", 1 << 26), ("BIAS_BYTES", 1 << 30)]
)
def test_what_lies_in_no_memory_is_a_fault(run: Run, word: str, value: int) -> None:
    assert run(INPUT, **{word: value})[0] == STATUS["FAULT_ADDRESS"]


def test_a_factor_out_of_range_is_a_fault(run: Run) -> None:
    scale = next(n for n, each in enumerate(STREAM) if each.opcode == "ALU" and each["OPERATION"] == 3)
    swapped = changed(STREAM, scale, ONE=STREAM[scale]["TWO"], TWO=STREAM[scale]["ONE"])
    assert run(INPUT, swapped)[0] == STATUS["FAULT_ARITHMETIC"]
