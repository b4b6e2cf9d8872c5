/* Arm Ethos-U55 and U65: the registers that a stream is started with, and the words of a command.
 *
 * Operands of a command: the stream, its weights, its scratch, then the tensors it reads and the
 * tensors it writes; all aligned to 16 bytes. They become QBASE and the regions' addresses.
 *
 * Written from target_arch/backends/ethos_u/registers.py; a test compares the two.
 */
#ifndef TARGET_ARCH_DRIVERS_ETHOS_U_H
#define TARGET_ARCH_DRIVERS_ETHOS_U_H

#include "target_arch/driver.h"

/* Byte offsets in the register file. */
#define TA_ETHOS_U_STATUS 0x004u /* what the unit does, and how the last stream ended */
#define TA_ETHOS_U_CMD 0x008u /* starts, clears the interrupt, holds clock and power */
#define TA_ETHOS_U_RESET 0x00cu /* writing it resets the unit */
#define TA_ETHOS_U_QBASE0 0x010u /* address of the command stream, lower half */
#define TA_ETHOS_U_QBASE1 0x014u /* and upper half */
#define TA_ETHOS_U_QREAD 0x018u /* bytes of the stream that were read */
#define TA_ETHOS_U_QCONFIG 0x01cu /* the port the stream is read through */
#define TA_ETHOS_U_QSIZE 0x020u /* bytes of the stream */
#define TA_ETHOS_U_CONFIG 0x028u /* product and shape of the unit, read only */
#define TA_ETHOS_U_REGIONCFG 0x03cu /* two bits per region: the port it is reached through */
#define TA_ETHOS_U_BASEP0 0x080u /* address of region 0, lower half; then its upper half, then region 1 */

/* Values. */
#define TA_ETHOS_U_STATUS_RUNNING 0x1u /* it executes a stream */
#define TA_ETHOS_U_STATUS_IRQ 0x2u /* its interrupt is raised */
#define TA_ETHOS_U_STATUS_BUS_ERROR 0x4u /* an access was refused */
#define TA_ETHOS_U_STATUS_RESETTING 0x8u /* a reset is not over */
#define TA_ETHOS_U_STATUS_PARSE_ERROR 0x10u /* the stream has something that is no command */
#define TA_ETHOS_U_STATUS_END 0x20u /* the end of the stream was reached */
#define TA_ETHOS_U_STATUS_ECC_FAULT 0x100u /* its own memory failed */
#define TA_ETHOS_U_CMD_RUN 0x1u /* start the stream */
#define TA_ETHOS_U_CMD_CLEAR_IRQ 0x2u /* take back the interrupt */
#define TA_ETHOS_U_CMD_POWER 0xcu /* the bits that let clock and power be taken away, which are left as they are */
#define TA_ETHOS_U_REGIONS 0x8u /* regions there are */
#define TA_ETHOS_U_WEIGHTS_REGION 0x0u /* weights and scales */
#define TA_ETHOS_U_SCRATCH_REGION 0x1u /* the arena */
#define TA_ETHOS_U_FIRST_REGION 0x3u /* the first tensor at the border of the chain; the others follow */
#define TA_ETHOS_U_REGISTER_COUNT 0x30u /* registers up to the last base address */

/* Words of a command, by number. */
#define TA_ETHOS_U_WORD_QSIZE 0u /* bytes of the stream */
#define TA_ETHOS_U_WORD_QCONFIG 1u /* for QCONFIG */
#define TA_ETHOS_U_WORD_REGIONCFG 2u /* for REGIONCFG */
#define TA_ETHOS_U_WORD_CONFIG 3u /* what CONFIG must read: the stream is for one product and shape */
#define TA_ETHOS_U_WORDS 4u /* words of a command */
#define TA_ETHOS_U_LEAST_OPERANDS 5u /* stream, weights, scratch, one in, one out */

#ifdef __cplusplus
extern "C" {
#endif

extern const ta_driver ta_ethos_u_driver;

#ifdef __cplusplus
}
#endif

#endif
