/* The VTA-class matrix engine: its registers.
 *
 * Written from target_arch/backends/gemm_vta/gemm_vta.toml; a test compares the two.
 */
#ifndef TARGET_ARCH_DRIVERS_GEMM_VTA_H
#define TARGET_ARCH_DRIVERS_GEMM_VTA_H

#include "target_arch/driver.h"

/* Byte offsets in the register file. */
#define TA_GEMM_VTA_START 0x00u /* writing 1 starts the command that the other registers describe; reads 1 while it runs */
#define TA_GEMM_VTA_STATUS 0x04u /* how the last command ended, one of the STATUS values; writing 0 forgets it */
#define TA_GEMM_VTA_INSTRUCTIONS 0x08u /* device address of the instruction stream */
#define TA_GEMM_VTA_INPUT 0x0cu /* device address of what LOAD of operand 0 reads */
#define TA_GEMM_VTA_WEIGHTS 0x10u /* device address of what LOAD of operand 1 reads: int8 blocks [output][input] */
#define TA_GEMM_VTA_BIAS 0x14u /* device address of what LOAD of operand 2 reads: int32 */
#define TA_GEMM_VTA_MULTIPLIER 0x18u /* device address of what LOAD of operand 3 reads: int32 */
#define TA_GEMM_VTA_SHIFT 0x1cu /* device address of what LOAD of operand 4 reads: int32 */
#define TA_GEMM_VTA_OUTPUT 0x20u /* device address of what STORE writes: int8, operand 5 */
#define TA_GEMM_VTA_INP 0x24u /* device address of the input buffer */
#define TA_GEMM_VTA_WGT 0x28u /* device address of the weight buffer */
#define TA_GEMM_VTA_ACC 0x2cu /* device address of the accumulator buffer */
#define TA_GEMM_VTA_COUNT 0x30u /* instructions of the stream */
#define TA_GEMM_VTA_INPUT_BYTES 0x34u /* bytes at INPUT; reading beyond is a fault, as for the others */
#define TA_GEMM_VTA_WEIGHTS_BYTES 0x38u /* bytes at WEIGHTS */
#define TA_GEMM_VTA_BIAS_BYTES 0x3cu /* bytes at BIAS */
#define TA_GEMM_VTA_MULTIPLIER_BYTES 0x40u /* bytes at MULTIPLIER */
#define TA_GEMM_VTA_SHIFT_BYTES 0x44u /* bytes at SHIFT */
#define TA_GEMM_VTA_OUTPUT_BYTES 0x48u /* bytes at OUTPUT */
#define TA_GEMM_VTA_INP_ENTRIES 0x4cu /* entries of the input buffer */
#define TA_GEMM_VTA_WGT_ENTRIES 0x50u /* entries of the weight buffer */
#define TA_GEMM_VTA_ACC_ENTRIES 0x54u /* entries of the accumulator buffer */

/* Values. */
#define TA_GEMM_VTA_REGISTERS 22u /* count of 32-bit registers */
#define TA_GEMM_VTA_LEAST_OPERANDS 10u /* fewest operands of a command */
#define TA_GEMM_VTA_OPERANDS 10u /* most operands of a command, from INSTRUCTIONS on */
#define TA_GEMM_VTA_WORDS 10u /* command words from COUNT on */
#define TA_GEMM_VTA_STATUS_NONE 0u /* no command ended since reset, or since 0 was written */
#define TA_GEMM_VTA_STATUS_DONE 1u /* the command completed */
#define TA_GEMM_VTA_STATUS_FAULT_GEOMETRY 2u /* a size is zero or beyond the engine, or sizes contradict each other */
#define TA_GEMM_VTA_STATUS_FAULT_ADDRESS 3u /* an operand is not aligned or not in a memory of the engine */
#define TA_GEMM_VTA_STATUS_FAULT_ARITHMETIC 4u /* a zero point, a bound, a multiplier, a shift or the rounding is out of range */
#define TA_GEMM_VTA_ROUNDING_TFLITE 0u /* fixed point: doubling high multiply, then rounding right shift */
#define TA_GEMM_VTA_ROUNDING_ONNX 1u /* exact product, then a right shift that rounds half to even */
#define TA_GEMM_VTA_ROUNDING_TFLITE_SINGLE 2u /* fixed point: exact product, then a right shift that rounds half up */
#define TA_GEMM_VTA_STATUS_FAULT_INSTRUCTION 5u /* no such instruction, or a field is out of range */
#define TA_GEMM_VTA_STATUS_FAULT_DEADLOCK 6u /* a module waits for a token that no module will push */
#define TA_GEMM_VTA_STATUS_FAULT_RACE 7u /* two accesses to one entry that no token orders, or a read of what was not written */
#define TA_GEMM_VTA_STATUS_FAULT_TOKENS 8u /* tokens or instructions are left after FINISH, or the stream has none */


/* The engine. */
#define TA_GEMM_VTA_LANES 16u /* values of a vector: inputs and accumulators are vectors, weights blocks of LANES x LANES */
#define TA_GEMM_VTA_INSTRUCTION_BYTES 32u /* bytes of an instruction, eight little-endian words */
#define TA_GEMM_VTA_TOKENS 256u /* dependency tokens that a queue holds; a module that pushes one more waits */
#define TA_GEMM_VTA_INP_MOST 2048u /* most entries of the input buffer, each int8[LANES] */
#define TA_GEMM_VTA_WGT_MOST 256u /* most entries of the weight buffer, each int8[LANES][LANES] */
#define TA_GEMM_VTA_ACC_MOST 2048u /* most entries of the accumulator buffer, each int32[LANES] */

/* OPCODE */
#define TA_GEMM_VTA_OPCODE_LOAD 0u /* DRAM to a buffer, 2-D, strided, padded; the load module for INP and WGT, the compute module for ACC */
#define TA_GEMM_VTA_OPCODE_STORE 1u /* accumulators to DRAM as int8, 2-D, strided; the store module */
#define TA_GEMM_VTA_OPCODE_GEMM 2u /* acc[o] += sum over k of inp[k] * wgt[o][k], or acc = 0; the compute module */
#define TA_GEMM_VTA_OPCODE_ALU 3u /* acc = operation(acc, one, two); the compute module */
#define TA_GEMM_VTA_OPCODE_FINISH 4u /* the end of the stream; the compute module */

/* BUFFER */
#define TA_GEMM_VTA_BUFFER_INP 0u /* int8[LANES] */
#define TA_GEMM_VTA_BUFFER_WGT 1u /* int8[LANES][LANES] */
#define TA_GEMM_VTA_BUFFER_ACC 2u /* int32[LANES] */

/* OPERATION */
#define TA_GEMM_VTA_OPERATION_ADD 0u /* acc + one */
#define TA_GEMM_VTA_OPERATION_MAX 1u /* the greater of acc and one */
#define TA_GEMM_VTA_OPERATION_MIN 2u /* the lesser of acc and one */
#define TA_GEMM_VTA_OPERATION_SCALE 3u /* acc requantized by multiplier one and shift two, saturated to 16 bits */

/* Fields of the instructions, each as TA_GEMM_VTA_FIELD takes it: word, lowest bit, bits. */
#define TA_GEMM_VTA_FIELD(words, field) TA_GEMM_VTA_FIELD_(words, field)
#define TA_GEMM_VTA_FIELD_(words, word, low, bits) ((words)[word] >> (low) & (0xffffffffu >> (32u - (bits))))
#define TA_GEMM_VTA_AT_OPCODE 0u, 0u, 3u /* an OPCODE */
#define TA_GEMM_VTA_AT_POP_PREV 0u, 3u, 1u /* wait for a token of the module before: load, compute, store */
#define TA_GEMM_VTA_AT_POP_NEXT 0u, 4u, 1u /* wait for a token of the module after */
#define TA_GEMM_VTA_AT_PUSH_PREV 0u, 5u, 1u /* when done, give a token to the module before */
#define TA_GEMM_VTA_AT_PUSH_NEXT 0u, 6u, 1u /* when done, give a token to the module after */
#define TA_GEMM_VTA_AT_LOAD_BUFFER 0u, 7u, 2u /* a BUFFER */
#define TA_GEMM_VTA_AT_LOAD_OPERAND 0u, 9u, 3u /* which DRAM operand, 0 INPUT to 4 SHIFT */
#define TA_GEMM_VTA_AT_LOAD_FILL 0u, 12u, 8u /* the byte that padding is filled with */
#define TA_GEMM_VTA_AT_LOAD_OFFSET 1u, 0u, 32u /* byte of the operand that the first entry that is no padding begins with */
#define TA_GEMM_VTA_AT_LOAD_ENTRY 2u, 0u, 16u /* first entry written; entries are written one after the other */
#define TA_GEMM_VTA_AT_LOAD_ROWS 2u, 16u, 16u /* rows written, padding included */
#define TA_GEMM_VTA_AT_LOAD_COLUMNS 3u, 0u, 16u /* entries of a row, padding included */
#define TA_GEMM_VTA_AT_LOAD_WIDTH 3u, 16u, 16u /* bytes of an entry that are read; the rest is filled */
#define TA_GEMM_VTA_AT_LOAD_ROW_STRIDE 4u, 0u, 32u /* bytes from one row to the next in DRAM */
#define TA_GEMM_VTA_AT_LOAD_COLUMN_STRIDE 5u, 0u, 32u /* bytes from one entry to the next in DRAM */
#define TA_GEMM_VTA_AT_LOAD_TOP 6u, 0u, 8u /* rows of padding before */
#define TA_GEMM_VTA_AT_LOAD_BOTTOM 6u, 8u, 8u /* rows of padding after */
#define TA_GEMM_VTA_AT_LOAD_LEFT 6u, 16u, 8u /* entries of padding before each row */
#define TA_GEMM_VTA_AT_LOAD_RIGHT 6u, 24u, 8u /* entries of padding after each row */
#define TA_GEMM_VTA_AT_STORE_OFFSET 1u, 0u, 32u /* byte of OUTPUT that the first entry goes to */
#define TA_GEMM_VTA_AT_STORE_ENTRY 2u, 0u, 16u /* first entry read; entries are read one after the other */
#define TA_GEMM_VTA_AT_STORE_ROWS 2u, 16u, 16u /* rows */
#define TA_GEMM_VTA_AT_STORE_COLUMNS 3u, 0u, 16u /* entries of a row */
#define TA_GEMM_VTA_AT_STORE_WIDTH 3u, 16u, 16u /* lanes of an entry that are written, the lowest byte of each */
#define TA_GEMM_VTA_AT_STORE_ROW_STRIDE 4u, 0u, 32u /* bytes from one row to the next in DRAM */
#define TA_GEMM_VTA_AT_STORE_COLUMN_STRIDE 5u, 0u, 32u /* bytes from one entry to the next in DRAM */
#define TA_GEMM_VTA_AT_GEMM_RESET 0u, 7u, 1u /* 1: acc = 0, inputs and weights are not read */
#define TA_GEMM_VTA_AT_GEMM_WGT 0u, 8u, 16u /* first weight entry */
#define TA_GEMM_VTA_AT_GEMM_ACC 1u, 0u, 16u /* first accumulator entry */
#define TA_GEMM_VTA_AT_GEMM_INP 1u, 16u, 16u /* first input entry */
#define TA_GEMM_VTA_AT_GEMM_COUNT_0 2u, 0u, 16u /* rounds of the outer loop */
#define TA_GEMM_VTA_AT_GEMM_ACC_0 2u, 16u, 16u /* entries by which ACC advances in each */
#define TA_GEMM_VTA_AT_GEMM_INP_0 3u, 0u, 16u /* the same for INP */
#define TA_GEMM_VTA_AT_GEMM_WGT_0 3u, 16u, 16u /* the same for WGT */
#define TA_GEMM_VTA_AT_GEMM_COUNT_1 4u, 0u, 16u /* rounds of the middle loop */
#define TA_GEMM_VTA_AT_GEMM_ACC_1 4u, 16u, 16u /* entries by which ACC advances in each */
#define TA_GEMM_VTA_AT_GEMM_INP_1 5u, 0u, 16u /* the same for INP */
#define TA_GEMM_VTA_AT_GEMM_WGT_1 5u, 16u, 16u /* the same for WGT */
#define TA_GEMM_VTA_AT_GEMM_COUNT_2 6u, 0u, 16u /* rounds of the inner loop */
#define TA_GEMM_VTA_AT_GEMM_ACC_2 6u, 16u, 16u /* entries by which ACC advances in each */
#define TA_GEMM_VTA_AT_GEMM_INP_2 7u, 0u, 16u /* the same for INP */
#define TA_GEMM_VTA_AT_GEMM_WGT_2 7u, 16u, 16u /* the same for WGT */
#define TA_GEMM_VTA_AT_ALU_OPERATION 0u, 7u, 3u /* an OPERATION */
#define TA_GEMM_VTA_AT_ALU_ROUNDING 0u, 10u, 2u /* a ROUNDING, for SCALE */
#define TA_GEMM_VTA_AT_ALU_USE_IMMEDIATE 0u, 12u, 1u /* 1: `one` is IMMEDIATE in every lane */
#define TA_GEMM_VTA_AT_ALU_ACC 0u, 13u, 16u /* first entry of what is changed */
#define TA_GEMM_VTA_AT_ALU_ONE 1u, 0u, 16u /* first entry of the first operand */
#define TA_GEMM_VTA_AT_ALU_TWO 1u, 16u, 16u /* first entry of the second operand */
#define TA_GEMM_VTA_AT_ALU_IMMEDIATE 2u, 0u, 32u /* int32 */
#define TA_GEMM_VTA_AT_ALU_COUNT_0 3u, 0u, 16u /* rounds of the outer loop */
#define TA_GEMM_VTA_AT_ALU_ACC_0 3u, 16u, 16u /* entries by which ACC advances in each */
#define TA_GEMM_VTA_AT_ALU_ONE_0 4u, 0u, 16u /* the same for ONE */
#define TA_GEMM_VTA_AT_ALU_TWO_0 4u, 16u, 16u /* the same for TWO */
#define TA_GEMM_VTA_AT_ALU_COUNT_1 5u, 0u, 16u /* rounds of the inner loop */
#define TA_GEMM_VTA_AT_ALU_ACC_1 5u, 16u, 16u /* entries by which ACC advances in each */
#define TA_GEMM_VTA_AT_ALU_ONE_1 6u, 0u, 16u /* the same for ONE */
#define TA_GEMM_VTA_AT_ALU_TWO_1 6u, 16u, 16u /* the same for TWO */

#ifdef __cplusplus
extern "C" {
#endif

extern const ta_driver ta_gemm_vta_driver;

#ifdef __cplusplus
}
#endif

#endif
