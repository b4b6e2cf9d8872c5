/* Rows of the tile of `s8_fours.h` with the long products of NEON, of 16 bits; `s8_fours_neon.h` includes this file.
 *
 * Products of four k and of the next four are added in 16 bits, where no weight is -128, and SADALP adds two lanes to
 * one: so a sum is in two lanes until its depth is over. Accumulators are named, not elements of arrays, so that no
 * compiler keeps them in memory.
 */
#ifndef TA_KERNELS_S8_FOURS_LONG_H
#define TA_KERNELS_S8_FOURS_LONG_H

#ifndef TA_KERNELS_DOT
#define TA_S8_AT_ONCE 2 /* rows */
#define TA_S8_MINDS 1   /* whether -128 is a weight */

/* The cells of row `r`, and its sums before its products and after them. */
#define TA_S8_BEGIN_FOUR(a, b, at)                           \
    int32x4_t a = vzip1q_s32(vld1q_s32(at), vdupq_n_s32(0)); \
    int32x4_t b = vzip2q_s32(vld1q_s32(at), vdupq_n_s32(0))
#define TA_S8_BEGIN(r)                                     \
    const ta_s8_cell *p##r = x + (r) * next;               \
    TA_S8_BEGIN_FOUR(a##r, b##r, start);                   \
    TA_S8_BEGIN_FOUR(c##r, d##r, start + 4);               \
    TA_S8_BEGIN_FOUR(e##r, f##r, start + (both ? 8 : 0));  \
    TA_S8_BEGIN_FOUR(g##r, h##r, start + (both ? 12 : 0)); \
    start = ta_s8_start_behind(start, step)
#define TA_S8_SUMS(r) \
    vpaddq_s32(a##r, b##r), vpaddq_s32(c##r, d##r), vpaddq_s32(e##r, f##r), vpaddq_s32(g##r, h##r)
#define TA_S8_STORE(r) ta_s8_store_neon(both, sink, r, TA_S8_SUMS(r))
#define TA_S8_BYTES(r) ta_s8_bytes_neon(how, both, &scale, TA_S8_SUMS(r))

/* Eight cells of row `r`, or four. */
#define TA_S8_FEW_CELLS(r)                   \
    int8x16_t x##r = ta_s8_four_cells(p##r); \
    p##r += 4
#define TA_S8_CELLS(r)                       \
    TA_S8_FEW_CELLS(r);                      \
    int8x16_t y##r = ta_s8_four_cells(p##r); \
    p##r += 4

/* Four outputs: cells `x` with weights `w`, or these and `y` with `v`. */
#define TA_S8_ONCE(a, b, x, w)                                        \
    do {                                                              \
        a = vpadalq_s16(a, vmull_s8(vget_low_s8(w), vget_low_s8(x))); \
        b = vpadalq_s16(b, vmull_high_s8(w, x));                      \
    } while (0)
#define TA_S8_TWICE(a, b, x, w, y, v)                                                                \
    do {                                                                                             \
        if (narrow) {                                                                                \
            const int16x8_t low_ = vmull_s8(vget_low_s8(w), vget_low_s8(x));                         \
            a = vpadalq_s16(a, vmlal_s8(low_, vget_low_s8(v), vget_low_s8(y)));                      \
            b = vpadalq_s16(b, vmlal_high_s8(vmull_high_s8(w, x), v, y));                            \
        } else {                                                                                     \
            TA_S8_ONCE(a, b, x, w);                                                                  \
            TA_S8_ONCE(a, b, y, v);                                                                  \
        }                                                                                            \
    } while (0)
/* Products after it wait for sums before it: compilers that mix them keep sums in memory. */
#define TA_S8_SETTLE(x, y, a, b, c, d) __asm__("" : "+w"(x), "+w"(y), "+w"(a), "+w"(b), "+w"(c), "+w"(d))

/* Four k of 8 outputs of row `r`, and eight: of weights `wa`, or the next 8 outputs of weights `va`. */
#define TA_S8_FOUR(r)                                  \
    do {                                               \
        TA_S8_ONCE(a##r, b##r, x##r, wa.val[0]);       \
        TA_S8_ONCE(c##r, d##r, x##r, wa.val[1]);       \
        if (both) {                                    \
            TA_S8_ONCE(e##r, f##r, x##r, va.val[0]);   \
            TA_S8_ONCE(g##r, h##r, x##r, va.val[1]);   \
        }                                              \
    } while (0)
#define TA_S8_EIGHT(r)                                             \
    do {                                                           \
        TA_S8_TWICE(a##r, b##r, x##r, wa.val[0], y##r, wa.val[2]); \
        TA_S8_TWICE(c##r, d##r, x##r, wa.val[1], y##r, wa.val[3]); \
        TA_S8_SETTLE(x##r, y##r, a##r, b##r, c##r, d##r);          \
    } while (0)
#define TA_S8_NEXT_EIGHT(r)                                        \
    do {                                                           \
        TA_S8_TWICE(e##r, f##r, x##r, va.val[0], y##r, va.val[2]); \
        TA_S8_TWICE(g##r, h##r, x##r, va.val[1], y##r, va.val[3]); \
        TA_S8_SETTLE(x##r, y##r, e##r, f##r, g##r, h##r);          \
    } while (0)

/* One row; `w` are the weights of 8 outputs, `v` those of 8 more, or the same. */
TA_NEON_PART void ta_s8_tile_1_neon(int both, int narrow, int lined, int how, const ta_s8_sink *sink,
                                    const int32_t *start, const ta_s8_cell *x, const ta_s8_runs *runs, const int8_t *w,
                                    const int8_t *v)
{
    const int32_t step = 0, next = 0;
    TA_S8_BEGIN(0);
    for (int32_t run = lined ? runs->count : 1; run > 0; --run) {
        int32_t depth = runs->length;
        for (; depth >= 8; depth -= 8, w += 64, v += 64) {
            const int8x16x4_t wa = vld1q_s8_x4(w);
            TA_S8_CELLS(0);
            TA_S8_EIGHT(0);
            if (both) {
                const int8x16x4_t va = vld1q_s8_x4(v);
                TA_S8_NEXT_EIGHT(0);
            }
        }
        if (depth > 0) {
            const int8x16x2_t wa = vld1q_s8_x2(w), va = vld1q_s8_x2(v);
            TA_S8_FEW_CELLS(0);
            TA_S8_FOUR(0);
            w += 32, v += 32;
        }
        if (lined) {
            p0 += runs->gap;
        }
    }
    if (how == TA_SCALE_NOT) {
        TA_S8_STORE(0);
    } else {
        const ta_s8_sixteen scale = ta_s8_scale_behind(sink);
        ta_s8_put_1_neon(both, sink, &scale, 0, TA_S8_BYTES(0));
    }
}

/* Two rows. */
TA_NEON_PART void ta_s8_tile_few_neon(int both, int narrow, int lined, int how, const ta_s8_sink *sink,
                                      const int32_t *start, int32_t step, const ta_s8_cell *x, int32_t next,
                                      const ta_s8_runs *runs, const int8_t *w, const int8_t *v)
{
    TA_S8_BEGIN(0);
    TA_S8_BEGIN(1);
    for (int32_t run = lined ? runs->count : 1; run > 0; --run) {
        int32_t depth = runs->length;
        for (; depth >= 8; depth -= 8, w += 64, v += 64) {
            const int8x16x4_t wa = vld1q_s8_x4(w);
            TA_S8_CELLS(0);
            TA_S8_CELLS(1);
            TA_S8_EIGHT(0);
            TA_S8_EIGHT(1);
            if (both) {
                const int8x16x4_t va = vld1q_s8_x4(v);
                TA_S8_NEXT_EIGHT(0);
                TA_S8_NEXT_EIGHT(1);
            }
        }
        if (depth > 0) {
            const int8x16x2_t wa = vld1q_s8_x2(w), va = vld1q_s8_x2(v);
            TA_S8_FEW_CELLS(0);
            TA_S8_FEW_CELLS(1);
            TA_S8_FOUR(0);
            TA_S8_FOUR(1);
            w += 32, v += 32;
        }
        if (lined) {
            p0 += runs->gap, p1 += runs->gap;
        }
    }
    if (how == TA_SCALE_NOT) {
        TA_S8_STORE(0);
        TA_S8_STORE(1);
    } else {
        const ta_s8_sixteen scale = ta_s8_scale_behind(sink);
        const int8x16_t one = TA_S8_BYTES(0), two = TA_S8_BYTES(1);
        ta_s8_put_1_neon(both, sink, &scale, 0, one);
        ta_s8_put_1_neon(both, sink, &scale, 1, two);
    }
}
#endif

#endif
