/* The int8 conv2d engine: its registers.
 *
 * Written from target_arch/backends/conv2d_engine/registers.py; a test compares the two.
 */
#ifndef TARGET_ARCH_DRIVERS_CONV2D_ENGINE_H
#define TARGET_ARCH_DRIVERS_CONV2D_ENGINE_H

#include "target_arch/driver.h"

/* Byte offsets in the register file. */
#define TA_CONV2D_ENGINE_START 0x00u /* writing 1 starts the command that the other registers describe; reads 1 while it runs */
#define TA_CONV2D_ENGINE_STATUS 0x04u /* how the last command ended, one of the STATUS values; writing 0 forgets it */
#define TA_CONV2D_ENGINE_INPUT 0x08u /* device address of the input tile, int8 [IN_HEIGHT, IN_WIDTH, IN_CHANNELS] */
#define TA_CONV2D_ENGINE_WEIGHTS 0x0cu /* device address of int8 [OUT_CHANNELS, KERNEL_HEIGHT, KERNEL_WIDTH, IN_CHANNELS] */
#define TA_CONV2D_ENGINE_PARAMETERS 0x10u /* device address of int32 [OUT_CHANNELS, 3]: bias, multiplier, shift; little endian */
#define TA_CONV2D_ENGINE_OUTPUT 0x14u /* device address of the output tile, int8 [OUT_HEIGHT, OUT_WIDTH, OUT_CHANNELS] */
#define TA_CONV2D_ENGINE_IN_HEIGHT 0x18u /* rows of the input tile */
#define TA_CONV2D_ENGINE_IN_WIDTH 0x1cu /* columns of the input tile */
#define TA_CONV2D_ENGINE_IN_CHANNELS 0x20u /* channels of the input tile */
#define TA_CONV2D_ENGINE_OUT_HEIGHT 0x24u /* rows of the output tile */
#define TA_CONV2D_ENGINE_OUT_WIDTH 0x28u /* columns of the output tile */
#define TA_CONV2D_ENGINE_OUT_CHANNELS 0x2cu /* channels of the output tile */
#define TA_CONV2D_ENGINE_KERNEL_HEIGHT 0x30u /* rows of the kernel */
#define TA_CONV2D_ENGINE_KERNEL_WIDTH 0x34u /* columns of the kernel */
#define TA_CONV2D_ENGINE_STRIDE_HEIGHT 0x38u /* input rows from one output row to the next */
#define TA_CONV2D_ENGINE_STRIDE_WIDTH 0x3cu /* input columns from one output column to the next */
#define TA_CONV2D_ENGINE_PAD_TOP 0x40u /* rows of padding above the tile; rows beyond the tile below are padding too */
#define TA_CONV2D_ENGINE_PAD_LEFT 0x44u /* columns of padding left of the tile; beyond the tile at the right is padding too */
#define TA_CONV2D_ENGINE_INPUT_ZERO_POINT 0x48u /* int32, subtracted from every input; padding counts as this value */
#define TA_CONV2D_ENGINE_OUTPUT_ZERO_POINT 0x4cu /* int32, added after scaling */
#define TA_CONV2D_ENGINE_CLAMP_MIN 0x50u /* int32, the least result */
#define TA_CONV2D_ENGINE_CLAMP_MAX 0x54u /* int32, the greatest result */
#define TA_CONV2D_ENGINE_ROUNDING 0x58u /* one of the ROUNDING values */

/* Values. */
#define TA_CONV2D_ENGINE_REGISTERS 23u /* count of 32-bit registers */
#define TA_CONV2D_ENGINE_LEAST_OPERANDS 4u /* fewest operands of a command */
#define TA_CONV2D_ENGINE_OPERANDS 4u /* most operands of a command, from INPUT on */
#define TA_CONV2D_ENGINE_WORDS 17u /* command words from IN_HEIGHT on */
#define TA_CONV2D_ENGINE_STATUS_NONE 0u /* no command ended since reset, or since 0 was written */
#define TA_CONV2D_ENGINE_STATUS_DONE 1u /* the command completed */
#define TA_CONV2D_ENGINE_STATUS_FAULT_GEOMETRY 2u /* a size is zero or beyond the engine, or sizes contradict each other */
#define TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS 3u /* an operand is not aligned or not in a memory of the engine */
#define TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC 4u /* a zero point, a bound, a multiplier, a shift or the rounding is out of range */
#define TA_CONV2D_ENGINE_ROUNDING_TFLITE 0u /* fixed point: doubling high multiply, then rounding right shift */
#define TA_CONV2D_ENGINE_ROUNDING_ONNX 1u /* exact product, then a right shift that rounds half to even */
#define TA_CONV2D_ENGINE_ROUNDING_TFLITE_SINGLE 2u /* fixed point: exact product, then a right shift that rounds half up */
#define TA_CONV2D_ENGINE_STATUS_FAULT_TRANSFER 5u /* the DMA port reports that bytes did not come, or could not be taken */

#ifdef __cplusplus
extern "C" {
#endif

extern const ta_driver ta_conv2d_engine_driver;

#ifdef __cplusplus
}
#endif

#endif
