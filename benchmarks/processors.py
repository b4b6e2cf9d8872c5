"""Cycles of an instruction of each class by LLVM's tables, for `target_arch/soc/chip/processors.toml`.

    python -m benchmarks.processors

prints the reciprocal throughput of two to four independent instructions of each class, repeated a hundred
times. Needs `llvm-mca-19` (Debian: `apt-get install llvm-19`).
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from target_arch.plan.printed.text import table

_TOTAL = re.compile(r"Total Cycles:\s+(\d+)")
_ROUNDS = 100
_ARM = {
    "alu": ("add r0, r1, r2", "eor r3, r4, r5", "sub r6, r1, r2", "and r8, r4, r5"),
    "multiply": ("smlad r0, r1, r2, r0", "smlad r3, r4, r5, r3", "smlad r6, r1, r2, r6"),
    "load": ("ldr r0, [r10]", "ldr r3, [r10, #4]", "ldr r6, [r10, #8]"),
    "store": ("str r0, [r10]", "str r3, [r10, #4]"),
}
_DIVIDE = {"divide": ("sdiv r0, r1, r2", "sdiv r3, r4, r5")}
_MVE = {
    "vector": ("vadd.i32 q0, q1, q2", "veor q3, q4, q5"),
    "vector_load": ("vldrb.8 q0, [r10]", "vldrb.8 q1, [r10, #16]"),
    "vector_store": ("vstrb.8 q0, [r10]", "vstrb.8 q1, [r10, #16]"),
    "vector_load and multiply": ("vldrb.8 q0, [r10]", "vmladava.s8 r0, q2, q3"),
}
_A64 = {
    "alu": ("add x0, x1, x2", "eor x3, x4, x5", "sub x6, x1, x2", "and x8, x4, x5"),
    "multiply": ("madd w0, w1, w2, w3", "madd w4, w5, w6, w7"),
    "load": ("ldr x0, [x10]", "ldr x3, [x10, #8]"),
    "store": ("str x0, [x10]", "str x3, [x10, #8]"),
    "divide": ("sdiv w0, w1, w2",),
    "vector": ("add v0.16b, v1.16b, v2.16b", "eor v3.16b, v4.16b, v5.16b"),
    "vector_load": ("ldr q0, [x10]", "ldr q1, [x10, #16]"),
    "vector_store": ("str q0, [x10]", "str q1, [x10, #16]"),
}
_RISCV = {
    "alu": ("add a0, a1, a2", "xor a3, a4, a5", "sub t0, a1, a2", "and t1, a4, a5"),
    "multiply": ("mul a0, a1, a2", "mul a3, a4, a5"),
    "load": ("lw a0, 0(s0)", "lw a3, 4(s0)"),
    "store": ("sw a0, 0(s0)", "sw a3, 4(s0)"),
    "divide": ("div a0, a1, a2",),
}
_RVV = {
    "vector": ("vadd.vv v0, v2, v4", "vxor.vv v6, v8, v10"),
    "vector_load": ("vle8.v v0, (s0)",),
    "vector_store": ("vse8.v v0, (s0)",),
}


@frozen(kw_only=True)
class Timed:
    """A processor by LLVM's names, its instructions by class, and what stands before them."""

    cpu: str
    triple: str
    instructions: Mapping[str, Sequence[str]]
    head: str = ""


_THUMB = ".syntax unified\n.thumb\n"
_VECTORS = "thumbv8.1m.main-none-eabihf"
TIMED = (
    Timed(cpu="cortex-m4", triple="thumbv7em-none-eabihf", instructions={**_ARM, **_DIVIDE}, head=_THUMB),
    Timed(
        cpu="cortex-m33", triple="thumbv8m.main-none-eabihf", instructions={**_ARM, **_DIVIDE}, head=_THUMB
    ),
    Timed(cpu="cortex-m7", triple="thumbv7em-none-eabihf", instructions={**_ARM, **_DIVIDE}, head=_THUMB),
    Timed(cpu="cortex-m55", triple=_VECTORS, instructions={**_ARM, **_DIVIDE, **_MVE}, head=_THUMB),
    Timed(cpu="cortex-m85", triple=_VECTORS, instructions={**_ARM, **_DIVIDE, **_MVE}, head=_THUMB),
    Timed(cpu="cortex-a9", triple="armv7a-none-eabihf", instructions=_ARM, head=".syntax unified\n.arm\n"),
    Timed(cpu="cortex-a53", triple="aarch64-none-elf", instructions=_A64),
    Timed(cpu="cortex-a55", triple="aarch64-none-elf", instructions=_A64),
    Timed(cpu="sifive-e76", triple="riscv32", instructions=_RISCV),
    Timed(
        cpu="sifive-x280",
        triple="riscv64",
        instructions={**_RISCV, **_RVV},
        head="vsetvli zero, zero, e8, m1, ta, ma\n",
    ),
)


def cycles(timed: Timed) -> Iterator[tuple[str, float]]:
    """Each class, and the cycles of one of its instructions."""
    for kind, instructions in timed.instructions.items():
        command = ("llvm-mca-19", f"-mtriple={timed.triple}", f"-mcpu={timed.cpu}", f"-iterations={_ROUNDS}")
        text = timed.head + "\n".join(instructions) + "\n"
        answer = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout
        yield kind, int(_TOTAL.findall(answer)[0]) / _ROUNDS / len(instructions)


def main() -> None:
    """Print the table."""
    rows = [(timed.cpu, kind, f"{count:.2f}") for timed in TIMED for kind, count in cycles(timed)]
    print(table(("processor", "class", "cycles"), rows, right=(2,)))


if __name__ == "__main__":
    main()
