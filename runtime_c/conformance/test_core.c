/* The promises of the core on any port: versions, tables, states. */
#include <string.h>

#include "conformance/conformance.h"

static workload w;

static ta_status init(void)
{
    return ta_init(&rt, &w.bundle, &conformance_soc, under_test.port);
}

static const char *names_of_statuses(void)
{
    CHECK(strcmp(ta_status_name(TA_OK), "TA_OK") == 0);
    CHECK(strcmp(ta_status_name(TA_ERROR_BUSY), "TA_ERROR_BUSY") == 0);
    CHECK(strcmp(ta_status_name((ta_status)99), "unknown") == 0);
    return NULL;
}

static const char *checksum(void)
{
    CHECK(ta_crc32((const uint8_t *)"123456789", 9) == 0xcbf43926u);
    CHECK(ta_crc32(NULL, 0) == 0);
    return NULL;
}

static const char *null_arguments(void)
{
    begin(&w);
    CHECK(ta_init(NULL, &w.bundle, &conformance_soc, under_test.port) == TA_ERROR_ARGUMENT);
    CHECK(ta_init(&rt, NULL, &conformance_soc, under_test.port) == TA_ERROR_ARGUMENT);
    CHECK(ta_init(&rt, &w.bundle, NULL, under_test.port) == TA_ERROR_ARGUMENT);
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, NULL) == TA_ERROR_ARGUMENT);
    CHECK(ta_run(NULL) == TA_ERROR_ARGUMENT && ta_stop(NULL) == TA_ERROR_ARGUMENT);
    return NULL;
}

static const char *abi_mismatch(void)
{
    begin(&w);
    w.bundle.abi_version++;
    CHECK(init() == TA_ERROR_ABI_MISMATCH);
    begin(&w);
    w.bundle.abi_hash ^= 1;
    CHECK(init() == TA_ERROR_ABI_MISMATCH);
    begin(&w);
    ta_soc soc = conformance_soc;
    soc.abi_version++;
    CHECK(ta_init(&rt, &w.bundle, &soc, under_test.port) == TA_ERROR_ABI_MISMATCH);
    ta_port port = *under_test.port;
    port.version++;
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, &port) == TA_ERROR_ABI_MISMATCH);
    CHECK(init() == TA_OK && ta_stop(&rt) == TA_OK);
    return NULL;
}

static const char *states(void)
{
    begin(&w);
    CHECK(ta_run(&rt) == TA_ERROR_STATE && ta_stop(&rt) == TA_OK);
    CHECK(init() == TA_OK);
    CHECK(init() == TA_ERROR_STATE);
    ta_runtime other = {0};
    CHECK(ta_init(&other, &w.bundle, &conformance_soc, under_test.port) == TA_ERROR_STATE);
    CHECK(ta_run(&rt) == TA_OK && rt.failed_step == TA_NO_STEP);
    CHECK(ta_stop(&rt) == TA_OK && ta_stop(&rt) == TA_OK);
    CHECK(ta_run(&rt) == TA_ERROR_STATE);
    return NULL;
}

static ta_status inner_run, inner_stop, inner_init;

static ta_status reentering_kernel(void *const *operands)
{
    inner_run = ta_run(&rt);
    inner_stop = ta_stop(&rt);
    inner_init = init();
    return conformance_add(operands);
}

/* A kernel of the host that calls the runtime is refused, and the run around it goes on. */
static const char *reentry(void)
{
    begin(&w);
    const uint32_t call = add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    w.kernels[w.steps[call].index].function = reentering_kernel;
    (void)add_copy(&w, TA_TIMELINE_NONE, sram(128), sram(256), ADD_BYTES);
    fill(0, 128, 5);
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK);
    CHECK(inner_run == TA_ERROR_STATE && inner_stop == TA_ERROR_STATE && inner_init == TA_ERROR_STATE);
    CHECK(is_sum(0, 64, 256, ADD_BYTES) && rt.failed_step == TA_NO_STEP);
    CHECK(ta_run(&rt) == TA_OK && ta_stop(&rt) == TA_OK);
    return NULL;
}

static uint32_t watched, last_watched, refused_step;

static ta_status watch(void *context, uint32_t step)
{
    watched++;
    last_watched = step;
    return context == &watched && step == refused_step ? TA_ERROR_DEADLINE : TA_OK;
}

/* Two steps and the end of the run; it may refuse each of them, and the next run is as if nothing had been. */
static const char *watching(void)
{
    begin(&w);
    (void)add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    (void)add_copy(&w, TA_TIMELINE_NONE, sram(128), sram(256), ADD_BYTES);
    CHECK(init() == TA_OK);
    rt.watch = watch;
    rt.watch_context = &watched;
    for (refused_step = 0; refused_step < 4; refused_step++) {
        watched = 0;
        fill(0, 128, refused_step);
        const ta_status status = ta_run(&rt);
        CHECK(status == (refused_step == 3 ? TA_OK : TA_ERROR_DEADLINE));
        CHECK(watched == (refused_step == 3 ? 3 : refused_step + 1u) && last_watched == watched - 1u);
        CHECK(rt.failed_step == (refused_step < 2 ? refused_step : TA_NO_STEP));
        CHECK(ta_failed_device(&rt) != NULL || refused_step >= 2);
    }
    CHECK(is_sum(0, 64, 256, ADD_BYTES));
    rt.watch = NULL;
    return NULL;
}

static const char *checksum_by_hardware(void)
{
    const ta_port *port = under_test.port;
    uint32_t crc = 0;
    SKIP_WITHOUT(port->crc32c, "no CRC-32C");
    const ta_status status = port->crc32c(port, "1234", 4, &crc);
    if (status == TA_ERROR_UNSUPPORTED)
        return "skip: no CRC-32C here";
    CHECK(status == TA_OK && port->crc32c(port, "56789", 5, &crc) == TA_OK && crc == 0xe3069283u);
    CHECK(port->crc32c(port, "", 0, &crc) == TA_OK && crc == 0xe3069283u);
    crc = 0;
    CHECK(port->crc32c(port, "123456789", 9, &crc) == TA_OK && crc == 0xe3069283u);
    return NULL;
}

static const char *pointers(void)
{
    begin(&w);
    CHECK(ta_pointer(&w.bundle, sram(7)) == conformance_sram + 7);
    CHECK(ta_pointer(&w.bundle, at(ARENA_CONSTANTS, 1)) == w.arenas[ARENA_CONSTANTS].base_const + 1);
    CHECK(ta_pointer(&w.bundle, sram(SRAM_BYTES)) == NULL);
    CHECK(ta_pointer(&w.bundle, tcm(0)) == NULL && ta_pointer(&w.bundle, at(ARENA_COUNT, 0)) == NULL);
    return NULL;
}

/* A workload of one host copy (step 0) and one host call (step 1), both right. */
static void make_right(void)
{
    begin(&w);
    (void)add_copy(&w, TA_TIMELINE_NONE, sram(0), sram(256), 64);
    (void)add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
}

#define REFUSED(mutation, step)                                            \
    do {                                                                   \
        make_right();                                                      \
        mutation;                                                          \
        CHECK(init() == TA_ERROR_ARGUMENT && rt.failed_step == (step));    \
    } while (0)

static const char *bad_copies(void)
{
    REFUSED(w.steps[0].index = 1, 0);
    REFUSED(w.copies[0].source.arena = ARENA_COUNT, 0);
    REFUSED(w.copies[0].source.arena = ARENA_TCM, 0); /* the CPU does not see it */
    REFUSED(w.copies[0].target.arena = ARENA_TCM, 0);
    REFUSED(w.copies[0].target = at(ARENA_CONSTANTS, 0), 0);
    REFUSED(w.copies[0].source.offset = SRAM_BYTES - 63, 0);
    REFUSED(w.copies[0].target.offset = 0xffffffffu, 0);
    REFUSED(w.copies[0].row_bytes = 0, 0);
    REFUSED(w.copies[0].rows = 0, 0);
    REFUSED((w.copies[0].rows = 3, w.copies[0].target_stride = 63), 0);
    REFUSED((w.copies[0].rows = 0xffffffffu, w.copies[0].target_stride = 0xffffffffu), 0);
    REFUSED((w.copies[0].rows = 100, w.copies[0].target_stride = 64, w.copies[0].source_stride = 100), 0);
    return NULL;
}

static const char *bad_dispatches(void)
{
    REFUSED(w.steps[1].index = 1, 1);
    REFUSED(w.dispatches[0].instance = INSTANCE_COUNT, 1);
    REFUSED(w.dispatches[0].kernel = NULL, 1);
    REFUSED(w.kernels[0].function = NULL, 1);
    REFUSED(w.dispatches[0].refs = NULL, 1);
    REFUSED(w.kernels[0].operand_count = w.dispatches[0].ref_count = TA_MAX_OPERANDS + 1, 1);
    REFUSED(w.refs[0][2].offset = SRAM_BYTES, 1);
    REFUSED(w.refs[0][2].arena = 99, 1);
    REFUSED(w.dispatches[0].word_count = 1, 1);
    REFUSED(w.dispatches[0].instance = INSTANCE_DSP, 1); /* asynchronous, but without an event */
    return NULL;
}

/* Operands that are not as their kernel needs them. */
static const char *bad_operands(void)
{
    REFUSED(w.dispatches[0].ref_count = 2, 1);
    REFUSED(w.kernels[0].operand_count = 2, 1);
    REFUSED(w.kernels[0].operands = NULL, 1);
    REFUSED(w.refs[0][0].offset = SRAM_BYTES - ADD_BYTES + 1, 1);
    REFUSED(w.refs[0][2].offset = 0xffffffffu, 1);
    REFUSED(w.operands[0][1].bytes = SRAM_BYTES, 1);
    REFUSED(w.operands[0][1].bytes = 0, 1);
    REFUSED((w.operands[0][1].alignment = 4, w.refs[0][1].offset = 66), 1);
    REFUSED(w.operands[0][1].alignment = 0, 1);
    REFUSED(w.refs[0][2] = at(ARENA_CONSTANTS, 0), 1);
    make_right();
    w.refs[0][0] = at(ARENA_CONSTANTS, 0);
    w.operands[0][1].alignment = 64;
    w.refs[0][2].offset = SRAM_BYTES - ADD_BYTES;
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK && ta_stop(&rt) == TA_OK);
    return NULL;
}

static const char *bad_tables(void)
{
    REFUSED(w.bundle.steps = NULL, TA_NO_STEP);
    REFUSED(w.bundle.arenas = NULL, TA_NO_STEP);
    REFUSED(w.arenas[ARENA_SRAM].memory = MEMORY_COUNT, TA_NO_STEP);
    REFUSED(w.arenas[ARENA_SRAM].base = NULL, TA_NO_STEP);
    REFUSED(w.arenas[ARENA_TCM].base = conformance_sram, TA_NO_STEP);
    REFUSED(w.arenas[ARENA_TCM].device_offset = 65, TA_NO_STEP);
    REFUSED(w.arenas[ARENA_SRAM].bytes = SRAM_BYTES - 4, TA_NO_STEP); /* ends inside a cache line */
    REFUSED(w.arenas[ARENA_SRAM].base = conformance_sram + 4, TA_NO_STEP);
    REFUSED(w.arenas[ARENA_CONSTANTS].base_const += 4, TA_NO_STEP);
    REFUSED(w.steps[1].kind = 5, 1);
    REFUSED(w.steps[1].kind = TA_STEP_LOAD, 1);
    REFUSED(w.steps[1].kind = TA_STEP_WAIT, 1);
    const ta_tensor tensor = {"x", {ARENA_TCM, 0}, 4};
    REFUSED((w.bundle.inputs = &tensor, w.bundle.input_count = 1), TA_NO_STEP);
    return NULL;
}

static const char *bad_events(void)
{
    SKIP_WITHOUT(under_test.port->copy_async, "no asynchronous copies");
    for (uint32_t fault = 0; fault < 5; fault++) {
        begin(&w);
        const uint32_t copy = add_copy(&w, CHANNEL_1, sram(0), sram(64), 64);
        const uint32_t wait = add_wait(&w, CHANNEL_1);
        if (fault == 0)
            w.steps[copy].event.value = 2;
        else if (fault == 1)
            w.steps[copy].event.timeline = TIMELINE_OF(INSTANCE_DSP);
        else if (fault == 2)
            w.steps[wait].event.value = 2;
        else if (fault == 3)
            w.steps[wait].event.timeline = CHANNEL_0;
        else
            w.steps[wait].event.timeline = TIMELINE_COUNT;
        CHECK(init() == TA_ERROR_ARGUMENT && rt.failed_step == (fault < 2 ? copy : wait));
    }
    return NULL;
}

static const char *bad_soc(void)
{
    for (uint32_t fault = 0; fault < 6; fault++) {
        ta_soc soc = conformance_soc;
        ta_instance_info instances[INSTANCE_COUNT];
        memcpy(instances, soc.instances, sizeof instances);
        soc.instances = instances;
        if (fault == 0)
            soc.timeline_count = TA_MAX_TIMELINES + 1;
        else if (fault == 1)
            instances[INSTANCE_DSP].timeline = 0;
        else if (fault == 2)
            instances[INSTANCE_DSP].is_host = 1;
        else if (fault == 3)
            instances[INSTANCE_HOST].is_host = 0;
        else if (fault == 4) /* their sum wraps */
            soc.timeline_count = CHANNEL_COUNT - 1, soc.instance_count = 0xffffffffu;
        else
            soc.channel_count = TIMELINE_COUNT + 1, soc.instance_count = 0xffffffffu;
        make_right();
        CHECK(ta_init(&rt, &w.bundle, &soc, under_test.port) == TA_ERROR_ARGUMENT);
    }
    return NULL;
}

static const char *again_and_again(void)
{
    make_right();
    for (uint32_t i = 0; i < 20; i++) {
        fill(0, 128, i);
        CHECK(init() == TA_OK);
        CHECK(ta_run(&rt) == TA_OK && ta_run(&rt) == TA_OK);
        CHECK(same(0, 256, 64) && is_sum(0, 64, 128, ADD_BYTES));
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static const char *load_of_the_host(void)
{
    static const uint8_t image[4] = {1, 2, 3, 4};
    begin(&w);
    (void)add_load(&w, INSTANCE_HOST);
    CHECK(init() == TA_OK && ta_run(&rt) == TA_OK && ta_stop(&rt) == TA_OK);
    w.loads[0].image = image;
    CHECK(init() == TA_ERROR_ARGUMENT);
    w.loads[0].image_bytes = 4;
    w.loads[0].image_crc32 = ta_crc32(image, 4);
    CHECK(init() == TA_ERROR_ARGUMENT && rt.failed_step == 0); /* its program is linked */
    return NULL;
}

const test_case core_tests[] = {
    {"names of statuses", names_of_statuses},
    {"checksum", checksum},
    {"null arguments", null_arguments},
    {"ABI mismatch", abi_mismatch},
    {"states", states},
    {"a run inside a run is refused", reentry},
    {"a watch sees every step and may end a run", watching},
    {"CRC-32C by hardware", checksum_by_hardware},
    {"pointers", pointers},
    {"bad copies are refused", bad_copies},
    {"bad dispatches are refused", bad_dispatches},
    {"bad operands are refused", bad_operands},
    {"bad tables are refused", bad_tables},
    {"bad events are refused", bad_events},
    {"bad SoCs are refused", bad_soc},
    {"init, run, stop, again and again", again_and_again},
    {"the host is loaded with nothing", load_of_the_host},
    {NULL, NULL},
};
