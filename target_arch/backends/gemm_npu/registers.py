"""The registers of the matrix engine: one command multiplies one block in its scratchpads.

A product whose depth does not fit is summed up by several commands: the first clears the accumulators, the
last adds the bias, requantizes and writes int8 results. Only a command with `LAST` reads PARAMETERS and
writes OUTPUT; others are given without these two operands.
"""

from target_arch.backends.registers import RegisterMap

FUNCTION = "matmul"
FIRST, LAST = 1, 2

REGISTERS = RegisterMap(
    engine="gemm_npu",
    title="The int8 matrix engine",
    operands=(
        ("INPUT", "device address of the input block, int8 [ROWS, DEPTH]"),
        ("WEIGHTS", "device address of the weight block, int8 [COLUMNS, DEPTH]"),
        ("ACCUMULATORS", "device address of int32 [ROWS, COLUMNS], in the accumulator scratchpad"),
        ("PARAMETERS", "device address of int32 [COLUMNS, 3]: bias, multiplier, shift; little endian"),
        ("OUTPUT", "device address of the results, int8 [ROWS, COLUMNS]"),
    ),
    words=(
        ("ROWS", "rows of the input block"),
        ("DEPTH", "columns of the input block, which are summed over"),
        ("COLUMNS", "columns of the results"),
        ("FLAGS", "a set of the FLAG values"),
        ("INPUT_ZERO_POINT", "int32, subtracted from every input"),
        ("OUTPUT_ZERO_POINT", "int32, added after scaling"),
        ("CLAMP_MIN", "int32, the least result"),
        ("CLAMP_MAX", "int32, the greatest result"),
        ("ROUNDING", "one of the ROUNDING values"),
    ),
    least_operands=3,
    constants=(
        ("FLAG_FIRST", FIRST, "clear the accumulators first"),
        ("FLAG_LAST", LAST, "then add the bias, requantize and write OUTPUT"),
    ),
)
