/* A simulator: the behaviour of one kind of accelerator, for the host port.
 *
 * Each instance of a device is a thread of the host port. It has a register file, which its driver reaches
 * through mmio, and memories of its own. The host cannot reach those: a copy that was forgotten yields
 * bytes of TA_POISON, not a lucky answer. A simulator sees registers and windows, nothing else.
 */
#ifndef TARGET_ARCH_SIMULATOR_H
#define TARGET_ARCH_SIMULATOR_H

#include "target_arch/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TA_SIMULATOR_MAX_REGISTERS 256u

/* A run of bytes the device observes, at the address it sees. Its own memories have one window each; of a
 * memory shared with the host there is one per arena of the bundle. `base` is never NULL and belongs to
 * the port. Constants may be among shared windows; a device that writes to those is wrong. */
typedef struct ta_window {
    uint32_t memory; /* TA_MEMORY_* */
    uint32_t bytes;
    ta_address address;
    uint8_t *base;
} ta_window;

typedef struct ta_simulator {
    const char *name;
    uint32_t register_count; /* 32-bit registers, at most TA_SIMULATOR_MAX_REGISTERS; all 0 when started */
    uint32_t start_offset;   /* byte offset of the register whose write starts a command */

    /* Execute the command that `registers` hold (the start register included, as written), to its end, and
     * leave the device's answer in them (done, fault, result counters). Runs on the device's thread;
     * `registers` is a private copy that becomes visible to the host when this returns, and then the
     * instance's timeline moves.
     * Returns TA_OK for every command that ends, a faulty one included; anything else and the device
     * hangs: its timeline does not move until it is cancelled or stopped. */
    ta_status (*run)(uint32_t *registers, const ta_window *windows, uint32_t window_count);
} ta_simulator;

/* The bytes the device sees at [address, address + bytes), or NULL where that is not within one window. */
uint8_t *ta_window_at(const ta_window *windows, uint32_t window_count, ta_address address, uint64_t bytes);

/* Backing for a memory the host cannot see: its first `bytes` bytes, at least to the end of the bundle's
 * arenas in it. Filled with TA_POISON when the port is opened. */
typedef struct ta_simulated_memory {
    uint32_t memory; /* TA_MEMORY_* */
    uint32_t bytes;
    uint8_t *base;
} ta_simulated_memory;

/* A core that does not share this program: it executes the image it is given, such as a process under an
 * emulator (cores/process.h). One const object per instance, owned by the bundle. The host port calls these as
 * its own `load`, `start` and `stop` are called, with its lock held; `call` without it. */
typedef struct ta_core ta_core;
struct ta_core {
    /* Statuses as in ta_port.load; also TA_ERROR_ABI_MISMATCH: the image was built from another description. */
    ta_status (*load)(const ta_core *core, const ta_soc *soc, const uint8_t *image, uint32_t bytes);
    ta_status (*start)(const ta_core *core); /* of a loaded core that is not started */
    ta_status (*stop)(const ta_core *core);  /* of any */

    /* Execute a function on a started core, with operands where it sees them, and return when it has. Blocks,
     * however long that takes. TA_ERROR_DEVICE: the core is gone, or refuses. */
    ta_status (*call)(const ta_core *core, ta_function function, const ta_address *operands, uint32_t count);

    /* Halt the core at once, while another thread may be in `call`, which then returns TA_ERROR_DEVICE. */
    void (*halt)(const ta_core *core);
};

/* Whether an image fits one load process: TA_OK, or TA_ERROR_IMAGE. Checked before an instance takes one,
 * but for an image that begins with TA_STAND_IN: it stands for one that was not at hand, and no chip takes it. */
typedef struct ta_image_check {
    uint32_t load_process;
    ta_status (*check)(const uint8_t *image, uint32_t bytes);
} ta_image_check;

#define TA_STAND_IN "stand-in for "

/* The facts that make the host port the simulation of a particular SoC. Emitted beside the bundle; no heap is
 * needed. */
typedef struct ta_simulation {
    const ta_simulated_memory *memories;
    uint32_t memory_count;
    const ta_simulator *const *simulators; /* by TA_INSTANCE_*; NULL where one runs C functions */
    uint32_t simulator_count;
    const ta_core *const *cores; /* by TA_INSTANCE_*; NULL, as a whole or one, where this program executes it */
    const ta_image_check *checks; /* of load processes; any image will do for one that is not among them */
    uint32_t check_count;
} ta_simulation;

/* Sets the SoC that the host port simulates from the next open on; the init of every bundle says so, and the simulation
 * stays its. TA_ERROR_STATE while the port is open: one program may have several bundles, and one of them is
 * open at a time. */
ta_status ta_host_simulate(const ta_simulation *simulation);

/* The work of a command, in C, for a simulator that cannot execute the command itself: it looks it up by a
 * checksum of the command, and calls it with the operands where the device has them. The bundle defines the
 * table where a backend asks for it. */
typedef struct ta_stand_in {
    uint32_t key;
    uint32_t operand_count;
    const uint32_t *operand_bytes; /* size of each operand, in the order of the pointers */
    ta_function function;
} ta_stand_in;

typedef struct ta_stand_ins {
    const ta_stand_in *entries;
    uint32_t count;
} ta_stand_ins;

extern const ta_stand_ins ta_host_stand_ins;

#ifdef __cplusplus
}
#endif

#endif
