/* What the conformance suite cannot ask of the host port: operations of a closed port, systems that do not fit it, cores
 * and devices that do not let go, images, its cache, and calls of the system that fail. Those are linked with
 * --wrap: pthread_create, pthread_cond_init, pthread_condattr_init and clock_gettime fail when told to, and the
 * processors are those that a test says.
 */
#define _GNU_SOURCE

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "conformance/conformance.h"
#include "ports/host/state.h"

ta_runtime rt;
const port_under_test under_test = {.port = &ta_port_host};
static const ta_port *const port = &ta_port_host;
static workload w;
static ta_soc soc;
static ta_memory_info memory_infos[MEMORY_COUNT];
static ta_instance_info instances[INSTANCE_COUNT];

static uint8_t tcm_bytes[TCM_BYTES], ram_bytes[2][RAM_BYTES];
static ta_simulated_memory memories[3];
static const ta_simulator *simulators[INSTANCE_COUNT];
static const ta_core *cores[INSTANCE_COUNT];
static ta_image_check checks[1];
static const ta_simulation simulation = {memories, 3, simulators, INSTANCE_COUNT, cores, checks, 1};

const char *failed(const char *condition)
{
    return condition;
}

/* Calls of the system: the next but so many fails. 0: none. */
static uint32_t fail_create, fail_attributes, fail_condition, fail_clock;

static int fails(uint32_t *counter)
{
    return *counter != 0 && --*counter == 0;
}

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *a, void *(*f)(void *), void *argument)
{
    return fails(&fail_create) ? 11 : __real_pthread_create(thread, a, f, argument);
}

int __real_pthread_condattr_init(pthread_condattr_t *);
int __wrap_pthread_condattr_init(pthread_condattr_t *attributes)
{
    return fails(&fail_attributes) ? 12 : __real_pthread_condattr_init(attributes);
}

int __real_pthread_condattr_setclock(pthread_condattr_t *, clockid_t);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    return fails(&fail_condition) ? 22 : __real_pthread_condattr_setclock(attributes, clock);
}

int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t clock, struct timespec *when)
{
    return fails(&fail_clock) ? -1 : __real_clock_gettime(clock, when);
}

/* Processors: a set of which the host's thread is on `here`; with `none`, those of this computer. */
enum { NONE = -2 };
static uint64_t processors;
static int here = NONE, pinned = -1;

int __real_sched_getaffinity(pid_t, size_t, cpu_set_t *);
int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set)
{
    if (here == NONE)
        return __real_sched_getaffinity(process, bytes, set);
    CPU_ZERO(set);
    for (unsigned i = 0; i < 64; i++)
        if ((processors >> i & 1u) != 0)
            CPU_SET(i, set);
    return processors == 0 ? -1 : 0;
}

int __real_sched_getcpu(void);
int __wrap_sched_getcpu(void)
{
    return here == NONE ? __real_sched_getcpu() : here;
}

int __real_pthread_setaffinity_np(pthread_t, size_t, const cpu_set_t *);
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
    if (here == NONE)
        return __real_pthread_setaffinity_np(thread, bytes, set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((unsigned)i, set))
            pinned = i;
    return 0;
}

/* The processor that a core gets, -1 for none. */
static int processor_of(uint32_t core, uint64_t set, int hosts)
{
    processors = set;
    here = hosts;
    pinned = -1;
    ta_host_pin(pthread_self(), core);
    return pinned;
}

static const char *processors_of_cores(void)
{
    const uint64_t four = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 9;
    CHECK(processor_of(0, four, 4) == 5 && processor_of(1, four, 4) == 9 && processor_of(2, four, 4) == 1);
    CHECK(processor_of(3, four, 4) == -1 && processor_of(0, four, 9) == 1 && processor_of(0, 1u << 4, 4) == -1);
    CHECK(processor_of(0, four, -1) == -1 && ta_host_looks(3) != 0 && ta_host_looks(4) == 0);
    CHECK(processor_of(0, 0, 0) == -1 && ta_host_looks(1) == 0);
    here = NONE;
    return NULL;
}

static const char *a_look_that_pays(void)
{
    const uint32_t news = 1;
    uint32_t us = 150;
    CHECK(ta_host_look(&news, 0, &us) == 1 && us == 200);
    CHECK(ta_host_look(&news, 1, &us) == 0 && us == 100);
    us = 1;
    CHECK(ta_host_look(&news, 1, &us) == 0 && us == 1); /* it goes on looking, if only for a moment */
    return NULL;
}

/* A device and a core whose work ends when it may. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static ta_status core_loads, core_starts, core_stops;
static uint32_t halts;

static void pass_gate(void)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

static ta_status adder_run(uint32_t *registers, const ta_window *windows, uint32_t count)
{
    (void)windows, (void)count;
    pass_gate();
    registers[ADDER_STATUS] = ADDER_DONE;
    return TA_OK;
}

static ta_status core_load(const ta_core *core, const ta_soc *of, const uint8_t *image, uint32_t bytes)
{
    (void)core, (void)of, (void)image, (void)bytes;
    return core_loads;
}

static ta_status core_start(const ta_core *core)
{
    (void)core;
    return core_starts;
}

static ta_status core_stop(const ta_core *core)
{
    (void)core;
    return core_stops;
}

static ta_status core_call(const ta_core *core, ta_function function, const ta_address *operands, uint32_t count)
{
    (void)core, (void)function, (void)operands, (void)count;
    pass_gate();
    return TA_OK;
}

static void core_halt(const ta_core *core)
{
    (void)core;
    halts++;
}

static const ta_simulator adder = {"adder", ADDER_REGISTERS, ADDER_START_REGISTER, adder_run};
static const ta_simulator large = {"large", TA_SIMULATOR_MAX_REGISTERS + 1u, 0, adder_run};
static const ta_core a_core = {core_load, core_start, core_stop, core_call, core_halt};

static ta_status check_image(const uint8_t *image, uint32_t bytes)
{
    return bytes != 0 && image[0] == 'w' ? TA_ERROR_IMAGE : TA_OK;
}

static void begin_right(void)
{
    const ta_simulated_memory all[] = {
        {MEMORY_TCM, TCM_BYTES, tcm_bytes}, {MEMORY_RAM_0, RAM_BYTES, ram_bytes[0]}, {MEMORY_RAM_1, RAM_BYTES, ram_bytes[1]}};
    memcpy(memories, all, sizeof all);
    simulators[INSTANCE_ADDER_0] = simulators[INSTANCE_ADDER_1] = &adder;
    cores[INSTANCE_DSP] = NULL;
    checks[0].load_process = TA_LOAD_FIRMWARE;
    checks[0].check = check_image;
    core_loads = core_starts = core_stops = TA_OK;
    begin(&w);
    soc = conformance_soc;
    memcpy(instances, soc.instances, sizeof instances);
    memcpy(memory_infos, soc.memories, sizeof memory_infos);
    soc.instances = instances;
    soc.memories = memory_infos;
}

static ta_status open_port(void)
{
    return port->open(port, &soc, &w.bundle);
}

static const char *closed(void)
{
    uint32_t value = 0;
    uint64_t now = 0;
    ta_address address = 0;
    const ta_copy copy = {sram(0), sram(64), 4, 1, 0, 0, TA_CACHE_NONE};
    begin_right();
    (void)add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    CHECK(port->close(port) == TA_ERROR_STATE && port->load(port, INSTANCE_DSP, NULL, 0) == TA_ERROR_STATE);
    CHECK(port->start(port, INSTANCE_DSP) == TA_ERROR_STATE && port->stop(port, INSTANCE_DSP) == TA_ERROR_STATE);
    CHECK(port->copy(port, &copy) == TA_ERROR_STATE && port->copy_async(port, CHANNEL_0, &copy) == TA_ERROR_STATE);
    CHECK(port->dispatch(port, &w.dispatches[0]) == TA_ERROR_STATE);
    CHECK(port->dispatch_all(port, w.dispatches, 1) == TA_ERROR_STATE);
    CHECK(port->succeeded(port, CHANNEL_0, 1) == TA_ERROR_STATE);
    CHECK(port->address(port, INSTANCE_DSP, tcm(0), &address) == TA_ERROR_STATE);
    CHECK(port->read_timeline(port, CHANNEL_0, &value) == TA_ERROR_STATE);
    CHECK(port->wait(port, CHANNEL_0, 1, 0) == TA_ERROR_STATE && port->cancel(port, CHANNEL_0) == TA_ERROR_STATE);
    CHECK(port->mmio_read32(port, INSTANCE_ADDER_0, 0, &value) == TA_ERROR_STATE);
    CHECK(port->mmio_write32(port, INSTANCE_ADDER_0, 0, 0) == TA_ERROR_STATE);
    fail_clock = 1;
    CHECK(port->now_us(port, &now) == TA_ERROR_UNSUPPORTED && port->now_us(port, &now) == TA_OK && now != 0);
    return NULL;
}

#define DOES_NOT_FIT(mutation)                       \
    do {                                             \
        begin_right();                               \
        mutation;                                    \
        CHECK(open_port() == TA_ERROR_ARGUMENT);     \
    } while (0)

static const char *systems_that_do_not_fit(void)
{
    DOES_NOT_FIT(memories[0].memory = MEMORY_COUNT);
    DOES_NOT_FIT(memories[0].bytes = TCM_BYTES - 1);
    DOES_NOT_FIT(simulators[INSTANCE_ADDER_0] = NULL);
    DOES_NOT_FIT(simulators[INSTANCE_DSP] = &adder);
    simulators[INSTANCE_DSP] = NULL;
    DOES_NOT_FIT(simulators[INSTANCE_ADDER_1] = &large);
    begin_right();
    w.arenas[ARENA_TCM].bytes = 0; /* then nothing has to be behind it */
    memories[0].memory = MEMORY_COUNT;
    CHECK(open_port() == TA_OK && ta_host_byte(tcm(0)) == NULL);
    ta_window windows[TA_HOST_MAX_WINDOWS];
    w.arenas[ARENA_SRAM].bytes = 0;
    CHECK(ta_host_windows(INSTANCE_DSP, windows) == 1 && ta_window_at(windows, 1, 0, 1) == NULL);
    CHECK(ta_window_at(windows, 1, windows[0].address + windows[0].bytes + 1u, 1) == NULL);
    CHECK(ta_window_at(windows, 1, windows[0].address, windows[0].bytes + 1u) == NULL);
    CHECK(ta_host_simulator(INSTANCE_COUNT) == NULL && ta_host_core(INSTANCE_COUNT) == NULL);
    return port->close(port) == TA_OK ? NULL : "close";
}

/* As many shared windows as there is room for, and one arena more. */
static const char *many_windows(void)
{
    static ta_arena arenas[TA_HOST_MAX_WINDOWS + 1u];
    ta_window windows[TA_HOST_MAX_WINDOWS];
    begin_right();
    for (uint32_t i = 0; i <= TA_HOST_MAX_WINDOWS; i++)
        arenas[i] = w.arenas[ARENA_SRAM];
    w.bundle.arenas = arenas;
    w.bundle.arena_count = TA_HOST_MAX_WINDOWS + 1u;
    CHECK(open_port() == TA_OK);
    CHECK(ta_host_windows(INSTANCE_ADDER_1, windows) == TA_HOST_MAX_WINDOWS);
    const ta_observed twice[] = {{MEMORY_SRAM, 0}, {MEMORY_SRAM, 0}};
    instances[INSTANCE_DSP].observed = twice;
    CHECK(ta_host_windows(INSTANCE_DSP, windows) == TA_HOST_MAX_WINDOWS);
    return port->close(port) == TA_OK ? NULL : "close";
}

static const char *images(void)
{
    static const uint8_t right[] = "right", wrong[] = "wrong", stand_in[] = TA_STAND_IN "dsp.elf";
    begin_right();
    CHECK(open_port() == TA_OK);
    CHECK(ta_host_image(INSTANCE_DSP, right, sizeof right) == TA_OK && ta_host_image(INSTANCE_DSP, right, 1) == TA_OK);
    CHECK(ta_host_image(INSTANCE_DSP, wrong, sizeof wrong) == TA_ERROR_IMAGE);
    CHECK(ta_host_image(INSTANCE_DSP, NULL, 0) == TA_OK);
    CHECK(ta_host_image(INSTANCE_HOST, stand_in, sizeof stand_in) == TA_OK);
    CHECK(ta_host_image(INSTANCE_HOST, right, sizeof right) == TA_ERROR_IMAGE);
    CHECK(ta_host_image(INSTANCE_ADDER_0, wrong, sizeof wrong) == TA_OK); /* nobody checks bitstreams here */
    return port->close(port) == TA_OK ? NULL : "close";
}

static const char *threads_that_cannot_be(void)
{
    for (uint32_t which = 1; which <= CHANNEL_COUNT; which++) {
        begin_right();
        fail_create = which;
        CHECK(open_port() == TA_ERROR_DEVICE && port->close(port) == TA_ERROR_STATE);
    }
    fail_attributes = 1;
    CHECK(open_port() == TA_ERROR_DEVICE);
    fail_condition = 1;
    CHECK(open_port() == TA_ERROR_DEVICE && open_port() == TA_OK);
    CHECK(port->load(port, INSTANCE_DSP, NULL, 0) == TA_OK);
    fail_create = 1;
    CHECK(port->start(port, INSTANCE_DSP) == TA_ERROR_DEVICE && port->start(port, INSTANCE_DSP) == TA_OK);
    return port->close(port) == TA_OK ? NULL : "close";
}

static const char *cores_that_refuse(void)
{
    begin_right();
    cores[INSTANCE_DSP] = &a_core;
    CHECK(open_port() == TA_OK);
    core_loads = TA_ERROR_IMAGE;
    CHECK(port->load(port, INSTANCE_DSP, NULL, 0) == TA_ERROR_IMAGE);
    core_loads = TA_OK;
    core_starts = TA_ERROR_DEVICE;
    CHECK(port->load(port, INSTANCE_DSP, NULL, 0) == TA_OK && port->start(port, INSTANCE_DSP) == TA_ERROR_DEVICE);
    core_stops = TA_ERROR_TIMEOUT;
    CHECK(port->stop(port, INSTANCE_DSP) == TA_ERROR_TIMEOUT && port->close(port) == TA_ERROR_TIMEOUT);
    core_stops = TA_OK;
    return port->close(port) == TA_OK ? NULL : "close";
}

/* A call that does not end: it cannot be dropped, nothing can follow it, and when it ends it does not count. */
static const char *a_core_that_does_not_let_go(void)
{
    uint32_t value = 0;
    begin_right();
    cores[INSTANCE_DSP] = &a_core;
    (void)add_call(&w, INSTANCE_DSP, tcm(0), tcm(64), tcm(128));
    (void)add_call(&w, INSTANCE_DSP, tcm(0), ram_0(0), tcm(128));
    CHECK(open_port() == TA_OK && port->load(port, INSTANCE_DSP, NULL, 0) == TA_OK);
    CHECK(port->cancel(port, TIMELINE_OF(INSTANCE_DSP)) == TA_OK);                     /* there is nothing yet */
    CHECK(port->wait(port, TIMELINE_OF(INSTANCE_DSP), 1, 1000) == TA_ERROR_TIMEOUT);   /* nor will there be */
    CHECK(port->start(port, INSTANCE_DSP) == TA_OK && port->dispatch(port, &w.dispatches[1]) == TA_ERROR_ARGUMENT);
    pthread_mutex_lock(&gate);
    CHECK(port->dispatch(port, &w.dispatches[0]) == TA_OK);
    CHECK(port->wait(port, TIMELINE_OF(INSTANCE_DSP), 1, 20000) == TA_ERROR_TIMEOUT);
    CHECK(port->stop(port, INSTANCE_DSP) == TA_ERROR_TIMEOUT && halts == 1);
    CHECK(port->dispatch(port, &w.dispatches[0]) == TA_ERROR_BUSY && port->close(port) == TA_ERROR_TIMEOUT);
    pthread_mutex_unlock(&gate);
    CHECK(port->stop(port, INSTANCE_DSP) == TA_OK && port->read_timeline(port, TIMELINE_OF(INSTANCE_DSP), &value) == TA_OK);
    CHECK(value == 1 && ta_host_pointers(&w.dispatches[1], (void *[3]){NULL}) == TA_ERROR_ARGUMENT);
    return port->close(port) == TA_OK ? NULL : "close";
}

static const char *a_device_that_does_not_let_go(void)
{
    uint32_t value = 0;
    const uint32_t timeline = TIMELINE_OF(INSTANCE_ADDER_0);
    begin_right();
    CHECK(open_port() == TA_OK && port->mmio_read32(port, INSTANCE_DSP, 0, &value) == TA_ERROR_ARGUMENT);
    CHECK(port->mmio_read32(port, INSTANCE_ADDER_0, 0, &value) == TA_ERROR_STATE);
    CHECK(port->mmio_read32(port, INSTANCE_ADDER_0, 2, &value) == TA_ERROR_ARGUMENT);
    CHECK(port->mmio_write32(port, INSTANCE_ADDER_0, 4u * ADDER_REGISTERS, 1) == TA_ERROR_ARGUMENT);
    CHECK(port->load(port, INSTANCE_ADDER_0, NULL, 0) == TA_OK && port->start(port, INSTANCE_ADDER_0) == TA_OK);
    pthread_mutex_lock(&gate);
    CHECK(port->mmio_write32(port, INSTANCE_ADDER_0, 4u * ADDER_START_REGISTER, 1) == TA_OK);
    CHECK(port->mmio_write32(port, INSTANCE_ADDER_0, 4u * ADDER_COUNT, 1) == TA_ERROR_BUSY);
    CHECK(port->wait(port, timeline, 1, 20000) == TA_ERROR_TIMEOUT);
    CHECK(port->cancel(port, timeline) == TA_ERROR_TIMEOUT);
    pthread_mutex_unlock(&gate);
    CHECK(port->cancel(port, timeline) == TA_OK && port->mmio_read32(port, INSTANCE_ADDER_0, 4u * ADDER_STATUS, &value) == TA_OK);
    CHECK(value == 0 && port->wait(port, timeline, 1, 0) == TA_OK);
    return port->close(port) == TA_OK ? NULL : "close";
}

static const char *faults_of_a_core(void)
{
    begin_right();
    cores[INSTANCE_DSP] = &a_core;
    (void)add_call(&w, INSTANCE_DSP, tcm(0), tcm(64), tcm(128));
    CHECK(open_port() == TA_OK && port->load(port, INSTANCE_DSP, NULL, 0) == TA_OK && port->start(port, INSTANCE_DSP) == TA_OK);
    ta_host_fail(TIMELINE_OF(INSTANCE_DSP), 0, TA_ERROR_DEVICE);
    CHECK(port->dispatch(port, &w.dispatches[0]) == TA_OK && port->dispatch(port, &w.dispatches[0]) == TA_OK);
    CHECK(port->wait(port, TIMELINE_OF(INSTANCE_DSP), 2, 100000) == TA_ERROR_DEVICE); /* of the one before it */
    CHECK(port->wait(port, TIMELINE_OF(INSTANCE_DSP), 2, 1000000) == TA_OK);
    w.refs[0][1] = ram_0(0); /* after the port looked at it */
    return port->close(port) == TA_OK ? NULL : "close";
}

static const char *copies_out_of_reach(void)
{
    const ta_copy from = {tcm(0), sram(0), 4, 1, 0, 0, TA_CACHE_NONE}, to = {sram(0), tcm(0), 4, 1, 0, 0, TA_CACHE_NONE};
    ta_address address = 0;
    begin_right();
    CHECK(open_port() == TA_OK && port->copy(port, &from) == TA_ERROR_ARGUMENT && port->copy(port, &to) == TA_ERROR_ARGUMENT);
    CHECK(port->address(port, INSTANCE_HOST, tcm(0), &address) == TA_ERROR_ARGUMENT);
    CHECK(port->address(port, INSTANCE_HOST, sram(1), &address) == TA_OK);
    CHECK(address == (uintptr_t)(conformance_sram + 1));
    w.arenas[ARENA_RAM_0] = w.arenas[ARENA_SRAM]; /* behind the constants, and arenas of other memories */
    CHECK(port->address(port, INSTANCE_DSP, ram_0(4), &address) == TA_OK);
    CHECK(address == SRAM_ADDRESS + SRAM_BYTES + ADD_BYTES + 4u);
    return port->close(port) == TA_OK ? NULL : "close";
}

/* More arenas than the port has room for: the store would be large enough. */
static int too_many_arenas(void)
{
    static ta_arena arenas[TA_HOST_MAX_WINDOWS + 1u];
    for (uint32_t i = 0; i <= TA_HOST_MAX_WINDOWS; i++) {
        arenas[i] = conformance_arenas[ARENA_SRAM];
        arenas[i].bytes = 64;
    }
    w.bundle.arenas = arenas;
    w.bundle.arena_count = TA_HOST_MAX_WINDOWS + 1u;
    return open_port() == TA_ERROR_ARGUMENT;
}

/* A chip on which the host alone sees the memory: DMA channels see it behind the cache. */
static ta_status transfer(const ta_copy *copy, uint32_t value)
{
    ta_status status = port->copy_async(port, CHANNEL_0, copy);
    return status != TA_OK ? status : port->wait(port, CHANNEL_0, value, 1000000);
}

static const char *a_cache(void)
{
    static uint8_t store[2u * SRAM_BYTES];
    const ta_copy copy = {sram(0), sram(1024), 64, 1, 0, 0, TA_CACHE_NONE};
    const ta_copy out = {tcm(0), sram(2048), 64, 1, 0, 0, TA_CACHE_NONE};
    begin_right();
    instances[INSTANCE_DSP].observed_count = 1;
    instances[INSTANCE_ADDER_1].observed_count = 1;
    instances[INSTANCE_CORE].observed_count = 0;
    w.arenas[ARENA_RAM_1].bytes = 0;
    ta_host_set_cache(store, sizeof store - 1u, 1);
    CHECK(open_port() == TA_ERROR_ARGUMENT);
    ta_host_set_cache(store, sizeof store, 1);
    memset(conformance_sram, 1, SRAM_BYTES);
    CHECK(open_port() == TA_OK);
    uint32_t value = 0, evicted = 0, stale = 0;
    for (uint32_t i = 0; i < 64; i++) {
        fill(0, 64, i);
        CHECK(transfer(&copy, ++value) == TA_OK);
        stale += !same(0, 1024, 64);
        CHECK(port->cache_clean(port, conformance_sram + 8, 57) == TA_OK && transfer(&copy, ++value) == TA_OK);
        evicted += same(0, 1024, 64);
        CHECK(port->cache_invalidate(port, conformance_sram + 1024, 64) == TA_OK && same(0, 1024, 64));
    }
    CHECK(stale > 32 && evicted < 32);
    CHECK(transfer(&out, ++value) == TA_OK && port->cache_invalidate(port, conformance_sram + 2048, 64) == TA_OK);
    CHECK(conformance_sram[2048] == tcm_bytes[64]);
    CHECK(port->cache_clean(port, conformance_sram + SRAM_BYTES - 64, 128) == TA_OK);
    CHECK(port->cache_clean(port, (const void *)(uintptr_t)1, 4) == TA_OK);
    CHECK(port->cache_clean(port, tcm_bytes, 4) == TA_OK && port->cache_clean(port, conformance_sram, 0) == TA_OK);
    CHECK(port->close(port) == TA_OK);
    memory_infos[MEMORY_SRAM].cache_line = 0; /* then it is coherent */
    CHECK(open_port() == TA_OK && port->copy(port, &copy) == TA_OK && port->close(port) == TA_OK);
    memory_infos[MEMORY_SRAM].cache_line = 64;
    w.arenas[ARENA_SRAM].bytes = 0;
    CHECK(open_port() == TA_OK && port->close(port) == TA_OK);
    CHECK(too_many_arenas());
    begin_right(); /* and where devices see it */
    CHECK(open_port() == TA_OK && port->close(port) == TA_OK);
    ta_host_set_cache(NULL, 0, 0);
    return NULL;
}

static const test_case tests[] = {
    {"a closed port", closed},
    {"systems that do not fit", systems_that_do_not_fit},
    {"many windows", many_windows},
    {"images", images},
    {"threads that cannot be", threads_that_cannot_be},
    {"cores that refuse", cores_that_refuse},
    {"a core that does not let go", a_core_that_does_not_let_go},
    {"a device that does not let go", a_device_that_does_not_let_go},
    {"faults of a core", faults_of_a_core},
    {"copies out of reach", copies_out_of_reach},
    {"a cache", a_cache},
    {"processors of cores", processors_of_cores},
    {"a look that pays", a_look_that_pays},
    {NULL, NULL},
};

int main(void)
{
    int failures = 0;
    (void)ta_host_simulate(&simulation);
    for (const test_case *test = tests; test->name != NULL; test++) {
        const char *result = test->run();
        printf("%s %s%s%s\n", result == NULL ? "ok" : "not ok", test->name, result == NULL ? "" : ": ", result == NULL ? "" : result);
        failures += result != NULL;
        (void)port->close(port);
    }
    return failures != 0;
}
