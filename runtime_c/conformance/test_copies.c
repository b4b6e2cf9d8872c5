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

const test_case copy_tests[] = {
    {"copies by the CPU: sizes and alignments", copies_by_the_cpu},
    {"overlapping copies by the CPU", overlapping_copies_by_the_cpu},
    {"rows by the CPU", rows_by_the_cpu},
    {"copies from constants", constants},
    {"copies by DMA: sizes and alignments", copies_by_dma},
    {"rows by DMA, with cache duties", rows_by_dma},
    {"cache duties", cache_duties},
    {"one row many times by DMA", broadcast_rows_by_dma},
    {NULL, NULL},
};
