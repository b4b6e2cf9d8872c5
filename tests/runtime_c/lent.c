/* Inputs and outputs in memory of the caller, on the conformance suite's SoC: results are right behind copies, on the
 * host and on a device that observes the memory, in every mode of the host port, and wrong memory is a status. */
#include <stdio.h>
#include <string.h>

#include "conformance/conformance.h"
#include "lent/lent.h"
#include "ports/host/host.h"

ta_runtime rt;

const char *failed(const char *condition)
{
    (void)ta_stop(&rt);
    return condition;
}

enum { LENT_A = ARENA_COUNT, LENT_B, LENT_OUT, LENT_TOTAL, LENT_COUNT };
enum { A, B, OUT, TOTAL, TENSORS };

/* What a program lends, one behind the other with a guard between, each at the start of a line. */
static uint8_t room[8][64] TA_ALIGNED(64);
static uint8_t *const inputs[] = {room[0], room[2]}, *const outputs[] = {room[4], room[6]};
static const void *starts[TENSORS];
static ta_lent lent[TENSORS] = {
    {&starts[A], 64, 0, 1}, {&starts[B], 64, 0, 1}, {&starts[OUT], 64, 1, 1}, {&starts[TOTAL], 64, 1, 0}};
static ta_arena arenas[LENT_COUNT];
static const ta_tensor in[] = {{"a", {LENT_A, 0}, 64}, {"b", {LENT_B, 0}, 64}};
static const ta_tensor out[] = {{"out", {LENT_OUT, 0}, 64}, {"total", {LENT_TOTAL, 0}, 64}};
static workload w;
static ta_soc soc;
static ta_memory_info memories[MEMORY_COUNT];
static ta_instance_info instances[INSTANCE_COUNT];
static int alone; /* no device observes the memory, so that the host may cache it */

/* out = a + b by adder[0], behind DMA copies; total = out + b by adder[1], which observes the memory; then total =
 * total + a by the host. */
static void build(void)
{
    begin(&w);
    memcpy(arenas, conformance_arenas, sizeof conformance_arenas);
    for (uint32_t i = 0; i < TENSORS; i++) {
        const ta_arena of_caller = {MEMORY_SRAM, 0, 64, NULL, NULL, &lent[i]};
        arenas[ARENA_COUNT + i] = of_caller;
    }
    w.bundle.arenas = arenas;
    w.bundle.arena_count = LENT_COUNT;
    w.bundle.inputs = in;
    w.bundle.outputs = out;
    w.bundle.input_count = w.bundle.output_count = 2;
    (void)add_load(&w, INSTANCE_ADDER_0);
    (void)add_load(&w, INSTANCE_ADDER_1);
    const ta_copy a = {at(LENT_A, 0), ram_0(0), 64, 1, 0, 0, TA_CACHE_CLEAN_SOURCE};
    const ta_copy b = {at(LENT_B, 0), ram_0(256), 64, 1, 0, 0, TA_CACHE_CLEAN_SOURCE};
    const ta_copy sum = {ram_0(512), at(LENT_OUT, 0), 64, 1, 0, 0, TA_CACHE_INVALIDATE_TARGET};
    (void)add_copy_2d(&w, CHANNEL_0, a);
    (void)add_copy_2d(&w, CHANNEL_0, b);
    (void)add_wait(&w, CHANNEL_0);
    (void)add_command(&w, INSTANCE_ADDER_0, 64, ram_0(0), ram_0(256), ram_0(512));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_0));
    (void)add_copy_2d(&w, CHANNEL_0, sum);
    (void)add_wait(&w, CHANNEL_0);
    if (alone) {
        (void)add_call(&w, INSTANCE_HOST, at(LENT_OUT, 0), at(LENT_B, 0), at(LENT_TOTAL, 0));
    } else {
        (void)add_command(&w, INSTANCE_ADDER_1, 64, at(LENT_OUT, 0), at(LENT_B, 0), at(LENT_TOTAL, 0));
        (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_1));
    }
    (void)add_call(&w, INSTANCE_HOST, at(LENT_TOTAL, 0), at(LENT_A, 0), at(LENT_TOTAL, 0));
}

static ta_status begun(void)
{
    static const ta_runtime none;
    build();
    rt = none;
    memcpy(memories, conformance_soc.memories, sizeof memories);
    soc = conformance_soc;
    soc.memories = memories;
    memcpy(instances, conformance_soc.instances, sizeof instances);
    soc.instances = instances;
    if (alone) {
        instances[INSTANCE_DSP].observed_count = instances[INSTANCE_ADDER_1].observed_count = 1;
        instances[INSTANCE_CORE].observed_count = 0;
    }
#ifdef TA_SECTIONS
    memories[MEMORY_SRAM].address = (ta_address)(uintptr_t)room;
    memories[MEMORY_SRAM].bytes = sizeof room;
    arenas[ARENA_SRAM].bytes = 0;
    arenas[ARENA_CONSTANTS].bytes = 0;
#endif
    return ta_init(&rt, &w.bundle, &soc, &ta_port_host);
}

static void paint(uint32_t seed)
{
    for (uint32_t i = 0; i < sizeof room; i++)
        room[i / 64u][i % 64u] = (uint8_t)(seed * 31u + i * 7u + i / 64u);
}

static int is_right(const uint8_t *a, const uint8_t *b, const uint8_t *sum, const uint8_t *total)
{
    for (uint32_t i = 0; i < 64; i++)
        if (sum[i] != (uint8_t)(a[i] + b[i]) || total[i] != (uint8_t)(sum[i] + b[i] + a[i]))
            return 0;
    return 1;
}

static ta_status run_with(const uint8_t *a, const uint8_t *b, uint8_t *sum, uint8_t *total)
{
    const void *const given[] = {a, b, sum, total};
    ta_status status = ta_lend(&w.bundle, &soc, given);
    if (status == TA_OK)
        status = ta_run(&rt);
    ta_give_back(&w.bundle);
    return status;
}

/* Right in this memory, then in other memory, then with one input for both; nothing else is touched. */
static const char *results(void)
{
    uint8_t before[sizeof room];
    CHECK(begun() == TA_OK);
    for (uint32_t round = 0; round < 4; round++) {
        paint(round);
        memcpy(before, room, sizeof room);
        CHECK(run_with(inputs[0], inputs[1], outputs[0], outputs[1]) == TA_OK);
        CHECK(is_right(inputs[0], inputs[1], outputs[0], outputs[1]));
        CHECK(memcmp(before, room, 256) == 0 && memcmp(before + 320, room[5], 64) == 0);
        CHECK(memcmp(before + 448, room[7], 64) == 0);
        CHECK(run_with(inputs[1], inputs[1], room[5], room[1]) == TA_OK);
        CHECK(is_right(inputs[1], inputs[1], room[5], room[1]));
    }
    CHECK(ta_stop(&rt) == TA_OK);
    return NULL;
}

/* A sum of all inputs where programs check them. */
static const char *sums(void)
{
    const void *const given[] = {inputs[0], inputs[1], outputs[0], outputs[1]};
    const ta_lending *lending = &ta_lending_of_caller;
    CHECK(begun() == TA_OK);
    paint(2);
    CHECK(lending->is_missing(&w.bundle) && lending->lend(&w.bundle, &soc, given) == TA_OK);
    CHECK(!lending->is_missing(&w.bundle));
    const uint32_t before = lending->sum(&w.bundle);
    outputs[1][0]++;
    CHECK(lending->sum(&w.bundle) == before);
    inputs[1][63] ^= 1u;
#ifdef TA_LENT_CHECK
    CHECK(lending->sum(&w.bundle) != before);
#else
    CHECK(lending->sum(&w.bundle) == before && before == 0u);
#endif
    lending->give_back(&w.bundle);
    CHECK(lending->is_missing(&w.bundle));
    CHECK(ta_stop(&rt) == TA_OK);
    return NULL;
}

/* Memory that cannot serve is a status; nothing runs, and what was lent before is lent no more. */
static const char *wrong_memory(void)
{
    static uint8_t elsewhere[2][64] TA_ALIGNED(64);
    const void *const right[] = {inputs[0], inputs[1], outputs[0], outputs[1]};
    CHECK(begun() == TA_OK);
    paint(1);
    CHECK(ta_run(&rt) == TA_ERROR_ARGUMENT);
    CHECK(ta_lend(NULL, &soc, right) == TA_ERROR_ARGUMENT && ta_lend(&w.bundle, NULL, right) == TA_ERROR_ARGUMENT);
    CHECK(ta_lend(&w.bundle, &soc, NULL) == TA_ERROR_ARGUMENT);
    for (uint32_t i = 0; i < TENSORS; i++) {
        const void *given[TENSORS];
        memcpy(given, right, sizeof given);
        given[i] = NULL;
        CHECK(ta_lend(&w.bundle, &soc, given) == TA_ERROR_ARGUMENT);
        given[i] = (const uint8_t *)right[i] + 4;
        CHECK(ta_lend(&w.bundle, &soc, given) == TA_ERROR_ARGUMENT);
        given[i] = (const void *)(UINTPTR_MAX - 63u);
        CHECK(ta_lend(&w.bundle, &soc, given) == TA_ERROR_ARGUMENT);
        CHECK(ta_run(&rt) == TA_ERROR_ARGUMENT);
    }
    CHECK(run_with(inputs[0], inputs[1], inputs[1], outputs[1]) == TA_ERROR_ARGUMENT);
    CHECK(run_with(inputs[0], inputs[1], outputs[0], outputs[0]) == TA_ERROR_ARGUMENT);
    CHECK(run_with(inputs[0], inputs[1], outputs[0], inputs[0]) == TA_ERROR_ARGUMENT);
#ifdef TA_SECTIONS
    /* A device touches `out`, only the host touches `total` where no adder runs. */
    CHECK(run_with(elsewhere[0], inputs[1], outputs[0], outputs[1]) == TA_ERROR_ARGUMENT);
    CHECK(run_with(inputs[0], inputs[1], elsewhere[1], outputs[1]) == TA_ERROR_ARGUMENT);
    memories[MEMORY_SRAM].bytes = sizeof room - 64u;
    CHECK(run_with(inputs[0], inputs[1], room[7], outputs[1]) == TA_ERROR_ARGUMENT);
    CHECK(run_with(inputs[0], inputs[1], outputs[0], room[7]) == TA_OK);
    memories[MEMORY_SRAM].bytes = sizeof room;
#else
    CHECK(run_with(conformance_sram, inputs[1], outputs[0], outputs[1]) == TA_ERROR_ARGUMENT);
    CHECK(run_with(elsewhere[0], inputs[1], elsewhere[1], outputs[1]) == TA_OK);
#endif
    CHECK(ta_lend(&w.bundle, &soc, right) == TA_OK && ta_run(&rt) == TA_OK);
    CHECK(is_right(inputs[0], inputs[1], outputs[0], outputs[1]));
    ta_give_back(&w.bundle);
    CHECK(ta_run(&rt) == TA_ERROR_ARGUMENT && ta_pointer(&w.bundle, at(LENT_A, 0)) == NULL);
    CHECK(ta_is_missing(&w.bundle));
    starts[A] = inputs[0];
    starts[B] = inputs[1];
    CHECK(ta_run(&rt) == TA_ERROR_ARGUMENT && ta_is_missing(&w.bundle)); /* nobody lends the outputs */
    ta_give_back(&w.bundle);
    CHECK(ta_stop(&rt) == TA_OK);
    return NULL;
}

/* Behind a cache that writes lines back when it likes: also in other memory than before, and between runs. */
static const char *behind_a_cache(void)
{
    static uint8_t store[2 * (SRAM_BYTES + TENSORS * 64)];
    const char *result = NULL;
    alone = 1;
    ta_host_set_cache(store, sizeof store, 7);
    if (begun() != TA_OK)
        result = "init";
    for (uint32_t round = 0; round < 24 && result == NULL; round++) {
        uint8_t *const *in_turn = round % 3u == 2u ? outputs : inputs;
        uint8_t *const *out_turn = round % 3u == 2u ? inputs : outputs;
        paint(round);
        if (run_with(in_turn[0], in_turn[1], out_turn[0], out_turn[1]) != TA_OK ||
            !is_right(in_turn[0], in_turn[1], out_turn[0], out_turn[1]))
            result = "wrong bytes";
        else if (ta_port_host.cache_clean(&ta_port_host, room, 64) != TA_OK)
            result = "cache";
    }
    alone = 0;
    ta_host_set_cache(NULL, 0, 1);
    return ta_stop(&rt) == TA_OK ? result : "stop";
}

/* A table that would let a step write an input, or that asks for memory that there cannot be. */
static const char *wrong_tables(void)
{
    const ta_lent right = lent[OUT];
    build();
    lent[OUT].writable = 0;
    CHECK(begun() == TA_ERROR_ARGUMENT && rt.failed_step == 7);
    lent[OUT] = right;
    lent[TOTAL].writable = 0;
    CHECK(begun() == TA_ERROR_ARGUMENT && rt.failed_step == 9);
    lent[TOTAL].writable = 1;
    lent[OUT].start = NULL;
    CHECK(begun() == TA_ERROR_ARGUMENT);
    lent[OUT] = right;
    lent[OUT].alignment = 0;
    CHECK(begun() == TA_ERROR_ARGUMENT);
    lent[OUT].alignment = 192;
    CHECK(begun() == TA_ERROR_ARGUMENT);
    lent[OUT].alignment = 32; /* half a cache line */
    CHECK(begun() == TA_ERROR_ARGUMENT);
    lent[OUT] = right;
    CHECK(begun() == TA_OK && ta_stop(&rt) == TA_OK);
    arenas[LENT_OUT].lent = NULL; /* neither the bundle's nor lent */
    CHECK(ta_init(&rt, &w.bundle, &soc, &ta_port_host) == TA_ERROR_ARGUMENT);
    arenas[LENT_OUT].base = room[4];
    CHECK(ta_init(&rt, &w.bundle, &soc, &ta_port_host) == TA_OK);
    CHECK(run_with(inputs[0], inputs[1], outputs[0], outputs[1]) == TA_ERROR_ARGUMENT);
    CHECK(ta_stop(&rt) == TA_OK);
    return NULL;
}

int main(void)
{
    const test_case tests[] = {
        {"results", results}, {"sums", sums}, {"behind a cache", behind_a_cache}, {"wrong memory", wrong_memory},
        {"wrong tables", wrong_tables}};
    int failures = 0;
    for (const char *const *mode = under_test.modes; *mode != NULL; mode++)
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
            under_test.set_mode(*mode);
            const char *result = tests[i].run();
            failures += result != NULL;
            printf("%s %s (%s)%s%s\n", result == NULL ? "ok" : "not ok", tests[i].name, *mode,
                   result == NULL ? "" : ": ", result == NULL ? "" : result);
        }
    return failures != 0;
}
