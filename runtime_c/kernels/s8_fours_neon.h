/* The tile of `s8_fours.h` for NEON; `s8_fours.h` includes this file. With dot product rows are summed by
 * `s8_fours_dot.h`, and where there is i8mm many of them by `s8_fours_i8mm.h`; else by `s8_fours_long.h`. Sums are
 * stored, or scaled in the registers where they were added.
 */
#ifndef TA_KERNELS_S8_FOURS_NEON_H
#define TA_KERNELS_S8_FOURS_NEON_H

#include "kernels/s8_scale.h"

#ifdef TA_KERNELS_NEON
/* Four cells of a row, for four outputs. */
TA_NEON_PART int8x16_t ta_s8_four_cells(const ta_s8_cell *x)
{
    int32_t four;
    (void)memcpy(&four, x, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

/* The cells of a row: `count` runs of `length` cells, a multiple of 4, with `gap` cells between them. */
typedef struct {
    int32_t count, length, gap;
} ta_s8_runs;

#include "kernels/s8_fours_dot.h"
#include "kernels/s8_fours_i8mm.h"
#include "kernels/s8_fours_long.h"

/* All rows of one block of weights, or of two; `both` says which. With `narrow` no weight is -128. */
TA_NEON_PART void ta_s8_rows_neon(int both, int narrow, int lined, int how, int32_t rows, const ta_s8_sink *sink,
                                  const int32_t *start, int32_t step, const ta_s8_cell *cells, int32_t next,
                                  const ta_s8_runs *runs, const int8_t *w, const int8_t *v)
{
    const int32_t some = TA_S8_AT_ONCE;
    ta_s8_sink to = *sink;
    int32_t r = rows;
    for (; r >= some; r -= some, start += some * step, cells += some * next) {
        ta_s8_tile_few_neon(both, narrow, lined, how, &to, start, step, cells, next, runs, w, v);
        ta_s8_sink_behind(how, &to, some);
    }
    for (; r > 0; --r, start += step, cells += next) {
        ta_s8_tile_1_neon(both, narrow, lined, how, &to, start, cells, runs, w, v);
        ta_s8_sink_behind(how, &to, 1);
    }
}

/* The tile, for rows that are `next` cells apart, each of `runs`; with `lined` 0 of one run. `eights` is NULL where
 * weights were not arranged; with it `step` is 0. */
TA_NEON_PART void ta_s8_tile_neon(int lined, int how, int32_t rows, const ta_s8_sink *sink, const int32_t *start,
                                  int32_t step, const ta_s8_cell *cells, int32_t next, const ta_s8_runs *runs,
                                  const int8_t *w, int32_t apart, int32_t blocks, int narrow,
                                  const ta_s8_eights *eights)
{
    const int8_t *const v = blocks == 2 ? w + apart : w;
#ifdef TA_KERNELS_I8MM
    if (eights != NULL) {
        if (blocks == 2) {
            ta_s8_rows_i8mm(1, lined, how, rows, sink, start, cells, next, runs, w, v, eights);
        } else {
            ta_s8_rows_i8mm(0, lined, how, rows, sink, start, cells, next, runs, w, v, eights);
        }
        return;
    }
#else
    (void)eights;
#endif
    if (TA_S8_MINDS && !narrow) {
        if (blocks == 2) {
            ta_s8_rows_neon(1, 0, lined, how, rows, sink, start, step, cells, next, runs, w, v);
        } else {
            ta_s8_rows_neon(0, 0, lined, how, rows, sink, start, step, cells, next, runs, w, v);
        }
    } else if (blocks == 2) {
        ta_s8_rows_neon(1, 1, lined, how, rows, sink, start, step, cells, next, runs, w, v);
    } else {
        ta_s8_rows_neon(0, 1, lined, how, rows, sink, start, step, cells, next, runs, w, v);
    }
}
#endif

#endif
