/* Sums of products of 8-bit values, weights packed in fours: the layout `fours`. The contract of a layout is in
 * `s8_pairs.h`.
 *
 * For N outputs and K products each, weights are int8 w[N / 8][K / 4][8][4], both rounded up, zeros where there is
 * nothing: four products of four outputs are one vector, and what SDOT adds to four sums.
 *
 * Forms: portable, NEON with and without dot product and i8mm (`s8_fours_neon.h`).
 */
#ifndef TA_KERNELS_S8_FOURS_H
#define TA_KERNELS_S8_FOURS_H

#include <stdint.h>
#include <string.h>

#include "kernels/neon.h"

#define TA_S8_LAYOUT "fours"
#define TA_S8_BLOCK 8
#define TA_S8_DEPTH 4
#define TA_S8_OUTPUTS 16
#define TA_S8_STRIDED
#ifdef TA_KERNELS_NEON
#define TA_S8_ROWS 8
#define TA_S8_PANEL 2048
#define TA_S8_RESIDENT 131072
#define TA_S8_MORE 16
#define TA_S8_FUSED
#else
#define TA_S8_ROWS 2
#define TA_S8_PANEL 128
#define TA_S8_RESIDENT 16384
#define TA_S8_MORE 0
#endif

typedef int8_t ta_s8_cell;

#include "kernels/s8_bytes.h"
#include "kernels/s8_fours_neon.h"

#ifndef TA_KERNELS_NEON
/* One row, 8 outputs. */
static inline void ta_s8_tile_portable(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                       const int8_t *w)
{
    int32_t acc[TA_S8_BLOCK];
    (void)memcpy(acc, start, sizeof acc);
    for (int32_t k = 0; k < depth; k += 4, w += 4 * TA_S8_BLOCK) {
        for (int32_t n = 0; n < TA_S8_BLOCK; ++n) {
            acc[n] += x[k] * w[4 * n] + x[k + 1] * w[4 * n + 1];
            acc[n] += x[k + 2] * w[4 * n + 2] + x[k + 3] * w[4 * n + 3];
        }
    }
    (void)memcpy(sums, acc, sizeof acc);
}
#endif

/* `ta_s8_tile` for rows that are `next` cells apart. */
static inline void ta_s8_tile_in_place(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                       const ta_s8_cell *cells, int32_t next, int32_t depth, const int8_t *w,
                                       int32_t apart, int32_t blocks, int narrow)
{
#ifdef TA_KERNELS_NEON
    const ta_s8_runs runs = {1, depth, 0};
    const ta_s8_sink sink = {sums, NULL, 0, NULL};
    ta_s8_tile_neon(0, TA_SCALE_NOT, rows, &sink, start, step, cells, next, &runs, w, apart, blocks, narrow,
                    NULL);
#else
    (void)narrow;
    for (int32_t r = 0; r < rows; ++r) {
        for (int32_t block = 0; block < blocks; ++block) {
            ta_s8_tile_portable(sums + r * TA_S8_OUTPUTS + block * TA_S8_BLOCK, start + r * step + block * TA_S8_BLOCK,
                                cells + r * next, depth, w + block * apart);
        }
    }
#endif
}

static inline void ta_s8_tile(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                              const ta_s8_cell *panel, int32_t depth, const int8_t *w, int32_t apart,
                              int32_t blocks, int narrow)
{
    ta_s8_tile_in_place(rows, sums, start, step, panel, TA_S8_PANEL, depth, w, apart, blocks, narrow);
}

#endif
