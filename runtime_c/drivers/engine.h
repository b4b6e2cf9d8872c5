/* Shared by the drivers of all register-file engines.
 *
 * Such an engine has START at offset 0 and STATUS at 4, then one register per operand address, then one per command
 * word. START reads 1 while a command runs. STATUS is 0 until a command ended, 1 after success, else a fault.
 */
#ifndef TARGET_ARCH_DRIVERS_ENGINE_H
#define TARGET_ARCH_DRIVERS_ENGINE_H

#include "target_arch/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TA_ENGINE_START 0x00u
#define TA_ENGINE_STATUS 0x04u
#define TA_ENGINE_ADDRESSES 0x08u
#define TA_ENGINE_STATUS_NONE 0u
#define TA_ENGINE_STATUS_DONE 1u

/* How long the commands of an engine are. */
typedef struct ta_engine_layout {
    uint32_t least_operands;
    uint32_t operands; /* registers for addresses; those a command does not use are written 0 */
    uint32_t words;
} ta_engine_layout;

/* As ta_driver.start. */
ta_status ta_engine_start(const ta_port *port, uint32_t instance, const ta_command *command,
                          const ta_engine_layout *layout);

/* As ta_driver.poll. TA_ERROR_STATE: no command was started. */
ta_status ta_engine_poll(const ta_port *port, uint32_t instance);

#ifdef __cplusplus
}
#endif

#endif
