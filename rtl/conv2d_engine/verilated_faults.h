/* Faults inside a Verilated core, on its pins: for tests of what the driver, the runtime and the application make
 * of them. One is armed at a time, for the next command that any core is given, and happens once. Thread-safe.
 */
#ifndef TARGET_ARCH_VERILATED_FAULTS_H
#define TARGET_ARCH_VERILATED_FAULTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ta_rtl_fault {
    TA_RTL_SOUND = 0,
    TA_RTL_RESET = 1,          /* `reset` while a command runs; the reset controller tells the host */
    TA_RTL_RESET_UNSEEN = 2,   /* the same, and nobody is told */
    TA_RTL_INTERRUPT_LOST = 3, /* `irq` is masked */
    TA_RTL_READ_ERROR = 4,     /* the memory side answers a beat of an operand with an error */
    TA_RTL_READ_HANGS = 5,     /* and does not answer it at all */
    TA_RTL_WRITE_ERROR = 6,    /* the same for a beat of the result */
    TA_RTL_WRITE_HANGS = 7
} ta_rtl_fault;

/* `after`: cycles since the start of the command, for a reset; beats in that direction, for a transfer. A command
 * that ends earlier is sound. */
void ta_conv2d_engine_fail(ta_rtl_fault fault, uint32_t after);

#ifdef __cplusplus
}
#endif

#endif
