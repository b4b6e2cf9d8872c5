/* my_npu: its registers, for the driver and the simulator. Byte offsets in the register file. */
#ifndef MY_NPU_H
#define MY_NPU_H

#include "target_arch/driver.h"

#define MY_NPU_START 0x00u  /* writing 1 starts the command that the others describe; reads 1 while it runs */
#define MY_NPU_STATUS 0x04u /* how the last command ended */
#define MY_NPU_INPUT 0x08u  /* device address, float32 [COUNT] */
#define MY_NPU_OUTPUT 0x0cu /* device address, float32 [COUNT] */
#define MY_NPU_COUNT 0x10u  /* the one word of a command */

#define MY_NPU_REGISTERS 5u
#define MY_NPU_OPERANDS 2u
#define MY_NPU_WORDS 1u

#define MY_NPU_STATUS_DONE 1u
#define MY_NPU_STATUS_FAULT 2u /* an operand does not lie in the accelerator's memory, or is not aligned */

extern const ta_driver my_npu_driver;

#endif
