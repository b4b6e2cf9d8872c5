/* The port of a dual Cortex-M33 on the board that QEMU emulates as MPS2 with AN521: that of one Cortex-M
 * (ports/qemu_mps2), and its second core as a worker. */
#include "ports/qemu_sse200/qemu_sse200.h"

#include "ports/qemu_mps2/qemu_mps2.h"
#include "workers/workers.h"

/* SSE-200 system control, secure (Arm SSE-200 TRM, section 3.6): where CPU 1 has its vectors, and what holds it. */
#define INITSVTOR1 (*(volatile uint32_t *)(uintptr_t)0x50021114u)
#define CPUWAIT (*(volatile uint32_t *)(uintptr_t)0x50021118u)
#define WAIT_CPU1 2u

#define PAINT 0x5aa5c33cu
#define VECTORS 16u

/* What the second core does: it takes `post` and executes it, once for each change of `posts`. */
static void (*post)(uint32_t instance);
static uint32_t post_instance, posts, released;
static const ta_soc *described;
static uint8_t *stack_start;
static uint32_t stack_bytes;
static uint32_t vectors[VECTORS] TA_ALIGNED(128); /* as VTOR wants a table of sixteen words, and more */

static void barrier(void)
{
    __asm__ volatile("dsb" ::: "memory");
}

static void signal_all(void)
{
    __asm__ volatile("dsb\nsev" ::: "memory");
}

/* The event register remembers a signal that came before. */
static void pause_core(void)
{
    __asm__ volatile("wfe" ::: "memory");
}

static void fault(void)
{
    ta_mps2_say("the second processor took a fault: an address without memory behind it, or a stack too small\n");
    ta_mps2_exit(71);
}

__attribute__((noreturn, used)) static void second_core(void)
{
    uint32_t done = 0;
    for (;;) {
        while (__atomic_load_n(&posts, __ATOMIC_ACQUIRE) == done)
            pause_core();
        done++;
        post(post_instance);
    }
}

/* Set where the stack ends below, so that a call too deep is a fault and no damage. */
__attribute__((naked)) static void second_reset(void)
{
    __asm__ volatile("ldr r0, =%0\n"
                     "ldr r0, [r0]\n"
                     "msr msplim, r0\n"
                     "b %1\n"
                     :
                     : "i"(&stack_start), "i"(second_core));
}

static uint32_t code_address(void (*function)(void))
{
    return (uint32_t)(uintptr_t)function; /* its lowest bit says Thumb, as a vector wants it */
}

static void release_core(uint8_t *stack, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes / 4u; i++)
        ((uint32_t *)(void *)stack)[i] = PAINT;
    for (uint32_t i = 1; i < VECTORS; i++)
        vectors[i] = code_address(fault);
    vectors[0] = (uint32_t)(uintptr_t)(stack + bytes);
    vectors[1] = code_address(second_reset);
    stack_start = stack;
    stack_bytes = bytes;
    released = 1;
    barrier();
    INITSVTOR1 = (uint32_t)(uintptr_t)vectors;
    CPUWAIT &= ~WAIT_CPU1;
}

/* There is one core beside the host's, and one stack for it: it leaves reset once, and waits for the next post on the
 * stack that it has. */
static ta_status start_core(uint32_t instance, void (*serve)(uint32_t instance), uint8_t *stack, uint32_t bytes)
{
    if (stack == NULL || bytes == 0u || (released && stack != stack_start))
        return TA_ERROR_ARGUMENT;
    post = serve;
    post_instance = instance;
    __atomic_store_n(&posts, posts + 1u, __ATOMIC_RELEASE);
    if (!released)
        release_core(stack, bytes);
    signal_all();
    return TA_OK;
}

static ta_status now_us(const ta_port *port, uint64_t *now)
{
    (void)port;
    return ta_port_qemu_mps2.now_us(&ta_port_qemu_mps2, now);
}

static const ta_core_control control = {start_core, signal_all, pause_core, barrier, now_us};

static ta_status open_port(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle)
{
    uint32_t cores = 0;
    for (uint32_t i = 0; i < soc->instance_count; i++)
        cores += soc->instances[i].stack != NULL ? 1u : 0u;
    if (cores > 1u)
        return TA_ERROR_ARGUMENT;
    const ta_status status = ta_port_qemu_mps2.open(port, soc, bundle);
    described = soc;
    return status == TA_OK ? ta_workers_open(&control, soc, bundle) : status;
}

static ta_status close_port(const ta_port *port)
{
    const ta_status status = ta_workers_close(port);
    return status == TA_OK ? ta_port_qemu_mps2.close(port) : status;
}

static ta_status copy(const ta_port *port, const ta_copy *one)
{
    return ta_port_qemu_mps2.copy(port, one);
}

static ta_status dispatch(const ta_port *port, const ta_dispatch *call)
{
    if (described->instances[call->instance].is_host)
        return ta_port_qemu_mps2.dispatch(port, call);
    return ta_workers_dispatch(port, call);
}

/* Nothing of this board has a cache. */
static ta_status clean(const ta_port *port, const void *start, uint32_t bytes)
{
    return ta_port_qemu_mps2.cache_clean(port, start, bytes);
}

static ta_status invalidate(const ta_port *port, void *start, uint32_t bytes)
{
    return ta_port_qemu_mps2.cache_invalidate(port, start, bytes);
}

uint32_t ta_sse200_stack_used(void)
{
    const uint32_t *const words = (const uint32_t *)(const void *)stack_start;
    uint32_t clean_words = 0;
    while (clean_words < stack_bytes / 4u && words[clean_words] == PAINT)
        clean_words++;
    return stack_bytes - 4u * clean_words;
}

const ta_port ta_port_qemu_sse200 = {
    .version = TA_PORT_VERSION,
    .name = "qemu_sse200",
    .open = open_port,
    .close = close_port,
    .start = ta_workers_start,
    .stop = ta_workers_stop,
    .copy = copy,
    .dispatch = dispatch,
    .read_timeline = ta_workers_read_timeline,
    .wait = ta_workers_wait,
    .cancel = ta_workers_cancel,
    .cache_clean = clean,
    .cache_invalidate = invalidate,
    .now_us = now_us,
};
