/* A queue per core, with one writer on either side.
 *
 * The host writes a call and then `submitted`; the core executes it and then writes `completed`. Both count modulo 2^32.
 * While the host drops what is queued, the core passes over calls without executing them. A failure stays in `fault`,
 * and the core does nothing more until the host has taken it: then it writes `taken`.
 */
#include "workers/workers.h"

#include "target_arch/runtime.h"

#define QUEUE 16u /* a power of two, so that slots continue where counters wrap */

/* What two cores read and write without a lock; a compiler without these has volatile accesses and the barrier. */
#ifdef __GNUC__
#define SHARED
#define READ(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define WRITE(place, value) __atomic_store_n(&(place), (value), __ATOMIC_RELEASE)
#else
#define SHARED volatile
#define READ(place) (place)
#define WRITE(place, value) ((void)((place) = (value)))
#endif

typedef struct worker {
    const ta_dispatch *queue[QUEUE];
    /* Written by the host. */
    SHARED uint32_t submitted;
    SHARED uint32_t dropping; /* what is queued shall not be executed */
    SHARED uint32_t leaving;  /* it shall return */
    SHARED uint32_t taken;    /* failures that the host has seen */
    uint32_t started;
    uint32_t starts;
    uint32_t wakes;
    /* Written by the core. */
    SHARED uint32_t completed;
    SHARED uint32_t returned; /* how often it left */
    SHARED uint32_t sleeping; /* it found nothing to do */
    SHARED uint32_t faults;   /* failures so far; of the last one */
    uint32_t fault_at;        /* the number of its call, */
    ta_status fault;          /* and how that ended */
} worker;

static worker workers[TA_MAX_WORKERS];
static const ta_core_control *control;
static const ta_soc *described;
static const ta_bundle *opened;

static int reached(uint32_t counter, uint32_t value)
{
    return (int32_t)(counter - value) >= 0;
}

static uint64_t now(const ta_port *port)
{
    uint64_t time = 0;
    (void)control->now_us(port, &time);
    return time;
}

static ta_status execute(const ta_dispatch *dispatch)
{
    void *pointers[TA_MAX_OPERANDS];
    for (uint32_t i = 0; i < dispatch->ref_count; i++)
        pointers[i] = ta_pointer(opened, dispatch->refs[i]);
    return dispatch->kernel->function(pointers);
}

/* Is there something that the core may do now? */
static int has_work(const worker *w)
{
    return READ(w->submitted) != w->completed && READ(w->taken) == w->faults;
}

static void do_next(worker *w)
{
    const uint32_t number = w->completed + 1u;
    ta_status status = TA_OK;
    control->barrier();
    if (!READ(w->dropping))
        status = execute(w->queue[w->completed % QUEUE]);
    control->barrier();
    if (status != TA_OK && !READ(w->dropping)) {
        w->fault = status;
        w->fault_at = number;
        WRITE(w->faults, w->faults + 1u);
    }
    WRITE(w->completed, number);
    control->signal();
}

/* What a core executes from start to stop. */
static void serve(uint32_t instance)
{
    worker *w = &workers[instance];
    const ta_core_control *const cores = control; /* when the host knows that this one left, all else may change */
    while (!READ(w->leaving)) {
        if (has_work(w)) {
            WRITE(w->sleeping, 0u);
            do_next(w);
            continue;
        }
        WRITE(w->sleeping, 1u);
        control->pause();
    }
    WRITE(w->returned, w->returned + 1u);
    cores->signal();
}

int ta_workers_have(uint32_t instance)
{
    return described != NULL && instance < described->instance_count && described->instances[instance].stack != NULL;
}

static worker *worker_of(uint32_t timeline)
{
    const uint32_t channels = described == NULL ? 0u : described->channel_count;
    return timeline < channels || !ta_workers_have(timeline - channels) ? NULL : &workers[timeline - channels];
}

ta_status ta_workers_open(const ta_core_control *cores, const ta_soc *soc, const ta_bundle *bundle)
{
    static const worker fresh;
    if (soc->instance_count > TA_MAX_WORKERS)
        return TA_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < TA_MAX_WORKERS; i++)
        workers[i] = fresh;
    control = cores;
    described = soc;
    opened = bundle;
    return TA_OK;
}

ta_status ta_workers_close(const ta_port *port)
{
    ta_status first = TA_OK;
    for (uint32_t i = 0; described != NULL && i < described->instance_count; i++) {
        const ta_status status = ta_workers_have(i) ? ta_workers_stop(port, i) : TA_OK;
        if (first == TA_OK)
            first = status;
    }
    if (first == TA_OK)
        described = NULL;
    return first;
}

ta_status ta_workers_start(const ta_port *port, uint32_t instance)
{
    (void)port;
    if (!ta_workers_have(instance))
        return TA_ERROR_ARGUMENT;
    worker *w = &workers[instance];
    const ta_instance_info *info = &described->instances[instance];
    if (w->started)
        return TA_OK;
    WRITE(w->leaving, 0u);
    control->barrier();
    const ta_status status = control->start(instance, serve, info->stack, info->stack_bytes);
    w->started = status == TA_OK;
    w->starts += w->started;
    return status;
}

/* Wait until what the core writes has this value. */
static ta_status until(const ta_port *port, const SHARED uint32_t *place, uint32_t value)
{
    const uint64_t deadline = now(port) + TA_WORKERS_PATIENCE_US;
    control->signal();
    while (READ(*place) != value) {
        if (now(port) > deadline)
            return TA_ERROR_TIMEOUT;
        control->pause();
    }
    control->barrier();
    return TA_OK;
}

ta_status ta_workers_cancel(const ta_port *port, uint32_t timeline)
{
    worker *w = worker_of(timeline);
    if (w == NULL || !w->started)
        return TA_OK; /* nothing is there */
    WRITE(w->dropping, 1u);
    WRITE(w->taken, READ(w->faults));
    if (until(port, &w->completed, w->submitted) != TA_OK)
        return TA_ERROR_TIMEOUT; /* still dropping: whenever its call ends, nothing more begins */
    WRITE(w->taken, READ(w->faults));
    WRITE(w->dropping, 0u);
    return TA_OK;
}

ta_status ta_workers_stop(const ta_port *port, uint32_t instance)
{
    if (!ta_workers_have(instance))
        return TA_ERROR_ARGUMENT;
    worker *w = &workers[instance];
    if (!w->started)
        return TA_OK;
    ta_status status = ta_workers_cancel(port, described->channel_count + instance);
    WRITE(w->leaving, 1u);
    if (status == TA_OK)
        status = until(port, &w->returned, w->starts);
    w->started = status != TA_OK;
    return status;
}

static int observes(const ta_instance_info *info, uint32_t memory)
{
    for (uint32_t i = 0; i < info->observed_count; i++)
        if (info->observed[i].memory == memory)
            return 1;
    return 0;
}

/* A core has the host's addresses, so a place must be one that both see. */
static int reachable(const ta_dispatch *dispatch)
{
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        const uint32_t memory = opened->arenas[dispatch->refs[i].arena].memory;
        if (!observes(&described->instances[dispatch->instance], memory) || ta_pointer(opened, dispatch->refs[i]) == NULL)
            return 0;
    }
    return 1;
}

ta_status ta_workers_dispatch(const ta_port *port, const ta_dispatch *dispatch)
{
    (void)port;
    if (!ta_workers_have(dispatch->instance) || !workers[dispatch->instance].started)
        return TA_ERROR_STATE;
    worker *w = &workers[dispatch->instance];
    if (!reachable(dispatch))
        return TA_ERROR_ARGUMENT;
    if (w->submitted - READ(w->completed) >= QUEUE || w->dropping)
        return TA_ERROR_BUSY;
    w->queue[w->submitted % QUEUE] = dispatch;
    w->wakes += READ(w->sleeping) != 0;
    control->barrier();
    WRITE(w->submitted, w->submitted + 1u);
    control->signal();
    return TA_OK;
}

ta_status ta_workers_read_timeline(const ta_port *port, uint32_t timeline, uint32_t *value)
{
    const worker *w = worker_of(timeline);
    (void)port;
    *value = w == NULL ? 0 : READ(w->completed);
    return TA_OK;
}

/* Has a call up to this one failed, and the host does not know? */
static int has_failed(const worker *w, uint32_t value)
{
    return READ(w->faults) != w->taken && reached(value, w->fault_at);
}

ta_status ta_workers_wait(const ta_port *port, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    worker *w = worker_of(timeline);
    if (w == NULL)
        return TA_ERROR_TIMEOUT; /* nothing will ever happen there */
    const uint64_t deadline = now(port) + timeout_us;
    while (!reached(READ(w->completed), value) && !has_failed(w, value)) {
        if (timeout_us == 0u || now(port) > deadline)
            return TA_ERROR_TIMEOUT;
        control->pause();
    }
    control->barrier();
    if (!has_failed(w, value))
        return TA_OK;
    const ta_status fault = w->fault;
    WRITE(w->taken, w->taken + 1u);
    control->signal();
    return fault;
}

uint32_t ta_workers_wakes(uint32_t instance)
{
    return instance < TA_MAX_WORKERS ? workers[instance].wakes : 0u;
}
