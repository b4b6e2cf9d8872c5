/* Failures have a status and a step; and nothing is in flight afterwards. */
#include "conformance/conformance.h"

static workload w;
static const uint8_t image[5] = {'i', 'm', 'a', 'g', 'e'};

static const char *dispatch_before_load(void)
{
    begin(&w);
    const uint32_t call = add_call(&w, INSTANCE_DSP, tcm(0), tcm(64), tcm(128));
    INIT(w);
    CHECK(ta_run(&rt) == TA_ERROR_STATE && rt.failed_step == call);
    CHECK(ta_stop(&rt) == TA_OK);
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0); /* not the one that is used */
    const uint32_t command = add_command(&w, INSTANCE_ADDER_1, 4, ram_1(0), ram_1(4), ram_1(8));
    INIT(w);
    CHECK(ta_run(&rt) == TA_ERROR_STATE && rt.failed_step == command);
    return NULL;
}

static const char *images_are_checked(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    const uint32_t load = add_load(&w, INSTANCE_DSP);
    if (under_test.image == NULL) {
        w.loads[1].image = image;
        w.loads[1].image_bytes = sizeof image;
        w.loads[1].image_crc32 = ta_crc32(image, sizeof image);
    }
    w.loads[1].image_crc32 ^= 1u;
    const ta_status status = ta_init(&rt, &w.bundle, &conformance_soc, under_test.port);
    SKIP_WITHOUT(status != TA_ERROR_UNSUPPORTED, "no load process");
    CHECK(status == TA_ERROR_IMAGE && rt.failed_step == load && ta_run(&rt) == TA_ERROR_STATE);
    w.loads[1].image_crc32 ^= 1u;
    INIT(w); /* the port was closed again, and adder[0] stopped */
    CHECK(ta_run(&rt) == TA_OK);
    return NULL;
}

/* The load process says what an image is like. */
static const char *images_are_of_their_load_process(void)
{
    const char *wrong = under_test.wrong_image;
    uint32_t length = 0;
    SKIP_WITHOUT(wrong, "no image is wrong for the port");
    while (wrong[length] != '\0')
        length++;
    begin(&w);
    const uint32_t load = add_load(&w, INSTANCE_DSP);
    w.loads[0].image = (const uint8_t *)wrong;
    w.loads[0].image_bytes = length;
    w.loads[0].image_crc32 = ta_crc32(w.loads[0].image, length);
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, under_test.port) == TA_ERROR_IMAGE);
    CHECK(rt.failed_step == load && ta_run(&rt) == TA_ERROR_STATE);
    return NULL;
}

static uint32_t stops;

static ta_status counted_stop(const ta_port *port, uint32_t instance)
{
    stops++;
    return under_test.port->stop(port, instance);
}

static const char *a_failed_init_is_undone(void)
{
    ta_port port = *under_test.port;
    SKIP_WITHOUT(port.stop, "no load process");
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    (void)add_load(&w, INSTANCE_DSP);
    w.loads[1].image = image;
    w.loads[1].image_bytes = sizeof image;
    w.loads[1].image_crc32 = ~ta_crc32(image, sizeof image);
    port.stop = counted_stop;
    stops = 0;
    const ta_status status = ta_init(&rt, &w.bundle, &conformance_soc, &port);
    SKIP_WITHOUT(status != TA_ERROR_UNSUPPORTED, "no device runs without an image");
    CHECK(status == TA_ERROR_IMAGE);
    CHECK(stops == 2 && port.close(&port) == TA_ERROR_STATE);
    return NULL;
}

static const char *operands_out_of_reach(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    uint32_t step = add_call(&w, INSTANCE_DSP, tcm(0), ram_0(0), tcm(128));
    INIT(w);
    CHECK(ta_run(&rt) == TA_ERROR_ARGUMENT && rt.failed_step == step);
    CHECK(ta_stop(&rt) == TA_OK);
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    step = add_command(&w, INSTANCE_ADDER_0, 4, ram_0(0), sram(0), ram_0(8));
    INIT(w);
    CHECK(ta_run(&rt) == TA_ERROR_ARGUMENT && rt.failed_step == step);
    CHECK(ta_stop(&rt) == TA_OK);
    return NULL;
}

static const char *the_host_does_not_reach_device_memory(void)
{
    begin(&w);
    const uint32_t step = add_call(&w, INSTANCE_HOST, sram(0), tcm(0), sram(128));
    INIT(w);
    CHECK(ta_run(&rt) == TA_ERROR_ARGUMENT && rt.failed_step == step);
    return NULL;
}

static const char *bad_commands(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    const uint32_t step = add_command(&w, INSTANCE_ADDER_0, 4, ram_0(0), ram_0(4), ram_0(8));
    w.kernels[0].operand_count = w.dispatches[0].ref_count = 2;
    INIT(w);
    CHECK(ta_run(&rt) == TA_ERROR_ARGUMENT && rt.failed_step == step);
    w.kernels[0].operand_count = w.dispatches[0].ref_count = 3;
    CHECK(ta_run(&rt) == TA_OK);
    return NULL;
}

static ta_status refuse(void *const *pointers)
{
    (void)pointers;
    return TA_ERROR_DEVICE;
}

static const char *a_function_that_fails(void)
{
    begin(&w);
    (void)add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    uint32_t step = add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    w.kernels[1].function = refuse;
    INIT(w);
    CHECK(ta_run(&rt) == TA_ERROR_DEVICE && rt.failed_step == step);
    CHECK(ta_stop(&rt) == TA_OK);
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    step = add_call(&w, INSTANCE_DSP, tcm(0), tcm(64), tcm(128));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_DSP));
    w.kernels[0].function = refuse;
    const ta_status status = ta_init(&rt, &w.bundle, &conformance_soc, under_test.port);
    SKIP_WITHOUT(status != TA_ERROR_UNSUPPORTED, "no other cores");
    CHECK(status == TA_OK && ta_run(&rt) == TA_ERROR_DEVICE && rt.failed_step == step);
    return NULL;
}

static const char *a_fault_names_its_step(void)
{
    for (uint32_t faulty = 0; faulty < 3; faulty++) {
        uint32_t steps[3];
        begin(&w);
        (void)add_load(&w, INSTANCE_ADDER_0);
        for (uint32_t i = 0; i < 3; i++)
            steps[i] = add_command(&w, INSTANCE_ADDER_0, 4, ram_0(0), ram_0(4), ram_0(8));
        (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_0));
        w.words[faulty] = 0;
        INIT(w);
        for (uint32_t i = 0; i < 3; i++)
            CHECK(ta_run(&rt) == TA_ERROR_DEVICE && rt.failed_step == steps[faulty]);
        w.words[faulty] = 4;
        CHECK(ta_run(&rt) == TA_OK && rt.failed_step == TA_NO_STEP);
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static const char *a_device_that_hangs(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    const uint32_t command =
        add_command(&w, INSTANCE_ADDER_0, ADDER_HANGS, ram_0(0), ram_0(4), ram_0(8));
    (void)add_copy(&w, CHANNEL_0, sram(0), sram(4096), 500);
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_0));
    INIT(w);
    rt.timeout_us = 20000;
    CHECK(ta_run(&rt) == TA_ERROR_TIMEOUT && rt.failed_step == command);
    const uint32_t timeline = TIMELINE_OF(INSTANCE_ADDER_0);
    CHECK(under_test.port->wait(under_test.port, timeline, rt.progress[timeline].base + 1u, 0) == TA_OK);
    CHECK(ta_run(&rt) == TA_ERROR_STATE); /* cancelled, hence broken, until */
    CHECK(ta_stop(&rt) == TA_OK);
    w.words[0] = 4;
    INIT(w);
    CHECK(ta_run(&rt) == TA_OK);
    return NULL;
}

/* Three copies on channel 0, of which one will fail, and three on channel 1. */
static void add_six_copies(uint32_t *steps)
{
    begin(&w);
    for (uint32_t i = 0; i < 6; i++)
        steps[i] = add_copy(&w, i < 3 ? CHANNEL_0 : CHANNEL_1, sram(256 * i), sram(4096 + 256 * i), 256);
    (void)add_wait(&w, CHANNEL_0);
    (void)add_wait(&w, CHANNEL_1);
}

static const char *a_copy_that_fails(void)
{
    uint32_t steps[6];
    SKIP_WITHOUT(under_test.fail, "no way to make copies fail");
    for (uint32_t faulty = 0; faulty < 3; faulty++) {
        add_six_copies(steps);
        INIT(w);
        fill(0, 1536, faulty);
        under_test.fail(CHANNEL_0, faulty, TA_ERROR_DMA);
        CHECK(ta_run(&rt) == TA_ERROR_DMA && rt.failed_step == steps[faulty]);
        CHECK(same(768, 4864, 768)); /* what was in flight elsewhere has ended */
        CHECK(ta_run(&rt) == TA_OK && same(0, 4096, 1536));
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static const char *a_copy_that_never_ends(void)
{
    uint32_t steps[6];
    SKIP_WITHOUT(under_test.fail, "no way to make copies fail");
    add_six_copies(steps);
    INIT(w);
    rt.timeout_us = 20000;
    under_test.fail(CHANNEL_0, 1, TA_ERROR_TIMEOUT);
    CHECK(ta_run(&rt) == TA_ERROR_TIMEOUT && rt.failed_step == steps[1]);
    CHECK(ta_run(&rt) == TA_ERROR_STATE && ta_stop(&rt) == TA_OK);
    INIT(w);
    fill(0, 1536, 1);
    CHECK(ta_run(&rt) == TA_OK && same(0, 4096, 1536));
    return NULL;
}

static const char *a_full_queue_that_never_moves(void)
{
    SKIP_WITHOUT(under_test.fail, "no way to make copies fail");
    begin(&w);
    for (uint32_t i = 0; i < 40; i++)
        (void)add_copy(&w, CHANNEL_1, sram(16 * i), sram(4096 + 16 * i), 16);
    INIT(w);
    rt.timeout_us = 20000;
    under_test.fail(CHANNEL_1, 0, TA_ERROR_TIMEOUT);
    CHECK(ta_run(&rt) == TA_ERROR_TIMEOUT && rt.failed_step == 0);
    return NULL;
}

static const char *what_a_port_lacks(void)
{
    ta_port port = *under_test.port;
    begin(&w);
    const uint32_t copy = add_copy(&w, TA_TIMELINE_NONE, sram(0), sram(64), 64);
    port.copy = NULL;
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, &port) == TA_ERROR_UNSUPPORTED && rt.failed_step == copy);
    begin(&w);
    const uint32_t call = add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    port.dispatch = NULL;
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, &port) == TA_ERROR_UNSUPPORTED && rt.failed_step == call);
    begin(&w);
    const uint32_t load = add_load(&w, INSTANCE_DSP);
    port.start = NULL;
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, &port) == TA_ERROR_UNSUPPORTED && rt.failed_step == load);
    begin(&w);
    const uint32_t dma = add_copy(&w, CHANNEL_0, sram(0), sram(64), 64);
    port.wait = NULL;
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, &port) == TA_ERROR_UNSUPPORTED && rt.failed_step == dma);
    return NULL;
}

const test_case failure_tests[] = {
    {"dispatch before load", dispatch_before_load},
    {"images are checked", images_are_checked},
    {"images are of their load process", images_are_of_their_load_process},
    {"a failed init is undone", a_failed_init_is_undone},
    {"operands out of reach", operands_out_of_reach},
    {"the host does not reach device memory", the_host_does_not_reach_device_memory},
    {"bad commands", bad_commands},
    {"a function that fails", a_function_that_fails},
    {"a fault names its step", a_fault_names_its_step},
    {"a device that hangs", a_device_that_hangs},
    {"a copy that fails", a_copy_that_fails},
    {"a copy that never ends", a_copy_that_never_ends},
    {"a full queue that never moves", a_full_queue_that_never_moves},
    {"what a port lacks is said by init", what_a_port_lacks},
    {NULL, NULL},
};
