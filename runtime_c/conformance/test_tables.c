/* Every table and every number in it that ta_init has to refuse, one at a time; and every status that an operation of the
 * port can hand to the core. The port under test is behind a copy of its table, in which operations are replaced. */
#include <string.h>

#include "conformance/conformance.h"

static workload w;
static ta_soc soc;
static ta_instance_info instances[INSTANCE_COUNT];
static ta_observed observed[2];
static ta_tensor tensor;
static ta_port port;

/* Loads, a copy by the host (the first step behind them), one by DMA, a call, and a command. */
enum { LOAD_STEP, ADDER_STEP, COPY_STEP, DMA_STEP, CALL_STEP, COMMAND_STEP };

static void make_right(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    (void)add_load(&w, INSTANCE_ADDER_1);
    (void)add_copy(&w, TA_TIMELINE_NONE, sram(0), sram(256), 64);
    const ta_copy dma = {sram(0), sram(1024), 64, 1, 0, 0, TA_CACHE_CLEAN_SOURCE | TA_CACHE_INVALIDATE_TARGET};
    (void)add_copy_2d(&w, CHANNEL_0, dma);
    (void)add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    (void)add_command(&w, INSTANCE_ADDER_1, 16, sram(0), sram(64), sram(512));
    (void)add_wait(&w, CHANNEL_0);
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_1));
    soc = conformance_soc;
    memcpy(instances, soc.instances, sizeof instances);
    memcpy(observed, instances[INSTANCE_DSP].observed, sizeof observed);
    instances[INSTANCE_DSP].observed = observed;
    soc.instances = instances;
    port = *under_test.port;
    tensor.name = "x";
    tensor.where = sram(0);
    tensor.bytes = 64;
    w.bundle.inputs = w.bundle.outputs = &tensor;
    w.bundle.input_count = w.bundle.output_count = 1;
}

static ta_status init(void)
{
    return ta_init(&rt, &w.bundle, &soc, &port);
}

#define REFUSED(mutation)                       \
    do {                                        \
        make_right();                           \
        mutation;                               \
        CHECK(init() == TA_ERROR_ARGUMENT);     \
    } while (0)
#define UNSUPPORTED(mutation)                   \
    do {                                        \
        make_right();                           \
        mutation;                               \
        CHECK(init() == TA_ERROR_UNSUPPORTED);  \
    } while (0)

#define SKIP_UNLESS_RIGHT()                                                              \
    do {                                                                                 \
        make_right();                                                                    \
        const ta_status right_ = init();                                                 \
        SKIP_WITHOUT(right_ != TA_ERROR_UNSUPPORTED, "the port lacks something it needs"); \
        SKIP_WITHOUT(right_ != TA_ERROR_IMAGE, "no device runs without an image");       \
        CHECK(right_ == TA_OK && ta_stop(&rt) == TA_OK);                                 \
    } while (0)

static const char *missing_tables(void)
{
    REFUSED(soc.memories = NULL);
    REFUSED(soc.instances = NULL);
    REFUSED(soc.channels = NULL);
    REFUSED(soc.instance_count = INSTANCE_COUNT - 1);
    REFUSED((soc.channel_count = 0, soc.timeline_count = INSTANCE_COUNT));
    REFUSED(instances[INSTANCE_DSP].observed = NULL);
    REFUSED(observed[1].memory = MEMORY_COUNT);
    REFUSED(instances[INSTANCE_HOST].load_process = TA_LOAD_FIRMWARE);
    REFUSED(w.bundle.arenas = NULL);
    REFUSED(w.bundle.loads = NULL);
    REFUSED(w.bundle.copies = NULL);
    REFUSED(w.bundle.dispatches = NULL);
    REFUSED(w.bundle.steps = NULL);
    REFUSED(w.bundle.inputs = NULL);
    REFUSED(w.bundle.outputs = NULL);
    REFUSED(port.open = NULL);
    REFUSED(port.close = NULL);
    REFUSED(tensor.bytes = SRAM_BYTES + 1);
    REFUSED(tensor.where = tcm(0));
    REFUSED((w.bundle.input_count = 0, tensor.bytes = 0));
    return NULL;
}

static const char *an_empty_bundle(void)
{
    make_right();
    const char *name = w.bundle.name;
    memset(&w.bundle, 0, sizeof w.bundle);
    w.bundle.abi_version = TA_ABI_VERSION;
    w.bundle.abi_hash = CONFORMANCE_HASH;
    w.bundle.name = name;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK && ta_failed_device(&rt) == NULL && ta_stop(&rt) == TA_OK);
    make_right();
    w.bundle.step_count = 0;
    w.arenas[ARENA_RAM_0].bytes = 0; /* not even memory */
    CHECK(init() == TA_OK && ta_stop(&rt) == TA_OK);
    return NULL;
}

static ta_status nothing(void *const *pointers)
{
    (void)pointers;
    return TA_OK;
}

/* Nothing to wait for, so no timeline has to be read. */
static const char *a_kernel_without_operands(void)
{
    make_right();
    w.bundle.dispatch_count = w.bundle.step_count = 1;
    w.bundle.steps = &w.steps[CALL_STEP];
    w.kernels[0].function = nothing;
    w.kernels[0].operand_count = w.dispatches[0].ref_count = 0;
    w.kernels[0].operands = NULL;
    w.dispatches[0].refs = NULL;
    port.read_timeline = NULL;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK && ta_stop(&rt) == TA_OK);
    return NULL;
}

static const char *bad_loads(void)
{
    static const uint8_t image[4] = {1, 2, 3, 4};
    REFUSED(w.steps[LOAD_STEP].index = 2);
    REFUSED(w.steps[LOAD_STEP].event.timeline = CHANNEL_0);
    REFUSED(w.loads[0].instance = INSTANCE_COUNT);
    REFUSED((w.loads[0].image = image, w.loads[0].image_bytes = 0));
    return NULL;
}

static const char *bad_steps(void)
{
    SKIP_UNLESS_RIGHT();
    REFUSED(w.steps[DMA_STEP].event.timeline = CHANNEL_COUNT);
    REFUSED(w.steps[COMMAND_STEP + 1].event.value = 0);
    REFUSED(w.dispatches[1].words = NULL);
    REFUSED(w.dispatches[1].word_count = 2);
    REFUSED((w.dispatches[0].refs = NULL, w.kernels[0].operands = NULL));
    REFUSED(w.kernels[1].function = conformance_add);
    return NULL;
}

/* The copy moves 64 bytes from 0 to 256; the call reads ADD_BYTES at 0 and at 64, and writes them at 128. */
static const char *steps_that_write_over_themselves(void)
{
    SKIP_UNLESS_RIGHT();
    REFUSED(w.copies[0].target = sram(0));
    REFUSED(w.copies[0].target = sram(63));
    REFUSED(w.copies[0].source = sram(256 + 63));
    REFUSED((w.copies[0].rows = 2, w.copies[0].source_stride = 256, w.copies[0].target_stride = 64));
    REFUSED((w.copies[0].rows = 2, w.copies[0].source = sram(512), w.copies[0].target_stride = 256));
    REFUSED(w.copies[1].target = sram(32));
    REFUSED(w.refs[0][2] = sram(ADD_BYTES - 1));
    REFUSED(w.refs[0][2] = sram(1));
    REFUSED((w.refs[0][0] = sram(512), w.refs[0][2] = sram(64 - (ADD_BYTES - 1))));
    REFUSED((w.refs[0][0] = sram(512), w.refs[0][2] = sram(64 + 1)));
    REFUSED((w.operands[0][0].writes = 1, w.refs[0][2] = sram(0)));
    REFUSED((w.operands[0][1].writes = 1, w.refs[0][2] = sram(64)));
    return NULL;
}

/* Side by side to the byte, and a result in the place of an operand. They are not run: nothing waits for the copy. */
static const char *steps_that_just_do_not(void)
{
    SKIP_UNLESS_RIGHT();
    const ta_ref places[] = {sram(64 + ADD_BYTES), sram(0), sram(64)};
    for (uint32_t i = 0; i < 3; i++) {
        make_right();
        w.copies[0].target = sram(64);
        w.refs[0][2] = places[i];
        CHECK(init() == TA_OK && ta_stop(&rt) == TA_OK);
    }
    make_right();
    w.copies[0].source = sram(64);
    w.copies[0].target = sram(0);
    w.operands[0][1].writes = 1;
    w.refs[0][0] = sram(64 + ADD_BYTES);
    CHECK(init() == TA_OK && ta_stop(&rt) == TA_OK);
    return NULL;
}

static const char *operations_that_are_missing(void)
{
    SKIP_UNLESS_RIGHT();
    UNSUPPORTED(port.load = NULL);
    UNSUPPORTED(port.start = NULL);
    UNSUPPORTED(port.stop = NULL);
    UNSUPPORTED(port.copy_async = NULL);
    UNSUPPORTED(port.read_timeline = NULL);
    UNSUPPORTED(port.cancel = NULL);
    UNSUPPORTED(port.cache_clean = NULL);
    UNSUPPORTED(port.cache_invalidate = NULL);
    UNSUPPORTED(port.address = NULL);
    UNSUPPORTED(port.mmio_read32 = NULL);
    UNSUPPORTED(port.mmio_write32 = NULL);
    UNSUPPORTED((w.steps[DMA_STEP] = w.steps[COPY_STEP], port.wait = NULL));
    make_right(); /* memories that the host does not see have no duties */
    w.copies[1].source = tcm(0);
    w.copies[1].target = tcm(64);
    port.cache_clean = NULL;
    port.cache_invalidate = NULL;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK && ta_stop(&rt) == TA_OK);
    return NULL;
}

static ta_status answers;
static uint32_t good_answers;

static ta_status answer(void)
{
    return good_answers == 0 ? answers : (good_answers--, TA_OK);
}

static ta_status clean(const ta_port *self, const void *start, uint32_t bytes)
{
    (void)self, (void)start, (void)bytes;
    return answer();
}

static ta_status invalidate(const ta_port *self, void *start, uint32_t bytes)
{
    (void)self, (void)start, (void)bytes;
    return answer();
}

static ta_status read_timeline(const ta_port *self, uint32_t timeline, uint32_t *value)
{
    const ta_status status = answer();
    return status != TA_OK ? status : under_test.port->read_timeline(self, timeline, value);
}

static ta_status stop(const ta_port *self, uint32_t instance)
{
    const ta_status status = under_test.port->stop(self, instance);
    return status != TA_OK ? status : answer();
}

static ta_status wait(const ta_port *self, uint32_t timeline, uint32_t value, uint32_t timeout_us)
{
    const ta_status status = under_test.port->wait(self, timeline, value, timeout_us);
    return status != TA_OK ? status : answer();
}

static ta_status now_us(const ta_port *self, uint64_t *now)
{
    (void)self, (void)now;
    return TA_ERROR_UNSUPPORTED;
}

static ta_status copy_async(const ta_port *self, uint32_t channel, const ta_copy *copy)
{
    (void)self, (void)channel, (void)copy;
    return TA_ERROR_BUSY;
}

static const char *caches_that_fail(void)
{
    SKIP_UNLESS_RIGHT();
    for (uint32_t good = 0; good < 3; good++) {
        make_right();
        port.cache_clean = clean;
        port.cache_invalidate = invalidate;
        answers = TA_ERROR_DEVICE;
        good_answers = good;
        CHECK(init() == TA_OK && ta_run(&rt) == TA_ERROR_DEVICE && rt.failed_step == DMA_STEP);
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static const char *ports_that_fail(void)
{
    SKIP_UNLESS_RIGHT();
    answers = TA_ERROR_DEVICE;
    good_answers = 2;
    port.read_timeline = read_timeline;
    CHECK(init() == TA_ERROR_DEVICE && ta_run(&rt) == TA_ERROR_STATE);
    make_right();
    port.stop = stop;
    good_answers = 0;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK && ta_stop(&rt) == TA_ERROR_DEVICE);
    CHECK(under_test.port->close(under_test.port) == TA_ERROR_STATE);
    make_right(); /* only the end of the run waits */
    w.bundle.step_count = DMA_STEP + 1;
    port.wait = wait;
    answers = TA_ERROR_DMA;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_ERROR_DMA && rt.failed_step == DMA_STEP && ta_stop(&rt) == TA_OK);
    make_right();
    port.now_us = NULL;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK && rt.run_us == 0 && ta_stop(&rt) == TA_OK);
    make_right();
    port.now_us = now_us;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK && rt.run_us == 0 && ta_stop(&rt) == TA_OK);
    make_right();
    port.copy_async = copy_async; /* full, with nothing in it */
    CHECK(init() == TA_OK && ta_run(&rt) == TA_ERROR_BUSY && rt.failed_step == DMA_STEP);
    return NULL;
}

static ta_status polled;

static ta_status start_command(const ta_port *self, uint32_t instance, const ta_command *command)
{
    return conformance_adder_driver.start(self, instance, command);
}

static ta_status poll(const ta_port *self, uint32_t instance)
{
    (void)self, (void)instance;
    return polled;
}

/* A device that signals, yet denies that it is done, or that there was a command, was reset. */
static const char *devices_that_deny(void)
{
    static const ta_driver denies = {"denies", start_command, poll};
    static const ta_status said[] = {TA_ERROR_BUSY, TA_ERROR_STATE, TA_ERROR_DEVICE};
    SKIP_UNLESS_RIGHT();
    for (uint32_t i = 0; i < 3; i++) {
        make_right();
        instances[INSTANCE_ADDER_1].driver = &denies;
        polled = said[i];
        CHECK(init() == TA_OK && ta_run(&rt) == TA_ERROR_DEVICE && rt.failed_step == COMMAND_STEP);
        CHECK(strcmp(ta_failed_device(&rt), "adder[1]") == 0 && ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static ta_status fails(void *const *pointers)
{
    (void)pointers;
    return TA_ERROR_DEVICE;
}

static const char *the_host_is_named(void)
{
    begin(&w);
    (void)add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    w.kernels[0].function = fails;
    soc = conformance_soc;
    memcpy(instances, soc.instances, sizeof instances);
    soc.instances = instances;
    port = *under_test.port;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_ERROR_DEVICE && strcmp(ta_failed_device(&rt), "host") == 0);
    for (uint32_t i = 0; i < INSTANCE_COUNT; i++)
        instances[i].is_host = 0; /* after the check, as no description can be */
    CHECK(ta_failed_device(&rt) == NULL);
    const ta_runtime fresh = {0};
    CHECK(ta_failed_device(&fresh) == NULL);
    return NULL;
}

static const char *every_status_has_a_name(void)
{
    for (uint32_t status = TA_OK; status <= TA_ERROR_DEADLINE; status++) {
        CHECK(strncmp(ta_status_name((ta_status)status), "TA_", 3) == 0);
        for (uint32_t other = TA_OK; other < status; other++)
            CHECK(strcmp(ta_status_name((ta_status)status), ta_status_name((ta_status)other)) != 0);
    }
    CHECK(strcmp(ta_status_name((ta_status)(TA_ERROR_DEADLINE + 1)), "unknown") == 0);
    return NULL;
}

const test_case table_tests[] = {
    {"missing tables are refused", missing_tables},
    {"an empty bundle runs", an_empty_bundle},
    {"a kernel without operands", a_kernel_without_operands},
    {"bad loads are refused", bad_loads},
    {"bad steps are refused", bad_steps},
    {"steps that write over themselves are refused", steps_that_write_over_themselves},
    {"steps that just do not", steps_that_just_do_not},
    {"operations that are missing", operations_that_are_missing},
    {"caches that fail", caches_that_fail},
    {"ports that fail", ports_that_fail},
    {"devices that deny", devices_that_deny},
    {"the host is named", the_host_is_named},
    {"every status has a name", every_status_has_a_name},
    {NULL, NULL},
};
