/* A driver: how one kind of accelerator gets a command to execute, and how it reports the end.
 *
 * One const table per kind of device, shared by all instances of it, without state of its own: what a
 * driver must remember is in the device's registers. It reaches the device only through the port's mmio
 * operations, so that the same driver runs on silicon and against the simulator of the host port.
 *
 * A device executes one command at a time. The core starts the next one only after the port's `wait` said
 * that the timeline of the instance moved, and `poll` returned how the last one ended.
 */
#ifndef TARGET_ARCH_DRIVER_H
#define TARGET_ARCH_DRIVER_H

#include "target_arch/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A command as the driver gets it. All pointers are valid during the call only. */
typedef struct ta_command {
    const uint32_t *words; /* what the backend's lowering wrote; the driver's header says what they mean */
    uint32_t word_count;
    const ta_address *operands; /* in the order of the call, as the device sees them */
    uint32_t operand_count;
} ta_command;

typedef struct ta_driver {
    const char *name;

    /* Write the command into the registers of the instance and start it; the write that starts comes last.
     * Clears what `poll` said of the command before. Does not block, not interrupt-safe.
     * TA_ERROR_ARGUMENT: not a command of this device (word count, operand count, a value out of range, an
     * address the registers cannot hold); nothing was started. TA_ERROR_BUSY: it still runs. Other
     * statuses: the port's. */
    ta_status (*start)(const ta_port *port, uint32_t instance, const ta_command *command);

    /* How the last started command stands. Asking again answers the same. Does not block.
     * TA_OK: done. TA_ERROR_BUSY: running. TA_ERROR_DEVICE: ended with a fault, its results are not valid.
     * TA_ERROR_STATE: no command was started since the device came out of reset; the core, which started one,
     * reports TA_ERROR_DEVICE. */
    ta_status (*poll)(const ta_port *port, uint32_t instance);
} ta_driver;

#ifdef __cplusplus
}
#endif

#endif
