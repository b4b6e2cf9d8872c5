/* The port of an Arm Cortex-M alone, on the boards that QEMU emulates: MPS2 (AN385, AN386, AN500) and MPS3
 * (AN547). The host is all there is; NULL is unsupported. */
#include "ports/qemu_mps2/mpu.h"
#include "ports/qemu_mps2/qemu_mps2.h"

/* The arguments of `open`, and where the steps of each model are counted. */
static const ta_bundle *opened, *counted;
static uint64_t *step_ticks;
static uint32_t step_count;
static uint32_t cursor; /* the step that comes next: steps are executed in order, over and over */

#if defined(__ARM_ARCH_8_1M_MAIN__) || defined(__ARM_FEATURE_MVE)
/* The system counter of SSE-300: 64 bits, 32 MHz (Arm SSE-300 TRM, timestamp counter). */
#define COUNTER_CONTROL (*(volatile uint32_t *)(uintptr_t)0x58100000u)
#define COUNTER_LOW (*(volatile uint32_t *)(uintptr_t)0x58101000u)
#define TICKS_PER_US 32u
static uint32_t counter(void)
{
    COUNTER_CONTROL = 1u;
    return COUNTER_LOW;
}
#else
/* CMSDK APB timer 0: 32 bits, 25 MHz, counts down (Arm CMSDK TRM, section 4.4). A Cortex-M33 sees it as secure. */
#ifdef __ARM_ARCH_8M_MAIN__
#define TIMER 0x50000000u
#else
#define TIMER 0x40000000u
#endif
#define TIMER_CONTROL (*(volatile uint32_t *)(uintptr_t)TIMER)
#define TIMER_VALUE (*(volatile uint32_t *)(uintptr_t)(TIMER + 4u))
#define TICKS_PER_US 25u
#define TIMER_RELOAD (*(volatile uint32_t *)(uintptr_t)(TIMER + 8u))
static uint32_t counter(void)
{
    if ((TIMER_CONTROL & 1u) == 0u) {
        TIMER_RELOAD = 0xffffffffu;
        TIMER_VALUE = 0xffffffffu;
        TIMER_CONTROL = 1u;
    }
    return 0xffffffffu - TIMER_VALUE;
}
#endif

#define MPU_TYPE (*(volatile uint32_t *)(uintptr_t)0xe000ed90u)
#define MPU_CONTROL (*(volatile uint32_t *)(uintptr_t)0xe000ed94u)
#define MPU_NUMBER (*(volatile uint32_t *)(uintptr_t)0xe000ed98u)
#define MPU_BASE (*(volatile uint32_t *)(uintptr_t)0xe000ed9cu)
#define MPU_ATTRIBUTES (*(volatile uint32_t *)(uintptr_t)0xe000eda0u)
#define MPU_KINDS (*(volatile uint32_t *)(uintptr_t)0xe000edc0u)
enum { MOST_RUNS = 15 };
extern uint32_t ta_stack_start[], ta_stack_end[];
static uint32_t guarded;

static void guard(uint32_t on)
{
    if (guarded == 0u)
        return;
    __asm__ volatile("dsb" ::: "memory");
    MPU_CONTROL = on;
    __asm__ volatile("dsb\nisb" ::: "memory");
}

static void insert(ta_mpu_run *runs, uint32_t count, uintptr_t start, uintptr_t end)
{
    uint32_t at = count;
    for (; at > 0u && runs[at - 1u].start > start; at--)
        runs[at] = runs[at - 1u];
    runs[at].start = (uint32_t)start;
    runs[at].end = (uint32_t)end;
}

ta_status ta_mps2_protect(int on)
{
    ta_mpu_run runs[MOST_RUNS];
    ta_mpu_region regions[2 * MOST_RUNS + 1];
    const uint32_t available = (MPU_TYPE >> 8) & 0xffu;
    uint32_t count = 1;
    if (opened == NULL)
        return TA_ERROR_STATE;
    guarded = 0;
    insert(runs, 0, (uintptr_t)ta_stack_start, (uintptr_t)ta_stack_end);
    for (uint32_t i = 0; i < opened->arena_count; i++) {
        const ta_arena *arena = &opened->arenas[i];
        if (arena->base == NULL || arena->bytes == 0u)
            continue;
        if (count == MOST_RUNS)
            return TA_ERROR_UNSUPPORTED;
        insert(runs, count++, (uintptr_t)arena->base, (uintptr_t)arena->base + arena->bytes);
    }
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
    const uint32_t used = ta_mpu_v8m(runs, count, regions, available);
    MPU_KINDS = 0x44u; /* normal memory, not cached */
#else
    const uint32_t used = ta_mpu_v7m(runs, count, regions, available);
#endif
    if (used == 0u)
        return TA_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < available; i++) {
        MPU_NUMBER = i;
        MPU_BASE = i < used ? regions[i].base : 0u;
        MPU_ATTRIBUTES = i < used ? regions[i].attributes : 0u;
    }
    guarded = on != 0 ? 1u : 0u;
    return TA_OK;
}

uint64_t ta_mps2_ticks(void)
{
    static uint32_t before, started;
    static uint64_t ticks;
    const uint32_t now = counter();
    if (started != 0u)
        ticks += (uint32_t)(now - before);
    started = 1;
    before = now;
    return ticks;
}

/* In pieces of 32 bits: a division of 64 is a function of a library. */
static ta_status mps2_now_us(const ta_port *port, uint64_t *now)
{
    static uint64_t microseconds, counted_ticks;
    const uint32_t piece_us = 0x4000000u, piece = TICKS_PER_US * piece_us;
    uint64_t passed = ta_mps2_ticks() - counted_ticks;
    (void)port;
    counted_ticks += passed;
    for (; passed >= piece; passed -= piece)
        microseconds += piece_us;
    const uint32_t whole = (uint32_t)passed / TICKS_PER_US, rest = (uint32_t)passed % TICKS_PER_US;
    microseconds += whole;
    counted_ticks -= rest; /* they count when their microsecond is over */
    *now = microseconds;
    return TA_OK;
}

void ta_mps2_count_steps(uint64_t *ticks, uint32_t steps)
{
    ta_mps2_count_steps_of(opened, ticks, steps);
}

void ta_mps2_count_steps_of(const ta_bundle *bundle, uint64_t *ticks, uint32_t steps)
{
    counted = bundle;
    step_ticks = ticks;
    step_count = ticks == NULL ? 0u : steps;
    cursor = 0;
}

/* The number of the step that executes entry `index` of its table; the core comes here in their order. */
static uint32_t step_of(uint32_t kind, uint32_t index)
{
    for (uint32_t i = 0; i < counted->step_count; i++) {
        const uint32_t number = (cursor + i) % counted->step_count;
        const ta_step *step = &counted->steps[number];
        if (step->kind == kind && step->index == index) {
            cursor = number + 1u;
            return number;
        }
    }
    return TA_NO_STEP;
}

static void count(uint32_t kind, uint32_t index, uint64_t since)
{
    const uint64_t ticks = ta_mps2_ticks() - since;
    const uint32_t step = step_of(kind, index);
    if (step < step_count)
        step_ticks[step] += ticks;
}

static ta_status mps2_open(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle)
{
    (void)port;
    (void)soc;
    if (opened != NULL)
        return TA_ERROR_STATE;
    opened = bundle;
    cursor = 0;
    return TA_OK;
}

static ta_status mps2_close(const ta_port *port)
{
    (void)port;
    if (opened == NULL)
        return TA_ERROR_STATE;
    opened = NULL;
    guarded = 0;
    return TA_OK;
}

/* From the end where the target is behind the source, so that the two may overlap. */
static void copy_row(uint8_t *target, const uint8_t *source, uint32_t bytes)
{
    if ((uintptr_t)target < (uintptr_t)source)
        for (uint32_t i = 0; i < bytes; i++)
            target[i] = source[i];
    else
        for (uint32_t left = bytes; left > 0u; left--)
            target[left - 1u] = source[left - 1u];
}

static ta_status mps2_copy(const ta_port *port, const ta_copy *copy)
{
    (void)port;
    uint8_t *target = ta_pointer(opened, copy->target);
    const uint8_t *source = ta_pointer(opened, copy->source);
    if (target == NULL || source == NULL)
        return TA_ERROR_ARGUMENT;
    const uint64_t since = ta_mps2_ticks();
    for (uint32_t row = 0; row < copy->rows; row++)
        copy_row(target + row * copy->target_stride, source + row * copy->source_stride, copy->row_bytes);
    if (step_count != 0u)
        count(TA_STEP_COPY, (uint32_t)(copy - counted->copies), since);
    return TA_OK;
}

static ta_status mps2_dispatch(const ta_port *port, const ta_dispatch *dispatch)
{
    (void)port;
    void *pointers[TA_MAX_OPERANDS];
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        pointers[i] = ta_pointer(opened, dispatch->refs[i]);
        if (pointers[i] == NULL)
            return TA_ERROR_ARGUMENT; /* the host does not see that memory */
    }
    const uint64_t since = ta_mps2_ticks();
    guard(1);
    const ta_status status = dispatch->kernel->function(pointers);
    guard(0);
    if (step_count != 0u)
        count(TA_STEP_DISPATCH, (uint32_t)(dispatch - counted->dispatches), since);
    return status;
}

/* The caches of these boards are not emulated, and nothing but the core reads memory there. */
static ta_status mps2_cache(const ta_port *port, const void *start, uint32_t bytes)
{
    (void)port;
    (void)start;
    (void)bytes;
    return TA_OK;
}

static ta_status mps2_drop(const ta_port *port, void *start, uint32_t bytes)
{
    return mps2_cache(port, start, bytes);
}

const ta_port ta_port_qemu_mps2 = {
    .version = TA_PORT_VERSION,
    .name = "qemu_mps2",
    .open = mps2_open,
    .close = mps2_close,
    .copy = mps2_copy,
    .dispatch = mps2_dispatch,
    .cache_clean = mps2_cache,
    .cache_invalidate = mps2_drop,
    .now_us = mps2_now_us,
};
