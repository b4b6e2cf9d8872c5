/* Instances: load, start, stop; C functions and commands; the memories that each sees. */
#include "conformance/conformance.h"

static workload w;
enum { A = 0, B = 256, OUT = 512, OUT_2 = 768 };

static const char *calls_on_the_host(void)
{
    begin(&w);
    (void)add_call(&w, INSTANCE_HOST, sram(A), at(ARENA_CONSTANTS, 0), sram(B));
    (void)add_call(&w, INSTANCE_HOST, sram(A), sram(B), sram(OUT));
    INIT(w);
    fill(A, ADD_BYTES, 1);
    CHECK(ta_run(&rt) == TA_OK && is_sum(A, B, OUT, ADD_BYTES));
    return NULL;
}

/* Bring both inputs to `arena` with two channels, add there, bring the sum back. */
static void add_on(uint32_t instance, uint32_t arena, uint32_t count, uint32_t out)
{
    (void)add_copy(&w, CHANNEL_0, sram(A), at(arena, 0), count);
    (void)add_copy(&w, CHANNEL_1, sram(B), at(arena, 512), count);
    (void)add_wait(&w, CHANNEL_0);
    (void)add_wait(&w, CHANNEL_1);
    if (instance == INSTANCE_DSP)
        (void)add_call(&w, instance, at(arena, 0), at(arena, 512), at(arena, 1024));
    else
        (void)add_command(&w, instance, count, at(arena, 0), at(arena, 512), at(arena, 1024));
    (void)add_wait(&w, TIMELINE_OF(instance));
    (void)add_copy(&w, CHANNEL_1, at(arena, 1024), sram(out), count);
    (void)add_wait(&w, CHANNEL_1);
}

static const char *calls_on_another_core(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    add_on(INSTANCE_DSP, ARENA_TCM, ADD_BYTES, OUT);
    INIT(w);
    for (uint32_t i = 0; i < 10; i++) {
        fill(A, 512, i);
        CHECK(ta_run(&rt) == TA_OK && is_sum(A, B, OUT, ADD_BYTES));
    }
    return NULL;
}

/* Twice the sum of what both see, `more` the second time. */
static void read_shared(ta_ref more)
{
    (void)add_call(&w, INSTANCE_DSP, sram(A), sram(B), tcm(0));
    (void)add_call(&w, INSTANCE_DSP, tcm(0), more, sram(OUT));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_DSP));
    (void)add_call(&w, INSTANCE_HOST, sram(A), sram(B), sram(OUT_2));
    (void)add_call(&w, INSTANCE_HOST, sram(OUT_2), more, sram(OUT_2));
}

static const char *another_core_reads_shared_memory(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    read_shared(sram(B));
    INIT(w);
    fill(A, 512, 8);
    CHECK(ta_run(&rt) == TA_OK && same(OUT, OUT_2, ADD_BYTES));
    return NULL;
}

static const char *another_core_reads_constants(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    read_shared(at(ARENA_CONSTANTS, 0));
    INIT(w);
    fill(A, 512, 8);
    const ta_status status = ta_run(&rt);
    SKIP_WITHOUT(status != TA_ERROR_ARGUMENT, "constants are out of the device's reach");
    CHECK(status == TA_OK && same(OUT, OUT_2, ADD_BYTES));
    return NULL;
}

static const char *commands(void)
{
    static const uint32_t counts[] = {1, 15, 64, 200};
    for (uint32_t i = 0; i < 4; i++) {
        begin(&w);
        (void)add_load(&w, INSTANCE_ADDER_0);
        add_on(INSTANCE_ADDER_0, ARENA_RAM_0, counts[i], OUT);
        INIT(w);
        fill(A, 512, i);
        CHECK(ta_run(&rt) == TA_OK && is_sum(A, B, OUT, counts[i]));
        fill(A, 512, i + 9);
        CHECK(ta_run(&rt) == TA_OK && is_sum(A, B, OUT, counts[i]));
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static const char *two_instances_at_once(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    (void)add_load(&w, INSTANCE_ADDER_1);
    for (uint32_t i = 0; i < 2; i++) {
        (void)add_copy(&w, CHANNEL_0, sram(A), at(ARENA_RAM_0 + i, 0), 128);
        (void)add_copy(&w, CHANNEL_0, sram(i ? B : A), at(ARENA_RAM_0 + i, 128), 128);
    }
    (void)add_wait(&w, CHANNEL_0);
    (void)add_command(&w, INSTANCE_ADDER_0, 128, ram_0(0), ram_0(128), ram_0(256));
    (void)add_command(&w, INSTANCE_ADDER_1, 128, ram_1(0), ram_1(128), ram_1(256));
    for (uint32_t i = 0; i < 2; i++) {
        (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_0 + i));
        (void)add_copy(&w, CHANNEL_1, at(ARENA_RAM_0 + i, 256), sram(i ? OUT_2 : OUT), 128);
    }
    (void)add_wait(&w, CHANNEL_1);
    INIT(w);
    for (uint32_t i = 0; i < 5; i++) {
        fill(A, 512, i);
        CHECK(ta_run(&rt) == TA_OK && is_sum(A, A, OUT, 128) && is_sum(A, B, OUT_2, 128));
    }
    return NULL;
}

static const char *commands_in_a_row(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_1);
    for (uint32_t i = 0; i < 10; i++) /* out = a + out, in order, without waits between */
        (void)add_command(&w, INSTANCE_ADDER_1, 100, sram(A), sram(OUT), sram(OUT));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_1));
    INIT(w);
    fill(A, 100, 1);
    for (uint32_t i = 0; i < 100; i++)
        conformance_sram[OUT + i] = 0;
    CHECK(ta_run(&rt) == TA_OK);
    for (uint32_t i = 0; i < 100; i++)
        CHECK(conformance_sram[OUT + i] == (uint8_t)(10 * conformance_sram[A + i]));
    return NULL;
}

static const char *addresses(void)
{
    const ta_port *port = under_test.port;
    ta_address address = 0, shared = 0;
    SKIP_WITHOUT(port->address, "no addresses");
    begin(&w);
    INIT(w);
    CHECK(port->address(port, INSTANCE_DSP, tcm(8), &address) == TA_OK && address == TCM_ADDRESS + 64 + 8);
    CHECK(port->address(port, INSTANCE_ADDER_0, ram_0(8), &address) == TA_OK && address == 8);
    CHECK(port->address(port, INSTANCE_ADDER_1, ram_1(8), &address) == TA_OK && address == 40);
    CHECK(port->address(port, INSTANCE_ADDER_1, sram(9), &address) == TA_OK && address >= SRAM_ADDRESS);
    CHECK(port->address(port, INSTANCE_DSP, sram(9), &shared) == TA_OK && shared == address);
    CHECK(port->address(port, INSTANCE_HOST, sram(9), &address) == TA_OK);
    CHECK(address == (ta_address)(uintptr_t)(conformance_sram + 9));
    CHECK(port->address(port, INSTANCE_ADDER_0, ram_1(8), &address) == TA_ERROR_ARGUMENT);
    CHECK(port->address(port, INSTANCE_ADDER_0, sram(8), &address) == TA_ERROR_ARGUMENT);
    CHECK(port->address(port, INSTANCE_HOST, tcm(8), &address) == TA_ERROR_ARGUMENT);
    return NULL;
}

static const char *load_start_stop(void)
{
    const ta_port *port = under_test.port;
    SKIP_WITHOUT(port->load && port->start && port->stop, "no load process");
    begin(&w);
    INIT(w);
    CHECK(port->start(port, INSTANCE_DSP) == TA_ERROR_STATE);
    const ta_status status = port->load(port, INSTANCE_DSP, under_test.image, under_test.image_bytes);
    SKIP_WITHOUT(status != TA_ERROR_UNSUPPORTED, "no device runs without an image");
    CHECK(status == TA_OK);
    CHECK(port->load(port, INSTANCE_DSP, under_test.image, under_test.image_bytes) == TA_OK);
    CHECK(port->start(port, INSTANCE_DSP) == TA_OK && port->start(port, INSTANCE_DSP) == TA_OK);
    CHECK(port->load(port, INSTANCE_DSP, under_test.image, under_test.image_bytes) == TA_ERROR_STATE);
    CHECK(port->stop(port, INSTANCE_DSP) == TA_OK && port->stop(port, INSTANCE_DSP) == TA_OK);
    CHECK(port->start(port, INSTANCE_DSP) == TA_ERROR_STATE); /* the program is forgotten */
    CHECK(ta_stop(&rt) == TA_OK && port->close(port) == TA_ERROR_STATE);
    return NULL;
}

/* A core whose program is linked is started, and needs no operation to load it. */
static const char *linked_cores_are_only_started(void)
{
    ta_port port = *under_test.port;
    ta_instance_info instances[INSTANCE_COUNT];
    ta_soc soc = conformance_soc;
    SKIP_WITHOUT(port.load && port.start && port.stop, "no load process");
    SKIP_WITHOUT(under_test.image == NULL, "no device runs without an image");
    for (uint32_t i = 0; i < INSTANCE_COUNT; i++)
        instances[i] = conformance_soc.instances[i];
    instances[INSTANCE_DSP].load_process = TA_LOAD_LINKED;
    soc.instances = instances;
    port.load = NULL;
    begin(&w);
    (void)add_load(&w, INSTANCE_DSP);
    (void)add_call(&w, INSTANCE_DSP, tcm(0), tcm(64), tcm(128));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_DSP));
    for (uint32_t round = 0; round < 2; round++) {
        CHECK(ta_init(&rt, &w.bundle, &soc, &port) == TA_OK);
        CHECK(ta_run(&rt) == TA_OK && ta_stop(&rt) == TA_OK);
    }
    instances[INSTANCE_DSP].load_process = TA_LOAD_FIRMWARE;
    CHECK(ta_init(&rt, &w.bundle, &soc, &port) == TA_ERROR_UNSUPPORTED && rt.failed_step == 0);
    return NULL;
}

/* The registers of a running device are its own. */
static const char *one_command_at_a_time(void)
{
    const ta_port *port = under_test.port;
    const ta_driver *driver = &conformance_adder_driver;
    const ta_address operands[3] = {0, 64, 128};
    const uint32_t hang = ADDER_HANGS, four = 4;
    const ta_command hanging = {&hang, 1, operands, 3}, adding = {&four, 1, operands, 3};
    const uint32_t timeline = TIMELINE_OF(INSTANCE_ADDER_0);
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    INIT(w);
    CHECK(driver->start(port, INSTANCE_ADDER_0, &hanging) == TA_OK);
    CHECK(driver->poll(port, INSTANCE_ADDER_0) == TA_ERROR_BUSY);
    CHECK(driver->start(port, INSTANCE_ADDER_0, &adding) == TA_ERROR_BUSY);
    CHECK(port->cancel(port, timeline) == TA_OK);
    CHECK(driver->start(port, INSTANCE_ADDER_0, &adding) == TA_OK);
    CHECK(port->wait(port, timeline, rt.progress[timeline].base + 2u, 1000000) == TA_OK);
    CHECK(driver->poll(port, INSTANCE_ADDER_0) == TA_OK && driver->poll(port, INSTANCE_ADDER_0) == TA_OK);
    return NULL;
}

static const char *init_and_stop_with_devices(void)
{
    for (uint32_t i = 0; i < 10; i++) {
        begin(&w);
        (void)add_load(&w, INSTANCE_DSP);
        (void)add_load(&w, INSTANCE_ADDER_0);
        add_on(i % 2 ? INSTANCE_DSP : INSTANCE_ADDER_0, i % 2 ? ARENA_TCM : ARENA_RAM_0, ADD_BYTES, OUT);
        INIT(w);
        fill(A, 512, i);
        CHECK(ta_run(&rt) == TA_OK && is_sum(A, B, OUT, ADD_BYTES));
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

const test_case device_tests[] = {
    {"calls on the host", calls_on_the_host},
    {"calls on another core", calls_on_another_core},
    {"another core reads shared memory", another_core_reads_shared_memory},
    {"another core reads constants", another_core_reads_constants},
    {"commands", commands},
    {"two instances at once", two_instances_at_once},
    {"commands in a row", commands_in_a_row},
    {"addresses", addresses},
    {"load, start, stop", load_start_stop},
    {"linked cores are only started", linked_cores_are_only_started},
    {"one command at a time", one_command_at_a_time},
    {"init and stop with devices", init_and_stop_with_devices},
    {NULL, NULL},
};
