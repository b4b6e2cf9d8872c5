/* A further core of the host: it executes functions of the same program, at the same time, on a stack of its own. */
#include <string.h>

#include "conformance/conformance.h"

enum { CORE_TIMELINE = TIMELINE_OF(INSTANCE_CORE) };
#define PATIENCE 2000000000u /* turns of a loop */

static workload w;
static uint32_t begun[2]; /* in how many runs, by the host and by the core */
static uint32_t held;     /* 1: the core shall not return */
static const uint8_t *local_at;

static void begin_with_core(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_CORE);
    begun[0] = begun[1] = held = 0;
}

/* A call on an instance of a function of this file. */
static uint32_t add_function(uint32_t instance, ta_function function, uint32_t out)
{
    const uint32_t step = add_call(&w, instance, sram(0), sram(64), sram(out));
    w.kernels[w.steps[step].index].function = function;
    return step;
}

static const char *a_call(void)
{
    begin_with_core();
    (void)add_call(&w, INSTANCE_CORE, sram(0), sram(64), sram(128));
    (void)add_wait(&w, CORE_TIMELINE);
    INIT(w);
    for (uint32_t run = 0; run < 50; run++) {
        fill(0, 192, run);
        CHECK(ta_run(&rt) == TA_OK && is_sum(0, 64, 128, ADD_BYTES));
    }
    CHECK(ta_stop(&rt) == TA_OK);
    return NULL;
}

static ta_status meet(uint32_t own, void *const *operands)
{
    const uint32_t turn = __atomic_add_fetch(&begun[own], 1u, __ATOMIC_RELAXED);
    for (uint32_t patience = PATIENCE; patience != 0; patience--)
        if (__atomic_load_n(&begun[1u - own], __ATOMIC_RELAXED) >= turn)
            return conformance_add(operands);
    return TA_ERROR_DEVICE;
}

static ta_status host_meets(void *const *operands)
{
    return meet(0, operands);
}

static ta_status core_meets(void *const *operands)
{
    return meet(1, operands);
}

/* Each kernel returns when the other has begun: one after the other would never end. */
static const char *both_at_once(void)
{
    begin_with_core();
    (void)add_function(INSTANCE_CORE, core_meets, 128);
    (void)add_function(INSTANCE_HOST, host_meets, 192);
    (void)add_wait(&w, CORE_TIMELINE);
    if (under_test.set_lazy != NULL)
        under_test.set_lazy(0);
    INIT(w);
    for (uint32_t run = 0; run < 50; run++) {
        fill(0, 256, run);
        CHECK(ta_run(&rt) == TA_OK && is_sum(0, 64, 128, ADD_BYTES) && is_sum(0, 64, 192, ADD_BYTES));
    }
    return NULL;
}

/* More calls than any queue holds, each with what the one before it wrote. */
static const char *calls_in_order(void)
{
    begin_with_core();
    for (uint32_t i = 0; i < 40; i++)
        (void)add_call(&w, INSTANCE_CORE, sram(64 * i), sram(64 * i + 64), sram(64 * i + 128));
    (void)add_wait(&w, CORE_TIMELINE);
    INIT(w);
    fill(0, 42 * 64, 5);
    CHECK(ta_run(&rt) == TA_OK);
    for (uint32_t i = 0; i < 40; i++)
        CHECK(is_sum(64 * i, 64 * i + 64, 64 * i + 128, ADD_BYTES));
    return NULL;
}

static ta_status refuse(void *const *operands)
{
    return operands[0] == NULL ? TA_OK : TA_ERROR_DEVICE;
}

static const char *a_failure_is_said_once(void)
{
    begin_with_core();
    (void)add_call(&w, INSTANCE_CORE, sram(0), sram(64), sram(128));
    const uint32_t bad = add_function(INSTANCE_CORE, refuse, 192);
    (void)add_call(&w, INSTANCE_CORE, sram(0), sram(64), sram(256));
    (void)add_wait(&w, CORE_TIMELINE);
    INIT(w);
    fill(0, 320, 9);
    CHECK(ta_run(&rt) == TA_ERROR_DEVICE && rt.failed_step == bad);
    w.kernels[w.steps[bad].index].function = conformance_add;
    CHECK(ta_run(&rt) == TA_OK && is_sum(0, 64, 192, ADD_BYTES) && is_sum(0, 64, 256, ADD_BYTES));
    return NULL;
}

static ta_status stay(void *const *operands)
{
    while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) != 0)
        ;
    return conformance_add(operands);
}

/* Several calls as one order, as frames in flight hand them over, and one look that settles them. */
static const char *calls_at_once(void)
{
    enum { CALLS = 8, PATIENCE_US = 1000000 };
    const ta_port *port = under_test.port;
    uint32_t value = 0;
    SKIP_WITHOUT(port->dispatch_all != NULL && port->succeeded != NULL, "the port takes calls one by one");
    begin_with_core();
    for (uint32_t i = 0; i < MAX_ITEMS; i++)
        (void)add_call(&w, INSTANCE_CORE, sram(64 * (i % CALLS)), sram(64), sram(64 * (i % CALLS) + 1024));
    INIT(w);
    fill(0, 1024, 9);
    CHECK(port->read_timeline(port, CORE_TIMELINE, &value) == TA_OK);
    for (uint32_t turn = 0; turn < 20; turn++, value += CALLS) {
        CHECK(port->dispatch_all(port, w.dispatches, CALLS) == TA_OK);
        CHECK(port->wait(port, CORE_TIMELINE, value + CALLS, PATIENCE_US) == TA_OK);
        CHECK(port->succeeded(port, CORE_TIMELINE, value + CALLS) == TA_OK);
        CHECK(port->succeeded(port, CORE_TIMELINE, value + CALLS + 1u) == TA_ERROR_BUSY);
    }
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(is_sum(64 * i, 64, 64 * i + 1024, ADD_BYTES));
    __atomic_store_n(&held, 1u, __ATOMIC_RELEASE);
    w.kernels[0].function = stay;
    CHECK(port->dispatch_all(port, w.dispatches, 1) == TA_OK); /* a queue that does not move is full at last */
    uint32_t queued = 1;
    while (queued < 1000u && port->dispatch_all(port, &w.dispatches[1], CALLS) == TA_OK)
        queued += CALLS;
    CHECK(port->dispatch_all(port, &w.dispatches[1], CALLS) == TA_ERROR_BUSY); /* and takes all or none */
    __atomic_store_n(&held, 0u, __ATOMIC_RELEASE);
    CHECK(port->wait(port, CORE_TIMELINE, value + queued, PATIENCE_US) == TA_OK);
    CHECK(port->succeeded(port, CORE_TIMELINE, value + queued) == TA_OK);
    return NULL;
}

/* One of them fails, or is out of reach. */
static const char *calls_at_once_that_fail(void)
{
    enum { PATIENCE_US = 1000000 };
    const ta_port *port = under_test.port;
    uint32_t value = 0;
    SKIP_WITHOUT(port->dispatch_all != NULL && port->succeeded != NULL, "the port takes calls one by one");
    begin_with_core();
    for (uint32_t i = 0; i < 3; i++)
        (void)add_call(&w, INSTANCE_CORE, sram(64 * i), sram(64), sram(64 * i + 1024));
    (void)add_call(&w, INSTANCE_CORE, tcm(0), sram(64), sram(128));
    w.kernels[1].function = refuse;
    INIT(w);
    fill(0, 1024, 9);
    CHECK(port->read_timeline(port, CORE_TIMELINE, &value) == TA_OK);
    CHECK(port->dispatch_all(port, w.dispatches, 4) == TA_ERROR_ARGUMENT);
    CHECK(port->wait(port, CORE_TIMELINE, value + 1u, 1000) == TA_ERROR_TIMEOUT); /* none was queued */
    CHECK(port->dispatch_all(port, w.dispatches, 3) == TA_OK);
    CHECK(port->wait(port, CORE_TIMELINE, value + 1u, PATIENCE_US) == TA_OK);
    CHECK(port->succeeded(port, CORE_TIMELINE, value + 3u) == TA_ERROR_BUSY);
    CHECK(port->wait(port, CORE_TIMELINE, value + 2u, PATIENCE_US) == TA_ERROR_DEVICE);
    CHECK(port->succeeded(port, CORE_TIMELINE, value + 1u) == TA_OK);
    CHECK(port->wait(port, CORE_TIMELINE, value + 3u, PATIENCE_US) == TA_OK);
    CHECK(port->succeeded(port, CORE_TIMELINE, value + 3u) == TA_OK);
    CHECK(is_sum(0, 64, 1024, ADD_BYTES) && is_sum(128, 64, 1152, ADD_BYTES));
    return NULL;
}

/* A core cannot be taken away from a function: what waits for it gives up, and the runtime is broken until it
 * returned. */
static const char *a_call_that_stays_too_long(void)
{
    begin_with_core();
    const uint32_t step = add_function(INSTANCE_CORE, stay, 128);
    (void)add_wait(&w, CORE_TIMELINE);
    INIT(w);
    rt.timeout_us = 20000;
    held = 1;
    CHECK(ta_run(&rt) == TA_ERROR_TIMEOUT && rt.failed_step == step);
    CHECK(ta_run(&rt) == TA_ERROR_STATE);
    __atomic_store_n(&held, 0u, __ATOMIC_RELEASE);
    CHECK(ta_stop(&rt) == TA_OK && ta_init(&rt, &w.bundle, &conformance_soc, under_test.port) == TA_OK);
    fill(0, 192, 3);
    CHECK(ta_run(&rt) == TA_OK && is_sum(0, 64, 128, ADD_BYTES));
    return NULL;
}

static const char *stop_and_start(void)
{
    begin_with_core();
    (void)add_call(&w, INSTANCE_CORE, sram(0), sram(64), sram(128));
    (void)add_wait(&w, CORE_TIMELINE);
    INIT(w);
    for (uint32_t turn = 0; turn < 20; turn++) {
        fill(0, 192, turn);
        CHECK(ta_run(&rt) == TA_OK && is_sum(0, 64, 128, ADD_BYTES) && ta_stop(&rt) == TA_OK);
        CHECK(ta_init(&rt, &w.bundle, &conformance_soc, under_test.port) == TA_OK);
        CHECK(under_test.port->start(under_test.port, INSTANCE_CORE) == TA_OK); /* once more does nothing */
    }
    return NULL;
}

static ta_status look_at_stack(void *const *operands)
{
    uint8_t local[16];
    memcpy(local, operands[0], sizeof local);
    local_at = local;
    return conformance_add(operands);
}

static const char *a_stack_of_its_own(void)
{
    if (!under_test.uses_stacks)
        return "skip: the system gives it a stack";
    begin_with_core();
    (void)add_function(INSTANCE_CORE, look_at_stack, 128);
    (void)add_wait(&w, CORE_TIMELINE);
    INIT(w);
    CHECK(ta_run(&rt) == TA_OK);
    CHECK(local_at >= conformance_stack && local_at < conformance_stack + STACK_BYTES);
    return NULL;
}

static const char *out_of_reach(void)
{
    begin_with_core();
    INIT(w);
    const ta_port *port = under_test.port;
    (void)add_call(&w, INSTANCE_CORE, tcm(0), sram(64), sram(128)); /* the tables are checked, reach is the port's */
    CHECK(port->dispatch(port, &w.dispatches[0]) == TA_ERROR_ARGUMENT);
    CHECK(port->stop(port, INSTANCE_CORE) == TA_OK && port->stop(port, INSTANCE_CORE) == TA_OK);
    CHECK(port->dispatch(port, &w.dispatches[0]) != TA_OK);
    CHECK(port->wait(port, CORE_TIMELINE, 1, 1000) == TA_ERROR_TIMEOUT);
    CHECK(port->cancel(port, CORE_TIMELINE) == TA_OK);
    return NULL;
}

const test_case core_of_host_tests[] = {
    {"a core of the host: a call", a_call},
    {"a core of the host: both at once", both_at_once},
    {"a core of the host: calls in order", calls_in_order},
    {"a core of the host: a failure is said once", a_failure_is_said_once},
    {"a core of the host: calls at once", calls_at_once},
    {"a core of the host: calls at once that fail", calls_at_once_that_fail},
    {"a core of the host: a call that stays too long", a_call_that_stays_too_long},
    {"a core of the host: stop and start", stop_and_start},
    {"a core of the host: a stack of its own", a_stack_of_its_own},
    {"a core of the host: out of reach", out_of_reach},
    {NULL, NULL},
};
