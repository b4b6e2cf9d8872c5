/* The int8 matrix engine: its registers.
 *
 * Written from target_arch/backends/gemm_npu/registers.py; a test compares the two.
 */
#ifndef TARGET_ARCH_DRIVERS_GEMM_NPU_H
#define TARGET_ARCH_DRIVERS_GEMM_NPU_H

#include "target_arch/driver.h"

/* Byte offsets in the register file. */
#define TA_GEMM_NPU_START 0x00u /* writing 1 starts the command that the other registers describe; reads 1 while it runs */
#define TA_GEMM_NPU_STATUS 0x04u /* how the last command ended, one of the STATUS values; writing 0 forgets it */
#define TA_GEMM_NPU_INPUT 0x08u /* device address of the input block, int8 [ROWS, DEPTH] */
#define TA_GEMM_NPU_WEIGHTS 0x0cu /* device address of the weight block, int8 [COLUMNS, DEPTH] */
#define TA_GEMM_NPU_ACCUMULATORS 0x10u /* device address of int32 [ROWS, COLUMNS], in the accumulator scratchpad */
#define TA_GEMM_NPU_PARAMETERS 0x14u /* device address of int32 [COLUMNS, 3]: bias, multiplier, shift; little endian */
#define TA_GEMM_NPU_OUTPUT 0x18u /* device address of the results, int8 [ROWS, COLUMNS] */
#define TA_GEMM_NPU_ROWS 0x1cu /* rows of the input block */
#define TA_GEMM_NPU_DEPTH 0x20u /* columns of the input block, which are summed over */
#define TA_GEMM_NPU_COLUMNS 0x24u /* columns of the results */
#define TA_GEMM_NPU_FLAGS 0x28u /* a set of the FLAG values */
#define TA_GEMM_NPU_INPUT_ZERO_POINT 0x2cu /* int32, subtracted from every input */
#define TA_GEMM_NPU_OUTPUT_ZERO_POINT 0x30u /* int32, added after scaling */
#define TA_GEMM_NPU_CLAMP_MIN 0x34u /* int32, the least result */
#define TA_GEMM_NPU_CLAMP_MAX 0x38u /* int32, the greatest result */
#define TA_GEMM_NPU_ROUNDING 0x3cu /* one of the ROUNDING values */

/* Values. */
#define TA_GEMM_NPU_REGISTERS 16u /* count of 32-bit registers */
#define TA_GEMM_NPU_LEAST_OPERANDS 3u /* fewest operands of a command */
#define TA_GEMM_NPU_OPERANDS 5u /* most operands of a command, from INPUT on */
#define TA_GEMM_NPU_WORDS 9u /* command words from ROWS on */
#define TA_GEMM_NPU_STATUS_NONE 0u /* no command ended since reset, or since 0 was written */
#define TA_GEMM_NPU_STATUS_DONE 1u /* the command completed */
#define TA_GEMM_NPU_STATUS_FAULT_GEOMETRY 2u /* a size is zero or beyond the engine, or sizes contradict each other */
#define TA_GEMM_NPU_STATUS_FAULT_ADDRESS 3u /* an operand is not aligned or not in a memory of the engine */
#define TA_GEMM_NPU_STATUS_FAULT_ARITHMETIC 4u /* a zero point, a bound, a multiplier, a shift or the rounding is out of range */
#define TA_GEMM_NPU_ROUNDING_TFLITE 0u /* fixed point: doubling high multiply, then rounding right shift */
#define TA_GEMM_NPU_ROUNDING_ONNX 1u /* exact product, then a right shift that rounds half to even */
#define TA_GEMM_NPU_ROUNDING_TFLITE_SINGLE 2u /* fixed point: exact product, then a right shift that rounds half up */
#define TA_GEMM_NPU_FLAG_FIRST 1u /* clear the accumulators first */
#define TA_GEMM_NPU_FLAG_LAST 2u /* then add the bias, requantize and write OUTPUT */

#ifdef __cplusplus
extern "C" {
#endif

extern const ta_driver ta_gemm_npu_driver;

#ifdef __cplusplus
}
#endif

#endif
