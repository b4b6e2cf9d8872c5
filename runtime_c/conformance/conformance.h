/* The conformance suite: the duties of every port, tested through the public headers alone.
 *
 * A test builds a small bundle for the suite's own SoC (system.c), runs it on the port under test and
 * looks at the bytes. An operation that a port lacks (NULL in its table) makes tests skip, not fail. Output is one line
 * per test: `ok N name`, `skip N name: reason` or `not ok N name: condition (file:line)`.
 */
#ifndef TARGET_ARCH_CONFORMANCE_H
#define TARGET_ARCH_CONFORMANCE_H

#include "target_arch/runtime.h"

enum { MEMORY_SRAM, MEMORY_TCM, MEMORY_RAM_0, MEMORY_RAM_1, MEMORY_COUNT };
enum { INSTANCE_HOST, INSTANCE_DSP, INSTANCE_ADDER_0, INSTANCE_ADDER_1, INSTANCE_CORE, INSTANCE_COUNT };
enum { CHANNEL_0, CHANNEL_1, CHANNEL_COUNT };
enum { TIMELINE_COUNT = CHANNEL_COUNT + INSTANCE_COUNT };
enum { ARENA_SRAM, ARENA_CONSTANTS, ARENA_TCM, ARENA_RAM_0, ARENA_RAM_1, ARENA_COUNT };
enum { SRAM_BYTES = 8192, TCM_BYTES = 4096, RAM_BYTES = 2048 };
#define TCM_ADDRESS 0xd8000000u /* as the dsp sees it */
#define SRAM_ADDRESS 0x20000000u

/* Alignment of memories, and what their sizes are rounded up to: a system may have pages. */
#ifndef CONFORMANCE_ALIGNMENT
#define CONFORMANCE_ALIGNMENT 64u
#endif
#define WITH_GUARD(bytes) (((bytes) + 64u + CONFORMANCE_ALIGNMENT - 1u) / CONFORMANCE_ALIGNMENT * CONFORMANCE_ALIGNMENT)

#define TIMELINE_OF(instance) ((uint32_t)CHANNEL_COUNT + (uint32_t)(instance))

/* Two C cores (host, dsp), two instances of an accelerator that adds bytes, a further core of the host, which executes
 * its program on a stack of its own, and a DMA engine of two channels.
 * Only `sram` is visible to the host; the dsp and the further core observe it too, and so does adder[1]. */
#define CONFORMANCE_HASH 0x7461636f6e666f72u
extern const ta_soc conformance_soc;
extern const ta_arena conformance_arenas[ARENA_COUNT];
extern const ta_driver conformance_adder_driver;
/* The arena, the constants behind it, and a guard zone that no owner may touch. */
#define SRAM_STORAGE WITH_GUARD(SRAM_BYTES + ADD_BYTES)
enum { ADD_BYTES = 64, STACK_BYTES = 4096 };
extern uint8_t conformance_stack[STACK_BYTES];
extern uint8_t conformance_sram[SRAM_STORAGE];

/* The port, and what it can do to help. Hooks may be NULL. Defined by <port>/under_test.c. */
typedef struct port_under_test {
    const ta_port *port;
    const char *const *modes; /* the suite runs once in each; ends with NULL */
    void (*set_mode)(const char *mode);
    void (*set_counters)(uint32_t value);                                   /* for the next open */
    void (*fail)(uint32_t timeline, uint32_t skip, ta_status status);       /* see ta_host_fail */
    void (*set_lazy)(uint32_t lazy);                                        /* see ta_host_set_lazy */
    const uint8_t *image; /* firmware of the dsp; NULL where it is linked */
    uint32_t image_bytes;
    void (*lose)(uint32_t timeline); /* the next operation there is done, but its interrupt gets lost */
    void (*signal)(uint32_t timeline); /* an interrupt of it comes, with nothing behind it */
    void (*reset)(uint32_t instance); /* it goes back into reset in the middle of its next work */
    int (*guards)(int paint); /* paint the bytes around memories that are no pool's, or: are they still painted? */
    ta_function call; /* what add_call has the dsp execute; NULL: conformance_add */
    int uses_stacks; /* 1 where the further core executes on the stack of its description */
    const char *wrong_image; /* refused by the load process of the dsp */
} port_under_test;
extern const port_under_test under_test;

/* A bundle under construction. Tests may reach into it. */
enum { MAX_STEPS = 192, MAX_ITEMS = 80 };
typedef struct workload {
    ta_bundle bundle;
    ta_arena arenas[ARENA_COUNT];
    ta_load loads[8];
    ta_copy copies[MAX_ITEMS];
    ta_dispatch dispatches[MAX_ITEMS];
    ta_kernel kernels[MAX_ITEMS]; /* that of every dispatch */
    ta_operand operands[MAX_ITEMS][3];
    ta_ref refs[MAX_ITEMS][3];
    uint32_t words[MAX_ITEMS];
    ta_step steps[MAX_STEPS];
    uint32_t issued[TIMELINE_COUNT];
    uint32_t filled[TIMELINE_COUNT]; /* as `issued`, of FILLs */
} workload;

/* Each appends one step (`begin` none) and returns its index. Channel TA_TIMELINE_NONE copies
 * synchronously. */
void begin(workload *w);
uint32_t add_load(workload *w, uint32_t instance);
uint32_t add_fill(workload *w, uint32_t channel, ta_ref source, ta_ref target, uint32_t bytes);
uint32_t add_copy(workload *w, uint32_t channel, ta_ref source, ta_ref target, uint32_t bytes);
uint32_t add_copy_2d(workload *w, uint32_t channel, ta_copy copy);
/* out[i] = a[i] + b[i], wrapping; ADD_BYTES bytes by a C function, or `count` by an adder. */
uint32_t add_call(workload *w, uint32_t instance, ta_ref a, ta_ref b, ta_ref out);
uint32_t add_command(workload *w, uint32_t instance, uint32_t count, ta_ref a, ta_ref b, ta_ref out);
/* Wait for all that was issued on the timeline so far. */
uint32_t add_wait(workload *w, uint32_t timeline);

ta_ref at(uint32_t arena, uint32_t offset);
ta_ref sram(uint32_t offset);
ta_ref tcm(uint32_t offset);
ta_ref ram_0(uint32_t offset);
ta_ref ram_1(uint32_t offset);
/* Fill with a pattern that depends on `seed` and has no period. */
/* The function that `add_call` dispatches; the first one of a firmware. */
ta_status conformance_add(void *const *pointers);
void fill(uint32_t offset, uint32_t bytes, uint32_t seed);
/* Are sram[a..] and sram[b..] equal? */
int same(uint32_t a, uint32_t b, uint32_t bytes);
/* Is sram[out..] the sum of sram[a..] and sram[b..]? */
int is_sum(uint32_t a, uint32_t b, uint32_t out, uint32_t bytes);

/* Adder commands of no bytes fault; of this many, the device hangs. */
#define ADDER_HANGS 0xffffffffu
#define ADDER_START_REGISTER 0u
enum { ADDER_CONTROL, ADDER_STATUS, ADDER_COUNT, ADDER_A, ADDER_B, ADDER_OUT, ADDER_REGISTERS };
enum { ADDER_DONE = 1, ADDER_FAULT = 2 };

/* How a test ended: NULL passed, else a text; SKIP where it starts with "skip". */
typedef const char *(*test_function)(void);
typedef struct test_case {
    const char *name;
    test_function run;
} test_case;
/* Each ends with a NULL name. */
extern const test_case core_tests[], copy_tests[], event_tests[], device_tests[], failure_tests[],
    fault_tests[], table_tests[], core_of_host_tests[];

#define TEXT_(value) #value
#define TEXT(value) TEXT_(value)
#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition))                                               \
            return failed(#condition " (" __FILE__ ":" TEXT(__LINE__) ")"); \
    } while (0)
#define SKIP_WITHOUT(operation, what) \
    do {                              \
        if (!(operation))             \
            return "skip: " what;     \
    } while (0)
/* Initialise, or skip where the port says it cannot. */
#define INIT(w)                                                                               \
    do {                                                                                      \
        const ta_status init_status_ = ta_init(&rt, &(w).bundle, &conformance_soc, under_test.port); \
        if (init_status_ == TA_ERROR_UNSUPPORTED)                                             \
            return "skip: the port does not support it";                                      \
        CHECK(init_status_ == TA_OK);                                                         \
    } while (0)

/* The runtime under test. `failed` stops it, so that one failure does not spoil the tests after it. */
extern ta_runtime rt;
const char *failed(const char *condition);

#endif
