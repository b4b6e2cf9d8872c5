/* A core of the host port that is a process of its own, under an emulator of its instruction set.
 *
 * The process starts in its boot ROM (firmware/boot.c), which puts the core's memories where the core sees
 * them: files that this program maps too. The load process is that of a chip: `load` checks the ELF image and
 * places its segments, `start` releases the reset and waits for the firmware to ring, `call` writes a request
 * into the mailbox, rings, and waits for the answering ring, `stop` takes the core away. The protocol is in
 * firmware/mailbox.h; POSIX is all this needs.
 *
 * All tables are emitted beside the bundle. No heap is needed.
 */
#ifndef TARGET_ARCH_CORES_PROCESS_H
#define TARGET_ARCH_CORES_PROCESS_H

#include "firmware/mailbox.h"
#include "ports/host/simulator.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TA_PROCESS_MAX_MEMORIES 8u
#define TA_SHARED_ALIGNMENT 65536u /* the largest page of any emulated core */
#define TA_PROCESS_PATIENCE_MS 10000 /* for a core that was let out of reset */

/* A memory that processes share: static storage, aligned to TA_SHARED_ALIGNMENT and a multiple of it long. Its
 * bytes stay where they are; a file comes to be behind them when the first core needs it. `file` starts at 0. */
typedef struct ta_shared {
    uint8_t *base;
    uint32_t bytes;
    int file;
} ta_shared;

typedef struct ta_process_memory {
    ta_shared *shared;
    ta_address device;   /* where the core sees its first byte */
    ta_address physical; /* where the host's load process does; any number that is no other memory's */
} ta_process_memory;

/* The state of a core. All zero at first; private to this file. */
typedef struct ta_process_state {
    long pid; /* 0: in reset */
    int doorbell;
    uint32_t fault;
    ta_address entry; /* 0: nothing is loaded */
    volatile ta_mailbox *mailbox;
} ta_process_state;

typedef struct ta_process {
    ta_core core; /* TA_PROCESS_CORE */
    ta_process_state *state;
    const char *const *command; /* emulator and boot ROM, then NULL; the first is searched in the PATH */
    const ta_process_memory *memories;
    const ta_function *functions; /* by the firmware's numbers: what this program calls them */
    uint32_t memory_count;
    uint32_t function_count;
    uint32_t machine; /* e_machine of its images */
} ta_process;

/* Operations of a `ta_core` that is the first member of a `ta_process`; their contracts are simulator.h's.
 * load: TA_ERROR_IMAGE also where a segment does not fit, TA_ERROR_ABI_MISMATCH where image and description have
 * different hashes, or the image other functions. start: TA_ERROR_DEVICE without the emulator, TA_ERROR_TIMEOUT
 * where the firmware does not ring. */
ta_status ta_process_load(const ta_core *core, const ta_soc *soc, const uint8_t *image, uint32_t bytes);
ta_status ta_process_start(const ta_core *core);
ta_status ta_process_stop(const ta_core *core);
ta_status ta_process_call(const ta_core *core, ta_function function, const ta_address *operands, uint32_t count);
void ta_process_halt(const ta_core *core);

#define TA_PROCESS_CORE \
    { ta_process_load, ta_process_start, ta_process_stop, ta_process_call, ta_process_halt }

/* For tests: what goes wrong in the next call, once. The core goes back into reset when it has got its request;
 * its ring to the host is lost; the host's ring to it is lost. */
enum { TA_PROCESS_RESETS = 1, TA_PROCESS_ANSWER_LOST = 2, TA_PROCESS_REQUEST_LOST = 3 };
void ta_process_fail(const ta_process *process, uint32_t fault);

#ifdef __cplusplus
}
#endif

#endif
