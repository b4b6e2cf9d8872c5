/* The protocol of host and firmware: the mailbox, the doorbells, and the table that says where the mailbox is.
 *
 * A request: the host writes `function` and the operands, as the core addresses them, then `request`, one more
 * than before, and rings. The core executes, writes `status`, then `answer` equal to `request`, and rings
 * back. Neither side touches the operands' bytes while it is the other's turn. The core rings once when it is up.
 *
 * All words are little-endian and of one layout on 32-bit and 64-bit cores.
 */
#ifndef TARGET_ARCH_FIRMWARE_MAILBOX_H
#define TARGET_ARCH_FIRMWARE_MAILBOX_H

#include "target_arch/abi.h"

#define TA_MAILBOX_VERSION 1u
#define TA_MAILBOX_OPERANDS 32u

typedef struct ta_mailbox {
    uint32_t request;
    uint32_t answer;
    uint32_t status; /* of the answered request: a ta_status */
    uint32_t function;
    uint32_t operand_count;
    uint32_t counted; /* instructions of the answered request, where the core counts them, modulo 2^32 */
    uint64_t operands[TA_MAILBOX_OPERANDS];
} ta_mailbox;

/* The resource table of a firmware: the content of an ELF note of this name and type. */
#define TA_RESOURCES_NOTE_NAME "TA"
#define TA_RESOURCES_NOTE_TYPE 1u

typedef struct ta_resources {
    uint32_t version;        /* TA_MAILBOX_VERSION */
    uint32_t function_count; /* requests name functions by numbers below this */
    uint64_t abi_hash;       /* of the SoC description that the firmware was built from */
    uint64_t mailbox;        /* its address, as the core sees it */
} ta_resources;

/* The doorbell under emulation: a byte, either way. The numbers of the files that a core finds open. */
enum { TA_DOORBELL = 3, TA_FIRST_MEMORY_FILE = 4 };

#endif
