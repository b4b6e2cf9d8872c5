/* Armv7-M ARM, B3.5.8 and B3.5.9; Armv8-M ARM, MPU_RBAR and MPU_RLAR. */
#include "ports/qemu_mps2/mpu.h"

enum { ENABLE = 1 };
#define V7_READ_ONLY (6u << 24)                  /* AP: privileged and unprivileged read */
#define V7_WRITABLE ((1u << 28) | (3u << 24))    /* never executed; full access */
#define V7_NORMAL ((1u << 19) | (1u << 17))      /* TEX 1, not cached, as the map has it without an MPU */
#define V8_READ_ONLY (3u << 1)                   /* AP: read by any */
#define V8_WRITABLE ((1u << 1) | 1u)             /* AP: written by any; never executed */

static uint32_t v7_size(uint32_t log2)
{
    return (log2 - 1u) << 1;
}

/* The smallest region that holds the run, without the eighths in which it has nothing. */
static ta_mpu_region v7_region(ta_mpu_run run)
{
    uint32_t log2 = 5;
    while (log2 < 32u && (run.start >> log2) != ((run.end - 1u) >> log2))
        log2++;
    const uint32_t base = log2 == 32u ? 0u : (run.start >> log2) << log2;
    uint32_t left_out = 0;
    for (uint32_t part = 0; log2 >= 8u && part < 8u; part++) {
        const uint64_t first = (uint64_t)base + ((uint64_t)part << (log2 - 3u));
        const uint64_t behind = first + ((uint64_t)1 << (log2 - 3u));
        if (behind <= run.start || first >= run.end)
            left_out |= 1u << part;
    }
    const ta_mpu_region region = {base, V7_WRITABLE | V7_NORMAL | (left_out << 8) | v7_size(log2) | ENABLE};
    return region;
}

uint32_t ta_mpu_v7m(const ta_mpu_run *runs, uint32_t count, ta_mpu_region *regions, uint32_t most)
{
    const ta_mpu_region everything = {0, V7_READ_ONLY | V7_NORMAL | v7_size(32) | ENABLE};
    if (count + 1u > most)
        return 0;
    regions[0] = everything;
    for (uint32_t i = 0; i < count; i++)
        regions[i + 1u] = v7_region(runs[i]);
    return count + 1u;
}

uint32_t ta_mpu_v8m(const ta_mpu_run *runs, uint32_t count, ta_mpu_region *regions, uint32_t most)
{
    uint32_t used = 0, from = 0;
    if (2u * count + 1u > most)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t start = runs[i].start & ~31u, last = (runs[i].end - 1u) & ~31u;
        if (start > from) {
            const ta_mpu_region between = {from | V8_READ_ONLY, (start - 32u) | ENABLE};
            regions[used++] = between;
        }
        const ta_mpu_region region = {start | V8_WRITABLE, last | ENABLE};
        regions[used++] = region;
        from = last + 32u;
    }
    const ta_mpu_region rest = {from | V8_READ_ONLY, 0xffffffe0u | ENABLE};
    regions[used++] = rest;
    return used;
}
