/* Sums of products of 8-bit values, weights packed in lines of a cache: the layout `lines`. The contract of a layout is in
 * `s8_pairs.h`.
 *
 * For N outputs and K products each, weights are int8 w[N / 16][K / 4][16][4], both rounded up, zeros where there is
 * nothing: the 64 bytes of 16 outputs and four k are what VPDPBUSD of AVX-512 takes, and a line of AMX, which reads
 * them where they are. A tile sums 8 outputs or 16, the first half of each line or all of it.
 *
 * Forms: portable, SSE2 and AVX2 (`s8_lines_x86.h`), AVX-VNNI, AVX-512 VNNI and AMX (`s8_tile_vnni.h`,
 * `s8_tile_avx512.h`, `s8_tile_amx.h`).
 */
#ifndef TA_KERNELS_S8_LINES_H
#define TA_KERNELS_S8_LINES_H

#include <stdint.h>
#include <string.h>

#include "kernels/x86.h"

#define TA_S8_LAYOUT "lines"
#define TA_S8_BLOCK 16
#define TA_S8_UNIT 8
#define TA_S8_DEPTH 4
#define TA_S8_HALF_LINE 32 /* bytes of four k of 8 outputs */
#define TA_S8_OUTPUTS 16
#ifdef TA_KERNELS_X86
#include "kernels/s8_cells_x86.h"
#else
#define TA_S8_ROWS 2
#define TA_S8_PANEL 128
#define TA_S8_RESIDENT 16384
#define TA_S8_MORE 0
typedef int8_t ta_s8_cell;
#endif

#include "kernels/s8_bytes.h"
#include "kernels/s8_lines_x86.h"

#ifndef TA_KERNELS_X86
/* One row, 8 outputs. */
static inline void ta_s8_tile_portable(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                       const int8_t *w)
{
    int32_t acc[TA_S8_UNIT];
    (void)memcpy(acc, start, sizeof acc);
    for (int32_t k = 0; k < depth; k += 4, w += 4 * TA_S8_BLOCK) {
        for (int32_t n = 0; n < TA_S8_UNIT; ++n) {
            acc[n] += x[k] * w[4 * n] + x[k + 1] * w[4 * n + 1];
            acc[n] += x[k + 2] * w[4 * n + 2] + x[k + 3] * w[4 * n + 3];
        }
    }
    (void)memcpy(sums, acc, sizeof acc);
}
#endif

/* The tile of `blocks` times 8 outputs; those after the first 8 are in the same lines. */
static inline void ta_s8_tile(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                              const ta_s8_cell *panel, int32_t depth, const int8_t *w, int32_t apart, int32_t blocks,
                              int narrow)
{
    (void)apart, (void)narrow;
#ifdef TA_KERNELS_AVX512
    if (TA_HAS_AVX512) {
        ta_s8_tile_avx512(rows, sums, start, step, panel, depth, w, TA_S8_HALF_LINE, blocks);
        return;
    }
#endif
#ifdef TA_KERNELS_AVX_VNNI
    if (TA_HAS_AVX_VNNI) {
        ta_s8_tile_vnni(rows, sums, start, step, panel, depth, w, TA_S8_HALF_LINE, blocks);
        return;
    }
#endif
#ifdef TA_KERNELS_X86
    if (TA_HAS_AVX2) {
        ta_s8_tile_avx2(rows, sums, start, step, panel + TA_S8_BEHIND, depth, w, blocks);
        return;
    }
#endif
    for (int32_t block = 0; block < blocks; ++block, sums += TA_S8_UNIT, start += TA_S8_UNIT, w += TA_S8_HALF_LINE) {
#ifdef TA_KERNELS_X86
        ta_s8_tile_sse2(rows, sums, start, step, panel + TA_S8_BEHIND, depth, w);
#else
        for (int32_t r = 0; r < rows; ++r) {
            ta_s8_tile_portable(sums + r * TA_S8_OUTPUTS, start + r * step, panel + r * TA_S8_PANEL, depth, w);
        }
#endif
    }
}

#endif
