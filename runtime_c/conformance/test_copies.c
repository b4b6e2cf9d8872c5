/* Copies, synchronous and asynchronous: sizes, alignments, two dimensions, overlap. */
#include "conformance/conformance.h"

static workload w;
static const uint32_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 63, 64, 65, 255, 1000};
enum { SIZES = sizeof sizes / sizeof sizes[0], TARGET = 4096, GUARD = 0x5a };

/* The bytes before and after sram[start .. start + bytes) must stay. */
static void guard(uint32_t start, uint32_t bytes)
{
    for (uint32_t i = start - 4; i < start + bytes + 4; i++)
        conformance_sram[i] = GUARD;
}

static int guarded(uint32_t start, uint32_t bytes)
{
    for (uint32_t i = 1; i <= 4; i++)
        if (conformance_sram[start - i] != GUARD || conformance_sram[start + bytes + i - 1] != GUARD)
            return 0;
    return 1;
}

static const char *copies_by_the_cpu(void)
{
    for (uint32_t i = 0; i < SIZES; i++) {
        begin(&w);
        for (uint32_t k = 0; k < 16; k++)
            (void)add_copy(&w, TA_TIMELINE_NONE, sram(k % 4), sram(TARGET + k / 4), sizes[i]);
        INIT(w);
        for (uint32_t k = 0; k < 16; k++) {
            fill(0, sizes[i] + 4, i + k);
            guard(TARGET + k / 4, sizes[i]);
            CHECK(under_test.port->copy(under_test.port, &w.copies[k]) == TA_OK);
            CHECK(same(k % 4, TARGET + k / 4, sizes[i]) && guarded(TARGET + k / 4, sizes[i]));
        }
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static const char *overlapping_copies_by_the_cpu(void)
{
    for (uint32_t forward = 0; forward < 2; forward++) {
        const uint32_t source = forward ? 100u : 107u, target = forward ? 107u : 100u;
        begin(&w);
        (void)add_copy(&w, TA_TIMELINE_NONE, sram(source), sram(TARGET), 200);
        INIT(w);
        fill(source, 200, forward);
        fill(TARGET, 200, forward);
        w.copies[0].target = sram(target); /* no step does that: ta_init refuses it */
        CHECK(under_test.port->copy(under_test.port, &w.copies[0]) == TA_OK && same(target, TARGET, 200));
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

/* 9 rows of 11 bytes, 17 apart at the source, 23 at the target. */
static const ta_copy rows_of_11 = {{ARENA_SRAM, 3}, {ARENA_SRAM, TARGET}, 11, 9, 17, 23, TA_CACHE_NONE};

static int rows_arrived(void)
{
    for (uint32_t row = 0; row < 9; row++) {
        if (!same(3 + 17 * row, TARGET + 23 * row, 11))
            return 0;
        for (uint32_t gap = 11; row < 8 && gap < 23; gap++)
            if (conformance_sram[TARGET + 23 * row + gap] != GUARD)
                return 0;
    }
    return guarded(TARGET, 8 * 23 + 11);
}

static const char *rows_by_the_cpu(void)
{
    begin(&w);
    (void)add_copy_2d(&w, TA_TIMELINE_NONE, rows_of_11);
    INIT(w);
    fill(0, 200, 4);
    guard(TARGET, 8 * 23 + 11);
    CHECK(ta_run(&rt) == TA_OK && rows_arrived());
    return NULL;
}

static const char *constants(void)
{
    begin(&w);
    (void)add_copy(&w, TA_TIMELINE_NONE, at(ARENA_CONSTANTS, 0), sram(0), ADD_BYTES);
    INIT(w);
    CHECK(ta_run(&rt) == TA_OK);
    CHECK(conformance_sram[0] == 3 && conformance_sram[15] == 3 && conformance_sram[16] == 0);
    return NULL;
}

/* To a memory that the host cannot see and back, for one size and all alignments. */
static const char *there_and_back(uint32_t arena, uint32_t bytes)
{
    for (uint32_t k = 0; k < 16; k++) {
        begin(&w);
        (void)add_copy(&w, CHANNEL_0, sram(8 + k % 4), at(arena, 5 + k / 4), bytes);
        (void)add_wait(&w, CHANNEL_0);
        (void)add_copy(&w, CHANNEL_1, at(arena, 5 + k / 4), sram(TARGET + k % 3), bytes);
        (void)add_wait(&w, CHANNEL_1);
        INIT(w);
        fill(0, bytes + 16, k);
        guard(TARGET + k % 3, bytes);
        CHECK(ta_run(&rt) == TA_OK);
        CHECK(same(8 + k % 4, TARGET + k % 3, bytes) && guarded(TARGET + k % 3, bytes));
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

static const char *copies_by_dma(void)
{
    static const uint32_t arenas[] = {ARENA_TCM, ARENA_RAM_0, ARENA_RAM_1};
    for (uint32_t i = 0; i < SIZES; i++) {
        const char *result = there_and_back(arenas[i % 3], sizes[i]);
        if (result != NULL)
            return result;
    }
    return NULL;
}

static const char *rows_by_dma(void)
{
    ta_copy out = rows_of_11, back = rows_of_11;
    out.target = tcm(70);
    out.target_stride = 11; /* packed there, spread out again on the way back */
    out.cache = TA_CACHE_CLEAN_SOURCE;
    back.source = out.target;
    back.source_stride = 11;
    back.cache = TA_CACHE_INVALIDATE_TARGET;
    begin(&w);
    (void)add_copy_2d(&w, CHANNEL_0, out);
    (void)add_copy_2d(&w, CHANNEL_0, back);
    (void)add_wait(&w, CHANNEL_0);
    INIT(w);
    for (uint32_t i = 0; i < 3; i++) {
        fill(0, 200, i);
        guard(TARGET, 8 * 23 + 11);
        CHECK(ta_run(&rt) == TA_OK && rows_arrived());
    }
    return NULL;
}

static uint32_t cleaned, invalidated;

static ta_status count_clean(const ta_port *port, const void *start, uint32_t bytes)
{
    cleaned += start == conformance_sram + 3 + 17 * cleaned && bytes == 11;
    return under_test.port->cache_clean(port, start, bytes);
}

/* Rows are invalidated before the transfer, and again after it. */
static ta_status count_invalidate(const ta_port *port, void *start, uint32_t bytes)
{
    invalidated += start == conformance_sram + TARGET + 23 * (invalidated % 9) && bytes == 11;
    return under_test.port->cache_invalidate(port, start, bytes);
}

static const char *cache_duties(void)
{
    static ta_port port; /* the runtime keeps it until it is stopped */
    ta_copy copy = rows_of_11;
    port = *under_test.port;
    SKIP_WITHOUT(port.cache_clean && port.cache_invalidate && port.copy_async, "no cache operations");
    port.cache_clean = count_clean;
    port.cache_invalidate = count_invalidate;
    cleaned = invalidated = 0;
    copy.cache = TA_CACHE_CLEAN_SOURCE | TA_CACHE_INVALIDATE_TARGET;
    begin(&w);
    (void)add_copy_2d(&w, CHANNEL_0, copy);
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, &port) == TA_OK);
    CHECK(ta_run(&rt) == TA_OK && cleaned == 9 && invalidated == 18);
    return NULL;
}

static const char *broadcast_rows_by_dma(void)
{
    const ta_copy copy = {{ARENA_SRAM, 0}, {ARENA_SRAM, TARGET}, 10, 5, 0, 10, TA_CACHE_NONE};
    begin(&w);
    (void)add_copy_2d(&w, CHANNEL_0, copy);
    (void)add_wait(&w, CHANNEL_0);
    INIT(w);
    fill(0, 10, 9);
    CHECK(ta_run(&rt) == TA_OK);
    for (uint32_t row = 0; row < 5; row++)
        CHECK(same(0, TARGET + 10 * row, 10));
    return NULL;
}

/* What is filled stays, run after run. */
static const char *filled_once(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_HOST);
    (void)add_fill(&w, TA_TIMELINE_NONE, sram(0), sram(TARGET), 64);
    (void)add_fill(&w, TA_TIMELINE_NONE, sram(TARGET), sram(TARGET + 64), 64); /* from what is filled already */
    (void)add_copy(&w, TA_TIMELINE_NONE, sram(TARGET + 64), sram(1024), 64);
    for (uint32_t turn = 0; turn < 2; turn++) {
        fill(0, 64, turn);
        INIT(w);
        CHECK(ta_fill(&rt) == TA_OK && same(0, TARGET, 64) && same(0, TARGET + 64, 64));
        fill(0, 64, 7);
        for (uint32_t run = 0; run < 2; run++) {
            fill(1024, 64, 9);
            CHECK(ta_run(&rt) == TA_OK && same(TARGET, 1024, 64) && !same(0, 1024, 64));
        }
        CHECK(ta_stop(&rt) == TA_OK);
    }
    return NULL;
}

/* Values of a run begin with 1 whatever init has copied. */
static const char *filled_by_dma(void)
{
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    (void)add_fill(&w, CHANNEL_0, sram(0), ram_0(0), 64);
    (void)add_fill(&w, CHANNEL_1, sram(256), ram_0(256), 64);
    (void)add_fill(&w, CHANNEL_0, ram_0(0), sram(TARGET), 64);
    (void)add_command(&w, INSTANCE_ADDER_0, 64, ram_0(0), ram_0(256), ram_0(512));
    (void)add_wait(&w, TIMELINE_OF(INSTANCE_ADDER_0));
    (void)add_copy(&w, CHANNEL_0, ram_0(512), sram(1024), 64);
    (void)add_wait(&w, CHANNEL_0);
    fill(0, 320, 3);
    INIT(w);
    CHECK(ta_fill(&rt) == TA_OK && same(0, TARGET, 64));
    for (uint32_t run = 0; run < 3; run++) {
        fill(1024, 64, 9);
        CHECK(ta_run(&rt) == TA_OK && is_sum(0, 256, 1024, 64));
    }
    return NULL;
}

static const char *bad_fills(void)
{
    for (uint32_t fault = 0; fault < 4; fault++) {
        begin(&w);
        (void)add_load(&w, INSTANCE_HOST);
        uint32_t bad = 2;
        (void)add_fill(&w, TA_TIMELINE_NONE, sram(0), sram(64), 64);
        (void)add_fill(&w, TA_TIMELINE_NONE, sram(0), sram(128), 64);
        (void)add_copy(&w, TA_TIMELINE_NONE, sram(64), sram(256), 64);
        if (fault == 0) {
            w.steps[1].kind = TA_STEP_COPY; /* behind a step of a run */
        } else if (fault == 1) {
            w.steps[2].index = w.bundle.copy_count;
        } else if (fault == 2) {
            w.copies[1].target = at(ARENA_CONSTANTS, 0);
        } else {
            w.steps[3].kind = TA_STEP_LOAD; /* LOADs are before all FILLs */
            bad = 3;
        }
        CHECK(ta_init(&rt, &w.bundle, &conformance_soc, under_test.port) == TA_ERROR_ARGUMENT);
        CHECK(rt.failed_step == bad && ta_run(&rt) == TA_ERROR_STATE);
    }
    return NULL;
}

static const char *bad_events_of_fills(void)
{
    SKIP_WITHOUT(under_test.port->copy_async, "no asynchronous copies");
    begin(&w);
    const uint32_t step = add_fill(&w, CHANNEL_1, sram(0), sram(64), 64);
    w.steps[step].event.value = 2;
    CHECK(ta_init(&rt, &w.bundle, &conformance_soc, under_test.port) == TA_ERROR_ARGUMENT && rt.failed_step == step);
    return NULL;
}

static uint32_t made, stops;

static ta_status second_copy_fails(const ta_port *port, const ta_copy *copy)
{
    return ++made == 2u ? TA_ERROR_DMA : under_test.port->copy(port, copy);
}

static ta_status counted_stop(const ta_port *port, uint32_t instance)
{
    stops++;
    return under_test.port->stop(port, instance);
}

static const char *a_failed_fill_stops(void)
{
    static ta_port port;
    port = *under_test.port;
    SKIP_WITHOUT(port.copy && port.stop, "no copies, or no load process");
    port.copy = second_copy_fails;
    port.stop = counted_stop;
    made = stops = 0;
    begin(&w);
    (void)add_load(&w, INSTANCE_ADDER_0);
    (void)add_fill(&w, TA_TIMELINE_NONE, sram(0), sram(64), 64);
    const uint32_t bad = add_fill(&w, TA_TIMELINE_NONE, sram(0), sram(128), 64);
    (void)add_fill(&w, TA_TIMELINE_NONE, sram(0), sram(192), 64);
    const ta_status status = ta_init(&rt, &w.bundle, &conformance_soc, &port);
    SKIP_WITHOUT(status != TA_ERROR_UNSUPPORTED, "no load process");
    CHECK(status == TA_OK && ta_fill(&rt) == TA_ERROR_DMA && rt.failed_step == bad && made == 2u && stops == 1);
    CHECK(ta_run(&rt) == TA_ERROR_STATE && ta_fill(&rt) == TA_ERROR_STATE && ta_fill(NULL) == TA_ERROR_ARGUMENT);
    INIT(w); /* the port was closed again */
    CHECK(ta_fill(&rt) == TA_OK && ta_run(&rt) == TA_OK);
    return NULL;
}

const test_case copy_tests[] = {
    {"copies by the CPU: sizes and alignments", copies_by_the_cpu},
    {"overlapping copies by the CPU", overlapping_copies_by_the_cpu},
    {"rows by the CPU", rows_by_the_cpu},
    {"copies from constants", constants},
    {"copies by DMA: sizes and alignments", copies_by_dma},
    {"rows by DMA, with cache duties", rows_by_dma},
    {"cache duties", cache_duties},
    {"one row many times by DMA", broadcast_rows_by_dma},
    {"fills are made once", filled_once},
    {"fills by DMA", filled_by_dma},
    {"bad fills are refused", bad_fills},
    {"bad events of fills are refused", bad_events_of_fills},
    {"a failed fill stops the runtime", a_failed_fill_stops},
    {NULL, NULL},
};
