/* Registers of the slope unit, as `drivers/engine.h` lays them out: byte offsets. */
#ifndef SLOPE_UNIT_H
#define SLOPE_UNIT_H

#include "target_arch/driver.h"

#define SLOPE_UNIT_START 0x00u
#define SLOPE_UNIT_STATUS 0x04u
#define SLOPE_UNIT_INPUT 0x08u  /* device address, float32 [COUNT] */
#define SLOPE_UNIT_OUTPUT 0x0cu /* device address, float32 [COUNT] */
#define SLOPE_UNIT_COUNT 0x10u
#define SLOPE_UNIT_SLOPE 0x14u /* the bits of a float32 */
#define SLOPE_UNIT_REGISTERS 6u

extern const ta_driver slope_unit_driver;

#endif
