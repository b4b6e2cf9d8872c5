/* The tile of `s8_pairs.h` for NEON, with and without dot product; `s8_pairs.h` includes this file. Cells are int8.
 *
 * SDOT takes four k of an output: those of two pairs, which ZIP brings together. Without it two products of a lane are
 * added in 16 bits, where no weight is -128, and SADALP adds two lanes, the k of a pair, to a sum; with other weights
 * pairs are taken apart and widened. Accumulators are named, not elements of arrays, so that no compiler keeps them in
 * memory.
 */
#ifndef TA_KERNELS_S8_PAIRS_NEON_H
#define TA_KERNELS_S8_PAIRS_NEON_H

#ifdef TA_KERNELS_NEON
#ifdef TA_KERNELS_DOT
#define TA_S8_STEP 16
typedef int8x16_t ta_s8_cells;

static inline ta_s8_cells ta_s8_cells_at(const ta_s8_cell *x)
{
    return vld1q_s8(x);
}

/* Four k of 8 outputs, from number 4 * `part` on, of the rows that ROWS names. */
#define TA_S8_PART(ROWS, part)                                                             \
    do {                                                                                   \
        const int16x8_t even_ = vreinterpretq_s16_s8(vld1q_s8(w + 32 * (part)));           \
        const int16x8_t odd_ = vreinterpretq_s16_s8(vld1q_s8(w + 32 * (part) + 16));       \
        const int8x16_t low_ = vreinterpretq_s8_s16(vzip1q_s16(even_, odd_));              \
        const int8x16_t high_ = vreinterpretq_s8_s16(vzip2q_s16(even_, odd_));             \
        ROWS(part);                                                                        \
    } while (0)
#define TA_S8_ROW(a, b, x, part)                   \
    a = vdotq_laneq_s32(a, low_, x, part);         \
    b = vdotq_laneq_s32(b, high_, x, part)
#else
#define TA_S8_STEP 8
typedef int16x8_t ta_s8_cells;

static inline ta_s8_cells ta_s8_cells_at(const ta_s8_cell *x)
{
    return vmovl_s8(vld1_s8(x));
}

/* Two k of 8 outputs, from number 2 * `part` on, of the rows that ROWS names. */
#define TA_S8_PART(ROWS, part)                                                                          \
    do {                                                                                                \
        const int8x8x2_t two_ = vld2_s8(w + 16 * (part));                                               \
        const int16x8_t even_ = vmovl_s8(two_.val[0]), odd_ = vmovl_s8(two_.val[1]);                    \
        ROWS(part);                                                                                     \
    } while (0)
#define TA_S8_ROW(a, b, x, part)                                               \
    a = vmlal_laneq_s16(a, vget_low_s16(even_), x, 2 * (part));                \
    b = vmlal_high_laneq_s16(b, even_, x, 2 * (part));                         \
    a = vmlal_laneq_s16(a, vget_low_s16(odd_), x, 2 * (part) + 1);             \
    b = vmlal_high_laneq_s16(b, odd_, x, 2 * (part) + 1)
#endif
#define TA_S8_STEP_OF(ROWS) \
    TA_S8_PART(ROWS, 0);    \
    TA_S8_PART(ROWS, 1);    \
    TA_S8_PART(ROWS, 2);    \
    TA_S8_PART(ROWS, 3)
#define TA_S8_ROWS_1(part) TA_S8_ROW(a0, b0, x0, part)
#define TA_S8_ROWS_4(part)        \
    TA_S8_ROW(a0, b0, x0, part);  \
    TA_S8_ROW(a1, b1, x1, part);  \
    TA_S8_ROW(a2, b2, x2, part);  \
    TA_S8_ROW(a3, b3, x3, part)

/* The rest of the depth, for one row of a block: `depth` is even. */
static inline void ta_s8_rest_neon(int32_t *sums, int32x4_t a, int32x4_t b, const ta_s8_cell *x, int32_t depth,
                                   const int8_t *w)
{
    for (; depth > 0; depth -= 2, x += 2, w += 16) {
        const int8x8x2_t two = vld2_s8(w);
        const int16x8_t even = vmull_s8(two.val[0], vdup_n_s8(x[0])), odd = vmull_s8(two.val[1], vdup_n_s8(x[1]));
        a = vaddq_s32(a, vaddl_s16(vget_low_s16(even), vget_low_s16(odd)));
        b = vaddq_s32(b, vaddl_high_s16(even, odd));
    }
    vst1q_s32(sums, a);
    vst1q_s32(sums + 4, b);
}

/* One row, 8 outputs. */
static inline void ta_s8_tile_1_vector(int32_t *sums, const int32_t *start, const ta_s8_cell *x, int32_t depth,
                                       const int8_t *w)
{
    int32x4_t a0 = vld1q_s32(start), b0 = vld1q_s32(start + 4);
    for (; depth >= TA_S8_STEP; depth -= TA_S8_STEP, x += TA_S8_STEP, w += 8 * TA_S8_STEP) {
        const ta_s8_cells x0 = ta_s8_cells_at(x);
        TA_S8_STEP_OF(TA_S8_ROWS_1);
    }
    ta_s8_rest_neon(sums, a0, b0, x, depth, w);
}

/* Four rows, 8 outputs. */
static inline void ta_s8_tile_4_vector(int32_t *sums, const int32_t *start, int32_t step, const ta_s8_cell *x,
                                       int32_t depth, const int8_t *w)
{
    const int32_t *start1 = start + step, *start2 = start1 + step, *start3 = start2 + step;
    int32x4_t a0 = vld1q_s32(start), b0 = vld1q_s32(start + 4);
    int32x4_t a1 = vld1q_s32(start1), b1 = vld1q_s32(start1 + 4);
    int32x4_t a2 = vld1q_s32(start2), b2 = vld1q_s32(start2 + 4);
    int32x4_t a3 = vld1q_s32(start3), b3 = vld1q_s32(start3 + 4);
    for (; depth >= TA_S8_STEP; depth -= TA_S8_STEP, x += TA_S8_STEP, w += 8 * TA_S8_STEP) {
        const ta_s8_cells x0 = ta_s8_cells_at(x), x1 = ta_s8_cells_at(x + TA_S8_PANEL);
        const ta_s8_cells x2 = ta_s8_cells_at(x + 2 * TA_S8_PANEL), x3 = ta_s8_cells_at(x + 3 * TA_S8_PANEL);
        TA_S8_STEP_OF(TA_S8_ROWS_4);
    }
    ta_s8_rest_neon(sums, a0, b0, x, depth, w);
    ta_s8_rest_neon(sums + TA_S8_OUTPUTS, a1, b1, x + TA_S8_PANEL, depth, w);
    ta_s8_rest_neon(sums + 2 * TA_S8_OUTPUTS, a2, b2, x + 2 * TA_S8_PANEL, depth, w);
    ta_s8_rest_neon(sums + 3 * TA_S8_OUTPUTS, a3, b3, x + 3 * TA_S8_PANEL, depth, w);
}

#ifndef TA_KERNELS_DOT
/* Four k of 8 outputs: two pairs of x and of weights. */
#define TA_S8_FOUR(a, b, x0, x1, w0, w1)                                                                     \
    do {                                                                                                     \
        const int16x8_t low_ =                                                                               \
            vmlal_s8(vmull_s8(vget_low_s8(w0), vget_low_s8(x0)), vget_low_s8(w1), vget_low_s8(x1));          \
        const int16x8_t high_ = vmlal_high_s8(vmull_high_s8(w0, x0), w1, x1);                                \
        a = vpadalq_s16(a, low_);                                                                            \
        b = vpadalq_s16(b, high_);                                                                           \
    } while (0)

/* Pairs number `pair` and the next one of a row's `pairs`: 16 outputs, or with `both` 0 8. */
#define TA_S8_FOUR_OF_ROW(a, b, c, d, pairs, pair)                                                           \
    do {                                                                                                     \
        const int8x16_t x0_ = vreinterpretq_s8_s16(vdupq_lane_s16(pairs, pair));                             \
        const int8x16_t x1_ = vreinterpretq_s8_s16(vdupq_lane_s16(pairs, (pair) + 1));                       \
        TA_S8_FOUR(a, b, x0_, x1_, w0_, w1_);                                                                \
        if (both) {                                                                                          \
            TA_S8_FOUR(c, d, x0_, x1_, v0_, v1_);                                                            \
        }                                                                                                    \
    } while (0)
#define TA_S8_FOUR_OF_1(pair, w, v)                                                                          \
    do {                                                                                                     \
        const int8x16_t w0_ = vld1q_s8((w) + 16 * (pair)), w1_ = vld1q_s8((w) + 16 * (pair) + 16);           \
        const int8x16_t v0_ = vld1q_s8((v) + 16 * (pair)), v1_ = vld1q_s8((v) + 16 * (pair) + 16);           \
        TA_S8_FOUR_OF_ROW(a0, b0, c0, d0, p0, (pair) % 4);                                                   \
    } while (0)
#define TA_S8_FOUR_OF_4(pair)                                                                                \
    do {                                                                                                     \
        const int8x16_t w0_ = vld1q_s8(w + 16 * (pair)), w1_ = vld1q_s8(w + 16 * (pair) + 16);               \
        const int8x16_t v0_ = vld1q_s8(v + 16 * (pair)), v1_ = vld1q_s8(v + 16 * (pair) + 16);               \
        TA_S8_FOUR_OF_ROW(a0, b0, c0, d0, p0, pair);                                                         \
        TA_S8_FOUR_OF_ROW(a1, b1, c1, d1, p1, pair);                                                         \
        TA_S8_FOUR_OF_ROW(a2, b2, c2, d2, p2, pair);                                                         \
        TA_S8_FOUR_OF_ROW(a3, b3, c3, d3, p3, pair);                                                         \
    } while (0)

/* Four pairs of a row, or two. They stay in a register: compilers would load each again. */
TA_NEON_PART int16x4_t ta_s8_four_pairs(const ta_s8_cell *x)
{
    int16x4_t pairs = vreinterpret_s16_s8(vld1_s8(x));
    __asm__("" : "+w"(pairs));
    return pairs;
}

TA_NEON_PART int16x4_t ta_s8_two_pairs(const ta_s8_cell *x)
{
    uint32_t four;
    (void)memcpy(&four, x, sizeof four);
    return vcreate_s16(four);
}

/* One row; `v` are the weights of the second 8 outputs, or those of the first. */
TA_NEON_PART void ta_s8_narrow_1_neon(int both, int32_t *sums, const int32_t *start, const ta_s8_cell *x,
                                      int32_t depth, const int8_t *w, const int8_t *v)
{
    int32x4_t a0 = vld1q_s32(start), b0 = vld1q_s32(start + 4);
    int32x4_t c0 = both ? vld1q_s32(start + 8) : a0, d0 = both ? vld1q_s32(start + 12) : b0;
    int32_t k = 0;
    for (; k + 16 <= depth; k += 16) {
        int16x4_t p0 = ta_s8_four_pairs(x + k);
        TA_S8_FOUR_OF_1(0, w + 8 * k, v + 8 * k);
        TA_S8_FOUR_OF_1(2, w + 8 * k, v + 8 * k);
        p0 = ta_s8_four_pairs(x + k + 8);
        TA_S8_FOUR_OF_1(4, w + 8 * k, v + 8 * k);
        TA_S8_FOUR_OF_1(6, w + 8 * k, v + 8 * k);
    }
    for (; k + 4 <= depth; k += 4) {
        const int16x4_t p0 = ta_s8_two_pairs(x + k);
        TA_S8_FOUR_OF_1(0, w + 8 * k, v + 8 * k);
    }
    ta_s8_rest_neon(sums, a0, b0, x + k, depth - k, w + 8 * k);
    if (both) {
        ta_s8_rest_neon(sums + 8, c0, d0, x + k, depth - k, v + 8 * k);
    }
}

/* Four rows. */
TA_NEON_PART void ta_s8_narrow_4_neon(int both, int32_t *sums, const int32_t *start, int32_t step,
                                      const ta_s8_cell *x, int32_t depth, const int8_t *w, const int8_t *v)
{
    const int32_t *start1 = start + step, *start2 = start1 + step, *start3 = start2 + step;
    const ta_s8_cell *x1 = x + TA_S8_PANEL, *x2 = x1 + TA_S8_PANEL, *x3 = x2 + TA_S8_PANEL;
    int32x4_t a0 = vld1q_s32(start), b0 = vld1q_s32(start + 4), a1 = vld1q_s32(start1), b1 = vld1q_s32(start1 + 4);
    int32x4_t a2 = vld1q_s32(start2), b2 = vld1q_s32(start2 + 4), a3 = vld1q_s32(start3), b3 = vld1q_s32(start3 + 4);
    int32x4_t c0 = a0, d0 = b0, c1 = a1, d1 = b1, c2 = a2, d2 = b2, c3 = a3, d3 = b3;
    if (both) {
        c0 = vld1q_s32(start + 8), d0 = vld1q_s32(start + 12), c1 = vld1q_s32(start1 + 8), d1 = vld1q_s32(start1 + 12);
        c2 = vld1q_s32(start2 + 8), d2 = vld1q_s32(start2 + 12);
        c3 = vld1q_s32(start3 + 8), d3 = vld1q_s32(start3 + 12);
    }
    for (; depth >= 8; depth -= 8, x += 8, x1 += 8, x2 += 8, x3 += 8, w += 64, v += 64) {
        const int16x4_t p0 = ta_s8_four_pairs(x), p1 = ta_s8_four_pairs(x1);
        const int16x4_t p2 = ta_s8_four_pairs(x2), p3 = ta_s8_four_pairs(x3);
        TA_S8_FOUR_OF_4(0);
        TA_S8_FOUR_OF_4(2);
    }
    if (depth >= 4) {
        const int16x4_t p0 = ta_s8_two_pairs(x), p1 = ta_s8_two_pairs(x1);
        const int16x4_t p2 = ta_s8_two_pairs(x2), p3 = ta_s8_two_pairs(x3);
        TA_S8_FOUR_OF_4(0);
        depth -= 4, x += 4, x1 += 4, x2 += 4, x3 += 4, w += 32, v += 32;
    }
    ta_s8_rest_neon(sums, a0, b0, x, depth, w);
    ta_s8_rest_neon(sums + TA_S8_OUTPUTS, a1, b1, x1, depth, w);
    ta_s8_rest_neon(sums + 2 * TA_S8_OUTPUTS, a2, b2, x2, depth, w);
    ta_s8_rest_neon(sums + 3 * TA_S8_OUTPUTS, a3, b3, x3, depth, w);
    if (both) {
        sums += 8;
        ta_s8_rest_neon(sums, c0, d0, x, depth, v);
        ta_s8_rest_neon(sums + TA_S8_OUTPUTS, c1, d1, x1, depth, v);
        ta_s8_rest_neon(sums + 2 * TA_S8_OUTPUTS, c2, d2, x2, depth, v);
        ta_s8_rest_neon(sums + 3 * TA_S8_OUTPUTS, c3, d3, x3, depth, v);
    }
}

/* All rows of one block of weights, or of two; `both` says which. */
TA_NEON_PART void ta_s8_narrow_rows_neon(int both, int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                         const ta_s8_cell *panel, int32_t depth, const int8_t *w, const int8_t *v)
{
    int32_t r = 0;
    for (; r + 4 <= rows; r += 4, sums += 4 * TA_S8_OUTPUTS, start += 4 * step, panel += 4 * TA_S8_PANEL) {
        ta_s8_narrow_4_neon(both, sums, start, step, panel, depth, w, v);
    }
    for (; r < rows; ++r, sums += TA_S8_OUTPUTS, start += step, panel += TA_S8_PANEL) {
        ta_s8_narrow_1_neon(both, sums, start, panel, depth, w, v);
    }
}

/* The tile with weights none of which is -128. */
static inline void ta_s8_narrow_neon(int32_t rows, int32_t *sums, const int32_t *start, int32_t step,
                                     const ta_s8_cell *panel, int32_t depth, const int8_t *w, int32_t apart,
                                     int32_t blocks)
{
    if (blocks == 2) {
        ta_s8_narrow_rows_neon(1, rows, sums, start, step, panel, depth, w, w + apart);
    } else {
        ta_s8_narrow_rows_neon(0, rows, sums, start, step, panel, depth, w, w);
    }
}
#endif
#endif

#endif
