/* Two models of the conformance suite's SoC that want different programs on adder[0], and the same one on
 * adder[1]. The port is the host's, with a load that remembers which image every instance holds. */
#include <stdio.h>
#include <string.h>

#include "conformance/conformance.h"
#include "models/models.h"
#include "ports/host/host.h"

ta_runtime rt; /* the suite's, unused */

const char *failed(const char *condition)
{
    return condition;
}

static ta_models models;
static workload first, second, third;
static const ta_bundle *const both[] = {&first.bundle, &second.bundle};
static const ta_bundle *const all[] = {&first.bundle, &second.bundle, &third.bundle};
static ta_port port;
static const uint8_t program_a[] = "program a", program_b[] = "program b", common[] = "both", twin[] = "both";
static const uint8_t *held[INSTANCE_COUNT], *ran[INSTANCE_COUNT];
static uint32_t loads, stops, running, fills;
static ta_status load_answers, stop_answers, inner_run, inner_stop;

static ta_status load(const ta_port *self, uint32_t instance, const uint8_t *image, uint32_t bytes)
{
    (void)self;
    loads++;
    inner_run = ta_models_run(&models, 0);
    inner_stop = ta_models_stop(&models);
    if (load_answers != TA_OK)
        return load_answers;
    held[instance] = image;
    return ta_port_host.load(&ta_port_host, instance, image, bytes);
}

static ta_status start(const ta_port *self, uint32_t instance)
{
    (void)self;
    running |= 1u << instance;
    return ta_port_host.start(&ta_port_host, instance);
}

static ta_status stop(const ta_port *self, uint32_t instance)
{
    (void)self;
    stops++;
    if (stop_answers != TA_OK)
        return stop_answers;
    running &= ~(1u << instance);
    return ta_port_host.stop(&ta_port_host, instance);
}

static ta_status write32(const ta_port *self, uint32_t instance, uint32_t offset, uint32_t value)
{
    (void)self;
    if (offset == 4u * ADDER_START_REGISTER)
        ran[instance] = held[instance];
    return ta_port_host.mmio_write32(&ta_port_host, instance, offset, value);
}

static ta_status counted_copy(const ta_port *self, const ta_copy *copy)
{
    (void)self;
    fills++;
    return ta_port_host.copy(&ta_port_host, copy);
}

static void program(workload *w, uint32_t instance, const uint8_t *image, uint32_t bytes)
{
    ta_load *added = &w->loads[w->bundle.load_count];
    (void)add_load(w, instance);
    added->image = image;
    added->image_bytes = bytes;
    added->image_crc32 = ta_crc32(image, bytes);
}

/* sram[out] = sram[0] + sram[256] by adder[0] from RAM 0, and into sram[out + 64] by adder[1] from SRAM. */
static void build(workload *w, const uint8_t *own, const uint8_t *shared, uint32_t out)
{
    begin(w);
    w->bundle.arenas = first.arenas;
    program(w, INSTANCE_ADDER_0, own, sizeof program_a);
    program(w, INSTANCE_ADDER_1, shared, sizeof common);
    (void)add_copy(w, CHANNEL_0, sram(0), ram_0(0), 64);
    (void)add_copy(w, CHANNEL_0, sram(256), ram_0(256), 64);
    (void)add_wait(w, CHANNEL_0);
    (void)add_command(w, INSTANCE_ADDER_0, 64, ram_0(0), ram_0(256), ram_0(512));
    (void)add_command(w, INSTANCE_ADDER_1, 64, sram(0), sram(256), sram(out + 64));
    (void)add_wait(w, TIMELINE_OF(INSTANCE_ADDER_0));
    (void)add_copy(w, CHANNEL_0, ram_0(512), sram(out), 64);
    (void)add_wait(w, CHANNEL_0);
    (void)add_wait(w, TIMELINE_OF(INSTANCE_ADDER_1));
}

static ta_status begin_both(const uint8_t *other)
{
    static const ta_models none;
    port = ta_port_host;
    port.load = load;
    port.start = start;
    port.stop = stop;
    port.mmio_write32 = write32;
    build(&first, program_a, common, 512);
    build(&second, other, twin, 1024);
    models = none;
    loads = stops = running = 0;
    load_answers = stop_answers = TA_OK;
    return ta_models_init(&models, both, 2, &conformance_soc, &port);
}

static int runs(uint32_t model, const uint8_t *own, uint32_t seed)
{
    const uint32_t out = model == 0 ? 512u : 1024u;
    fill(0, 512, seed);
    ran[INSTANCE_ADDER_0] = NULL;
    return ta_models_run(&models, model) == TA_OK && is_sum(0, 256, out, 64) && is_sum(0, 256, out + 64, 64) &&
           ran[INSTANCE_ADDER_0] == own && ran[INSTANCE_ADDER_1] == common;
}

static void fill_two(workload *w, const uint8_t *image, uint32_t number)
{
    begin(w);
    w->bundle.arenas = first.arenas;
    program(w, INSTANCE_ADDER_0, image, sizeof program_a);
    (void)add_fill(w, TA_TIMELINE_NONE, sram(0), sram(4096 + 64 * number), 64);
    (void)add_fill(w, TA_TIMELINE_NONE, sram(0), sram(5120 + 64 * number), 64);
}

/* The first model's program is the third one's, too: what the second one's left where the third has its residents is
 * filled again, though the third finds its program. */
static const char *program_of_two(void)
{
    static const ta_models none;
    (void)begin_both(program_b);
    CHECK(ta_models_stop(&models) == TA_OK);
    fill_two(&first, program_a, 0);
    fill_two(&second, program_b, 1);
    fill_two(&third, program_a, 2);
    models = none;
    fills = 0;
    port.copy = counted_copy;
    CHECK(ta_models_init(&models, all, 3, &conformance_soc, &port) == TA_OK && fills == 6);
    CHECK(models.runtime.lost == 0 && models.runtime.filled == &first.bundle);
    CHECK(ta_models_run(&models, 2) == TA_OK && fills == 6);
    CHECK(ta_models_run(&models, 1) == TA_OK && fills == 8 && models.runtime.lost == 1);
    CHECK(ta_models_run(&models, 0) == TA_OK && fills == 10);
    CHECK(ta_models_run(&models, 2) == TA_OK && fills == 12 && models.runtime.filled == &third.bundle);
    CHECK(ta_models_run(&models, 2) == TA_OK && fills == 12);
    load_answers = TA_ERROR_DEVICE;
    CHECK(ta_models_run(&models, 1) == TA_ERROR_DEVICE && models.runtime.filled == NULL);
    load_answers = TA_OK;
    CHECK(ta_models_run(&models, 0) == TA_OK && fills == 14);
    CHECK(ta_models_stop(&models) == TA_OK);
    return NULL;
}

/* A new program may leave anything in the memories of its instance: residents are filled again. */
static const char *residents(void)
{
    static const ta_models none;
    (void)begin_both(program_b);
    CHECK(ta_models_stop(&models) == TA_OK);
    fill_two(&first, program_a, 0);
    fill_two(&second, program_b, 1);
    fill(0, 64, 5);
    models = none;
    fills = 0;
    port.copy = counted_copy;
    CHECK(ta_models_init(&models, both, 2, &conformance_soc, &port) == TA_OK && fills == 4);
    CHECK(same(0, 4096, 64) && same(0, 5120 + 64, 64));
    CHECK(ta_models_run(&models, 0) == TA_OK && fills == 4);
    CHECK(ta_models_run(&models, 1) == TA_OK && fills == 6);
    CHECK(ta_models_run(&models, 1) == TA_OK && fills == 6);
    CHECK(ta_models_run(&models, 0) == TA_OK && fills == 8);
    CHECK(ta_models_stop(&models) == TA_OK);
    return NULL;
}

static const char *alternating(void)
{
    CHECK(begin_both(program_b) == TA_OK && loads == 2);
    for (uint32_t round = 0; round < 4; round++) {
        CHECK(runs(0, program_a, 7u + round) && runs(0, program_a, 17u + round));
        CHECK(runs(1, program_b, 27u + round) && models.runtime.bundle == &second.bundle);
    }
    CHECK(loads == 2 + 4 + 3 && stops == 4 + 3); /* adder[1] never */
    CHECK(ta_models_stop(&models) == TA_OK && running == 0);
    return NULL;
}

/* The port's load of the second model's program calls back. */
static const char *reentry(void)
{
    CHECK(begin_both(program_b) == TA_OK && runs(0, program_a, 1));
    inner_run = inner_stop = TA_OK;
    CHECK(runs(1, program_b, 2));
    CHECK(inner_run == TA_ERROR_STATE && inner_stop == TA_ERROR_STATE);
    CHECK(models.runtime.bundle == &second.bundle && runs(0, program_a, 3));
    CHECK(ta_models_stop(&models) == TA_OK && running == 0);
    return NULL;
}

static const char *one_program(void)
{
    CHECK(begin_both(program_a) == TA_OK);
    for (uint32_t round = 0; round < 2; round++)
        CHECK(runs(0, program_a, round) && runs(1, program_a, 9u + round));
    CHECK(loads == 2 && stops == 0);
    CHECK(ta_models_stop(&models) == TA_OK && running == 0);
    return NULL;
}

static const char *a_load_fails(void)
{
    CHECK(begin_both(program_b) == TA_OK && runs(0, program_a, 1));
    load_answers = TA_ERROR_IMAGE;
    ran[INSTANCE_ADDER_0] = NULL;
    CHECK(ta_models_run(&models, 1) == TA_ERROR_IMAGE && models.runtime.failed_step == 0);
    CHECK(ran[INSTANCE_ADDER_0] == NULL && strcmp(ta_failed_device(&models.runtime), "adder[0]") == 0);
    CHECK(ta_models_run(&models, 0) == TA_ERROR_IMAGE && ran[INSTANCE_ADDER_0] == NULL);
    load_answers = TA_OK;
    CHECK(runs(1, program_b, 2) && runs(0, program_a, 3));
    stop_answers = TA_ERROR_TIMEOUT;
    CHECK(ta_models_run(&models, 1) == TA_ERROR_TIMEOUT && models.runtime.failed_step == 0);
    CHECK(ta_models_run(&models, 1) == TA_ERROR_STATE); /* it still runs: nothing can be loaded */
    stop_answers = TA_OK;
    second.loads[0].image_crc32 ^= 1u;
    CHECK(ta_models_run(&models, 1) == TA_ERROR_IMAGE);
    CHECK(ta_models_stop(&models) == TA_OK && running == 0 && ta_models_stop(&models) == TA_OK);
    return NULL;
}

/* The programs of the second model's other instances are brought up by init, and init undoes what it did. */
static const char *init_fails(void)
{
    CHECK(begin_both(program_b) == TA_OK);
    CHECK(ta_models_init(&models, both, 2, &conformance_soc, &port) == TA_ERROR_STATE);
    CHECK(ta_models_stop(&models) == TA_OK);
    first.bundle.step_count = 1; /* only adder[0]: the second model brings adder[1] */
    load_answers = TA_OK;
    CHECK(ta_models_init(&models, both, 2, &conformance_soc, &port) == TA_OK && running == 0xcu);
    CHECK(ta_models_stop(&models) == TA_OK && running == 0);
    second.loads[1].image_crc32 ^= 1u;
    CHECK(ta_models_init(&models, both, 2, &conformance_soc, &port) == TA_ERROR_IMAGE && running == 0);
    CHECK(models.runtime.failed_step == 1 && models.runtime.bundle == &second.bundle);
    CHECK(ta_models_run(&models, 0) == TA_ERROR_STATE);
    return NULL;
}

static const char *wrong_tables(void)
{
    CHECK(begin_both(program_b) == TA_OK && ta_models_run(&models, 2) == TA_ERROR_ARGUMENT);
    CHECK(ta_models_stop(&models) == TA_OK);
    CHECK(ta_models_init(NULL, both, 2, &conformance_soc, &port) == TA_ERROR_ARGUMENT);
    CHECK(ta_models_init(&models, both, 0, &conformance_soc, &port) == TA_ERROR_ARGUMENT);
    second.bundle.arenas = second.arenas;
    CHECK(ta_models_init(&models, both, 2, &conformance_soc, &port) == TA_ERROR_ARGUMENT);
    second.bundle.arenas = first.arenas;
    second.bundle.abi_hash ^= 1u;
    CHECK(ta_models_init(&models, both, 2, &conformance_soc, &port) == TA_ERROR_ABI_MISMATCH);
    second.bundle.abi_hash ^= 1u;
    second.steps[3].index = MAX_ITEMS;
    CHECK(ta_models_init(&models, both, 2, &conformance_soc, &port) == TA_ERROR_ARGUMENT);
    CHECK(models.runtime.failed_step == 3 && models.runtime.bundle == &second.bundle && loads == 2);
    CHECK(ta_models_run(NULL, 0) == TA_ERROR_ARGUMENT && ta_models_stop(NULL) == TA_ERROR_ARGUMENT);
    return NULL;
}

int main(void)
{
    const test_case tests[] = {{"alternating", alternating},
                               {"re-entry", reentry},
                               {"one program", one_program},
                               {"a load fails", a_load_fails},
                               {"init fails", init_fails},
                               {"wrong tables", wrong_tables},
                               {"residents", residents},
                               {"a program of two", program_of_two}};
    int failures = 0;
    for (const char *const *mode = under_test.modes; *mode != NULL; mode++)
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
            under_test.set_mode(*mode);
            const char *result = tests[i].run();
            printf("%s %s (%s)%s%s\n", result == NULL ? "ok" : "not ok", tests[i].name, *mode,
                   result == NULL ? "" : ": ", result == NULL ? "" : result);
            failures += result != NULL;
            (void)ta_models_stop(&models);
        }
    return failures != 0;
}
