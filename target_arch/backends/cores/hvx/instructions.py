"""Calls of the instructions of HVX, as LLVM names them, and values of registers and of pairs of registers."""

from typing import Any

from tvm import tirx

from target_arch.backends.cores.hvx.writer import VECTOR, WORD, WORDS, Writer, store_vector, vector

PAIR = f"{WORD}x{2 * WORDS}"
GROUP = 4
"""Products that one instruction adds to a word, from bytes that are adjacent."""
STORED = 128
"""What is added to a value that an instruction takes as one from 0 to 255."""


def intrinsic(name: str, *operands: Any, dtype: str = VECTOR) -> Any:
    """A call of an HVX instruction, as LLVM calls it."""
    return tirx.call_llvm_pure_intrin(dtype, f"llvm.hexagon.V6.{name}.128B", *operands)


def word_of(byte: int) -> int:
    """The number of a word of four bytes, all of them the lowest of this number."""
    return int.from_bytes(bytes([byte & 0xFF] * GROUP), "little", signed=True)


def everywhere(value: int) -> Any:
    """A vector with one number in all words."""
    return tirx.Broadcast(tirx.const(value, WORD), WORDS)


def kept(to: Writer, value: Any) -> Any:
    """The value of an expression, which is computed once."""
    local = to.variable(WORD, WORDS)
    store_vector(to, local, 0, value)
    return vector(local, 0)


def registers(to: Writer, pair: Any) -> tuple[Any, Any]:
    """The lower and the upper register of a pair."""
    low, high = (kept(to, intrinsic(name, pair)) for name in ("lo", "hi"))
    return low, high


def exchanged(to: Writer, vectors: list[Any], bit: int, by: tuple[str, int]) -> None:
    """Replaces each two vectors whose numbers differ in a bit by the two registers of an exchange of them."""
    name, width = by
    for number in range(len(vectors)):
        other = number | 1 << bit
        if other != number:
            pair = intrinsic(name, vectors[other], vectors[number], tirx.const(width, WORD), dtype=PAIR)
            vectors[number], vectors[other] = registers(to, pair)


def hidden_zero() -> Any:
    """The number 0, which LLVM does not know: it does not write out a loop of so many turns more."""
    return tirx.call_llvm_pure_intrin(WORD, "llvm.hexagon.A2.tfrsi", tirx.const(0, WORD))
