/* The contract between the emitter and the runtime: the types a bundle's const tables are made of.
 *
 * This header stands alone, needs only C99's freestanding headers, and also compiles as C++. Every table
 * below is emitted `const` and owned by the bundle; the runtime never writes to it.
 */
#ifndef TARGET_ARCH_ABI_H
#define TARGET_ARCH_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TA_ABI_VERSION 5u

/* Fails to compile where the condition is false, in every language version. */
#define TA_JOIN_(a, b) a##b
#define TA_JOIN(a, b) TA_JOIN_(a, b)
#define TA_STATIC_ASSERT(condition, name) \
    typedef char TA_JOIN(ta_assert_##name##_, __LINE__)[(condition) ? 1 : -1]

/* Kernels and tables count in int: on a machine where it has 16 bits they would be wrong without a word. */
TA_STATIC_ASSERT(sizeof(int) >= 4, int_has_32_bits);

#if defined(__GNUC__)
#define TA_ALIGNED(bytes) __attribute__((aligned(bytes)))
#else
#define TA_ALIGNED(bytes)
#endif

typedef enum ta_status {
    TA_OK = 0,
    TA_ERROR_ARGUMENT = 1,     /* NULL, an unknown id, a size that does not fit */
    TA_ERROR_ABI_MISMATCH = 2, /* bundle and port were built from different SoC descriptions */
    TA_ERROR_STATE = 3,        /* not initialised, not loaded, not started */
    TA_ERROR_UNSUPPORTED = 4,  /* the port or device lacks the operation (NULL in its table) */
    TA_ERROR_TIMEOUT = 5,      /* an event did not happen in time */
    TA_ERROR_DMA = 6,          /* a copy failed */
    TA_ERROR_DEVICE = 7,       /* a device reported a fault */
    TA_ERROR_IMAGE = 8,        /* a load image is corrupt or for another machine */
    TA_ERROR_BUSY = 9,         /* the queue of a channel or device is full; the core waits and tries again */
    TA_ERROR_CORRUPT = 10,     /* constants or tables are not what was emitted */
    TA_ERROR_DEADLINE = 11     /* a step or a run took longer than it may */
} ta_status;

/* A place: byte `offset` of arena `arena` (index into ta_bundle.arenas). */
typedef struct ta_ref {
    uint32_t arena;
    uint32_t offset;
} ta_ref;

/* How the caller of a run lends the bytes of an arena. `start` is where the bundle keeps their address during the
 * run; it holds NULL otherwise. */
typedef struct ta_lent {
    const void **start;
    uint32_t alignment; /* of the address, a power of two */
    uint16_t writable;  /* 0 for an input, which nothing writes */
    uint16_t bound;     /* 1 where a device or DMA channel touches the bytes: they must be in the arena's memory */
} ta_lent;

/* A run of bytes carved from one memory. `base` is where the host sees it; NULL where the host cannot, and
 * then `device_offset` is the first byte's distance from the start of the memory. Constant arenas have
 * `base_const` instead of `base`. Arenas of the caller have `lent` instead; it is NULL for all others. */
typedef struct ta_arena {
    uint32_t memory; /* TA_MEMORY_* of the SoC header */
    uint32_t device_offset;
    uint32_t bytes;
    uint8_t *base;
    const uint8_t *base_const;
    const ta_lent *lent;
} ta_arena;

/* The n-th asynchronous step of a run on a timeline (a DMA channel or an instance) completes value n, from
 * 1. */
typedef struct ta_event {
    uint32_t timeline; /* TA_TIMELINE_* of the SoC header */
    uint32_t value;
} ta_event;

#define TA_TIMELINE_NONE 0xffffffffu /* synchronous: complete when the step returns */

enum ta_cache_duty { TA_CACHE_NONE = 0, TA_CACHE_CLEAN_SOURCE = 1, TA_CACHE_INVALIDATE_TARGET = 2 }; /* a bit set */

/* `rows` runs of `row_bytes`; strides are ignored where rows == 1. */
typedef struct ta_copy {
    ta_ref source;
    ta_ref target;
    uint32_t row_bytes;
    uint32_t rows;
    uint32_t source_stride;
    uint32_t target_stride;
    uint32_t cache;
} ta_copy;

/* A C kernel: `pointers` in the order of the call's operands, in the address space of the core that runs
 * it. TA_OK, or TA_ERROR_DEVICE where a library that it calls refuses; its results are then of no use. */
typedef ta_status (*ta_function)(void *const *pointers);

/* A kernel's needs of one operand. */
typedef struct ta_operand {
    uint32_t bytes;     /* from the first one touched to the last */
    uint16_t alignment; /* of the first one, a power of two: for the host where it sees the memory, else in it */
    uint16_t writes;    /* 0 or 1; where 1, constants will not do */
} ta_operand;

/* A kernel, and what it needs: `function`, or NULL for a command of a device with a driver. ta_init checks
 * every dispatch against it, since neither a kernel nor a device checks what it is given. */
typedef struct ta_kernel {
    ta_function function;
    const ta_operand *operands;
    uint32_t operand_count;
    uint32_t word_count;
} ta_kernel;

/* Start `kernel` with the operands `refs`; a command is `words`. */
typedef struct ta_dispatch {
    uint32_t instance; /* TA_INSTANCE_* of the SoC header */
    const ta_kernel *kernel;
    const uint32_t *words;
    uint32_t word_count;
    const ta_ref *refs;
    uint32_t ref_count;
} ta_dispatch;

typedef struct ta_load {
    uint32_t instance;
    const uint8_t *image; /* NULL where there is nothing to transfer; always where ta_takes_program says no */
    uint32_t image_bytes;
    uint32_t image_crc32; /* of the image; checked by load */
} ta_load;

typedef enum ta_step_kind {
    TA_STEP_LOAD = 0,
    TA_STEP_COPY = 1,
    TA_STEP_DISPATCH = 2,
    TA_STEP_WAIT = 3,
    TA_STEP_FILL = 4
} ta_step_kind;

/* One step. `index` is into the bundle's table of that kind (loads, copies, dispatches), unused for WAIT. A FILL is
 * a copy that ta_fill executes, once: constants stay where it puts them. It is over before the next step begins, and
 * FILLs are no steps of a run: their values are counted by themselves.
 * `event` is what an asynchronous step signals, and what a WAIT waits for; its timeline is
 * TA_TIMELINE_NONE for a LOAD, a synchronous copy and a dispatch to the host. A dispatch to any other
 * instance is on that instance's timeline. */
typedef struct ta_step {
    uint32_t kind;
    uint32_t index;
    ta_event event;
} ta_step;

typedef struct ta_tensor {
    const char *name;
    ta_ref where;
    uint32_t bytes;
} ta_tensor;

/* Everything a compiled model is, besides its kernels. Steps of kind LOAD come first, then those of kind FILL. */
typedef struct ta_bundle {
    uint32_t abi_version; /* TA_ABI_VERSION */
    uint32_t reserved;
    uint64_t abi_hash; /* of the SoC description */
    const char *name;
    const ta_arena *arenas;
    const ta_load *loads;
    const ta_copy *copies;
    const ta_dispatch *dispatches;
    const ta_step *steps;
    const ta_tensor *inputs;
    const ta_tensor *outputs;
    uint32_t arena_count;
    uint32_t load_count;
    uint32_t copy_count;
    uint32_t dispatch_count;
    uint32_t step_count;
    uint32_t input_count;
    uint32_t output_count;
} ta_bundle;

/* An address as some observer sees a memory. Observers disagree: the same byte may be 0x40000000 for the
 * host and 0 for the device whose local memory it is. */
typedef uint64_t ta_address;

/* A memory of the SoC, indexed by TA_MEMORY_*. `address` is the host's of the first byte, 0 where it
 * cannot see it. `cache_line` is that of the host's cache where something else writes or reads behind it, and 0
 * elsewhere: arenas begin and end at multiples of it, since what shares a line with them would be lost when the
 * line is dropped. */
typedef struct ta_memory_info {
    const char *name;
    uint64_t bytes;
    ta_address address;
    uint32_t host_visible; /* 0 or 1; where 0, only copies reach it */
    uint32_t cache_line;
} ta_memory_info;

/* A DMA channel. Its index is its timeline. */
typedef struct ta_channel_info {
    const char *name; /* "axi_dma.0" */
} ta_channel_info;

/* A memory an instance reads and writes itself, and the address at which it sees the first byte. */
typedef struct ta_observed {
    uint32_t memory;
    ta_address address;
} ta_observed;

/* How an instance gets its program: by it a port knows the format of an image, and core and ports know
 * whether there is one (ta_takes_program). The emitter checks that each number has one meaning. */
typedef enum ta_load_process {
    TA_LOAD_LINKED = 0,
    TA_LOAD_FIRMWARE = 1,
    TA_LOAD_BITSTREAM = 2,
    TA_LOAD_MODULE = 3,
    TA_LOAD_COMMAND_STREAM = 4,
    TA_LOAD_FIRST_OF_PLUG_INS = 256 /* this and those above it are for load processes of plug-ins */
} ta_load_process;

/* 0 where there is nothing to load: the program is there from the start, or every dispatch brings its own. */
static inline int ta_takes_program(uint32_t load_process)
{
    return load_process != (uint32_t)TA_LOAD_LINKED && load_process != (uint32_t)TA_LOAD_COMMAND_STREAM;
}

struct ta_driver; /* driver.h */

/* An instance of a target_arch, indexed by TA_INSTANCE_*. The host observes every host-visible memory
 * without an entry in `observed`. `stack` is that of a core which executes functions of the host's program, from its
 * lowest byte on; NULL where a core brings its own, or an operating system gives it one. */
typedef struct ta_instance_info {
    const char *name; /* "fpga_conv2d[1]" */
    uint32_t is_host; /* 1 for exactly one instance: dispatches to it are synchronous */
    uint32_t timeline;
    uint32_t load_process;          /* ta_load_process, or of a plug-in; TA_LOAD_LINKED for the host */
    const struct ta_driver *driver; /* NULL: the instance runs C functions */
    const ta_observed *observed;
    uint32_t observed_count;
    uint8_t *stack;
    uint32_t stack_bytes;
} ta_instance_info;

/* The facts of a SoC for the runtime. Timelines are numbered: all channels first, in the order of
 * `channels`, then all instances, in the order of `instances`, the host's included (which stays unused). */
typedef struct ta_soc {
    uint32_t abi_version; /* TA_ABI_VERSION */
    uint32_t timeline_count;
    uint64_t abi_hash; /* the same as ta_bundle.abi_hash, or ta_init refuses */
    const char *name;
    const ta_memory_info *memories;
    const ta_channel_info *channels;
    const ta_instance_info *instances;
    uint32_t memory_count;
    uint32_t channel_count;
    uint32_t instance_count;
} ta_soc;

#ifdef __cplusplus
}
#endif

#endif
