/* Rows of the tile of `s8_fours.h` with the dot product of NEON, which adds four products to a sum; `s8_fours_neon.h`
 * includes this file. Accumulators are named, not elements of arrays, so that no compiler keeps them in memory.
 */
#ifndef TA_KERNELS_S8_FOURS_DOT_H
#define TA_KERNELS_S8_FOURS_DOT_H

#ifdef TA_KERNELS_DOT
#define TA_S8_AT_ONCE 4 /* rows */
#define TA_S8_MINDS 0 /* whether -128 is a weight */

/* The cells of row `r`, and its sums before its products and after them. */
#define TA_S8_BEGIN(r)                                    \
    const ta_s8_cell *p##r = x + (r) * next;              \
    int32x4_t a##r = vld1q_s32(start);                    \
    int32x4_t b##r = vld1q_s32(start + 4);                \
    int32x4_t c##r = both ? vld1q_s32(start + 8) : a##r;  \
    int32x4_t d##r = both ? vld1q_s32(start + 12) : b##r; \
    start = ta_s8_start_behind(start, step)
#define TA_S8_END(r)                                          \
    do {                                                      \
        vst1q_s32(sums + (r) * TA_S8_OUTPUTS, a##r);          \
        vst1q_s32(sums + (r) * TA_S8_OUTPUTS + 4, b##r);      \
        if (both) {                                           \
            vst1q_s32(sums + (r) * TA_S8_OUTPUTS + 8, c##r);  \
            vst1q_s32(sums + (r) * TA_S8_OUTPUTS + 12, d##r); \
        }                                                     \
    } while (0)

/* Sixteen cells of row `r`, or four. */
#define TA_S8_CELLS(r)                     \
    const int8x16_t x##r = vld1q_s8(p##r); \
    p##r += 16
#define TA_S8_FEW_CELLS(r)                         \
    const int8x16_t x##r = ta_s8_four_cells(p##r); \
    p##r += 4

/* Four k of a row, number 4 * `part` of its cells: weights `n` and the next of each block. */
#define TA_S8_FOUR(r, part, n)                                      \
    do {                                                            \
        a##r = vdotq_laneq_s32(a##r, wa.val[n], x##r, part);        \
        b##r = vdotq_laneq_s32(b##r, wa.val[(n) + 1], x##r, part);  \
        if (both) {                                                 \
            c##r = vdotq_laneq_s32(c##r, va.val[n], x##r, part);    \
            d##r = vdotq_laneq_s32(d##r, va.val[(n) + 1], x##r, part); \
        }                                                           \
    } while (0)
#define TA_S8_EIGHT(r, part)      \
    do {                          \
        TA_S8_FOUR(r, part, 0);       \
        TA_S8_FOUR(r, (part) + 1, 2); \
    } while (0)

/* One row; `w` are the weights of 8 outputs, `v` those of 8 more, or the same. */
TA_NEON_PART void ta_s8_tile_1_neon(int both, int narrow, int lined, int32_t *sums, const int32_t *start,
                                    const ta_s8_cell *x, const ta_s8_runs *runs, const int8_t *w, const int8_t *v)
{
    const int32_t step = 0, next = 0;
    (void)narrow;
    TA_S8_BEGIN(0);
    for (int32_t run = lined ? runs->count : 1; run > 0; --run) {
        int32_t depth = runs->length;
        for (; depth >= 16; depth -= 16, w += 64, v += 64) {
            int8x16x4_t wa = vld1q_s8_x4(w), va = vld1q_s8_x4(v);
            TA_S8_CELLS(0);
            TA_S8_EIGHT(0, 0);
            w += 64, v += 64;
            wa = vld1q_s8_x4(w), va = vld1q_s8_x4(v);
            TA_S8_EIGHT(0, 2);
        }
        for (; depth > 0; depth -= 4, w += 32, v += 32) {
            const int8x16x2_t wa = vld1q_s8_x2(w), va = vld1q_s8_x2(v);
            TA_S8_FEW_CELLS(0);
            TA_S8_FOUR(0, 0, 0);
        }
        if (lined) {
            p0 += runs->gap;
        }
    }
    TA_S8_END(0);
}

/* Four rows. */
TA_NEON_PART void ta_s8_tile_few_neon(int both, int narrow, int lined, int32_t *sums, const int32_t *start,
                                      int32_t step, const ta_s8_cell *x, int32_t next, const ta_s8_runs *runs,
                                      const int8_t *w, const int8_t *v)
{
    (void)narrow;
    TA_S8_BEGIN(0);
    TA_S8_BEGIN(1);
    TA_S8_BEGIN(2);
    TA_S8_BEGIN(3);
    for (int32_t run = lined ? runs->count : 1; run > 0; --run) {
        int32_t depth = runs->length;
        for (; depth >= 16; depth -= 16, w += 64, v += 64) {
            int8x16x4_t wa = vld1q_s8_x4(w), va = vld1q_s8_x4(v);
            TA_S8_CELLS(0);
            TA_S8_CELLS(1);
            TA_S8_CELLS(2);
            TA_S8_CELLS(3);
            TA_S8_EIGHT(0, 0);
            TA_S8_EIGHT(1, 0);
            TA_S8_EIGHT(2, 0);
            TA_S8_EIGHT(3, 0);
            w += 64, v += 64;
            wa = vld1q_s8_x4(w), va = vld1q_s8_x4(v);
            TA_S8_EIGHT(0, 2);
            TA_S8_EIGHT(1, 2);
            TA_S8_EIGHT(2, 2);
            TA_S8_EIGHT(3, 2);
        }
        for (; depth > 0; depth -= 4, w += 32, v += 32) {
            const int8x16x2_t wa = vld1q_s8_x2(w), va = vld1q_s8_x2(v);
            TA_S8_FEW_CELLS(0);
            TA_S8_FEW_CELLS(1);
            TA_S8_FEW_CELLS(2);
            TA_S8_FEW_CELLS(3);
            TA_S8_FOUR(0, 0, 0);
            TA_S8_FOUR(1, 0, 0);
            TA_S8_FOUR(2, 0, 0);
            TA_S8_FOUR(3, 0, 0);
        }
        if (lined) {
            p0 += runs->gap, p1 += runs->gap, p2 += runs->gap, p3 += runs->gap;
        }
    }
    TA_S8_END(0);
    TA_S8_END(1);
    TA_S8_END(2);
    TA_S8_END(3);
}
#endif

#endif
