/* The null port with workers: a core is a thread, which has a stack of the system's. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <time.h>

#include "conformance/conformance.h"
#include "workers/workers.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER;
static void (*entry)(uint32_t instance);
static uint32_t entered;

extern const ta_port ta_port_null;

static void *core(void *unused)
{
    (void)unused;
    entry(entered);
    return NULL;
}

static ta_status start(uint32_t instance, void (*serve)(uint32_t instance), uint8_t *stack, uint32_t bytes)
{
    pthread_t thread;
    if (stack == NULL || bytes == 0)
        return TA_ERROR_ARGUMENT;
    entry = serve;
    entered = instance;
    if (pthread_create(&thread, NULL, core, NULL) != 0)
        return TA_ERROR_DEVICE;
    return pthread_detach(thread) == 0 ? TA_OK : TA_ERROR_DEVICE;
}

static void signal_all(void)
{
    (void)pthread_cond_broadcast(&signalled);
}

/* A signal between a look and this is lost, so it takes at most a millisecond. */
static void pause_shortly(void)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec += 1;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&lock);
    (void)pthread_cond_timedwait(&signalled, &lock, &until);
    pthread_mutex_unlock(&lock);
}

/* Caches are coherent, and the compiler has atomics. */
static void barrier(void)
{
}

static ta_status now_us(const ta_port *port, uint64_t *now)
{
    struct timespec time;
    (void)port;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    *now = (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000u;
    return TA_OK;
}

static const ta_core_control control = {start, signal_all, pause_shortly, barrier, now_us};

static ta_status open_port(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle)
{
    const ta_status status = ta_port_null.open(port, soc, bundle);
    return status == TA_OK ? ta_workers_open(&control, soc, bundle) : status;
}

static ta_status close_port(const ta_port *port)
{
    const ta_status status = ta_workers_close(port);
    return status == TA_OK ? ta_port_null.close(port) : status;
}

static ta_status copy(const ta_port *port, const ta_copy *one)
{
    return ta_port_null.copy(port, one);
}

static ta_status dispatch_call(const ta_port *port, const ta_dispatch *dispatch)
{
    if (dispatch->instance != INSTANCE_HOST)
        return ta_workers_dispatch(port, dispatch);
    return ta_port_null.dispatch(port, dispatch);
}

static const ta_port port_workers = {
    .version = TA_PORT_VERSION,
    .name = "workers",
    .open = open_port,
    .close = close_port,
    .start = ta_workers_start,
    .stop = ta_workers_stop,
    .copy = copy,
    .dispatch = dispatch_call,
    .read_timeline = ta_workers_read_timeline,
    .wait = ta_workers_wait,
    .cancel = ta_workers_cancel,
    .now_us = now_us,
};

static const char *const modes[] = {"", NULL};

const port_under_test under_test = {.port = &port_workers, .modes = modes};
