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
#define TA_S8_STORE(r) ta_s8_store_neon(both, sink, r, a##r, b##r, c##r, d##r)
#define TA_S8_BYTES(r) ta_s8_bytes_neon(how, both, &scale, a##r, b##r, c##r, d##r)

/* 32, 16, 8 or 4 cells of row `r`. */
#define TA_S8_CELLS_32(r)                    \
    const int8x16x2_t x##r = vld1q_s8_x2(p##r); \
    p##r += 32
#define TA_S8_CELLS_16(r)                  \
    const int8x16_t x##r = vld1q_s8(p##r); \
    p##r += 16
#define TA_S8_CELLS_8(r)                                            \
    const int8x16_t x##r = vcombine_s8(vld1_s8(p##r), vdup_n_s8(0)); \
    p##r += 8
#define TA_S8_CELLS_4(r)                           \
    const int8x16_t x##r = ta_s8_four_cells(p##r); \
    p##r += 4

/* Four k of row `r`, number 4 * `part` of `cells`, for sums `a` and `b`: weights `n` and the next of `from`. */
#define TA_S8_FOUR(a, b, r, from, cells, part, n)                       \
    do {                                                                \
        a##r = vdotq_laneq_s32(a##r, from.val[n], cells, part);         \
        b##r = vdotq_laneq_s32(b##r, from.val[(n) + 1], cells, part);   \
    } while (0)
#define TA_S8_EIGHT(a, b, r, from, cells, part)          \
    do {                                                 \
        TA_S8_FOUR(a, b, r, from, cells, part, 0);       \
        TA_S8_FOUR(a, b, r, from, cells, (part) + 1, 2); \
    } while (0)

/* One row; `w` are the weights of 8 outputs, `v` those of 8 more, or the same. */
#define TA_S8_EIGHT_OF_1(member, part)                          \
    do {                                                        \
        const int8x16x4_t wa = vld1q_s8_x4(w);                  \
        w += 64;                                                \
        TA_S8_EIGHT(a, b, 0, wa, x0 member, part);              \
        if (both) {                                             \
            const int8x16x4_t va = vld1q_s8_x4(v);              \
            v += 64;                                            \
            TA_S8_EIGHT(c, d, 0, va, x0 member, part);          \
        }                                                       \
    } while (0)
TA_NEON_PART void ta_s8_tile_1_neon(int both, int narrow, int lined, int how, const ta_s8_sink *sink,
                                    const int32_t *start, const ta_s8_cell *x, const ta_s8_runs *runs, const int8_t *w,
                                    const int8_t *v)
{
    const int32_t step = 0, next = 0;
    (void)narrow;
    TA_S8_BEGIN(0);
    for (int32_t run = lined ? runs->count : 1; run > 0; --run) {
        int32_t depth = runs->length;
        for (; depth >= 32; depth -= 32) {
            __asm__("" : "+r"(depth)); /* compilers would compare a place with the last one, and recompute the others */
            TA_S8_CELLS_32(0);
            TA_S8_EIGHT_OF_1(.val[0], 0);
            TA_S8_EIGHT_OF_1(.val[0], 2);
            TA_S8_EIGHT_OF_1(.val[1], 0);
            TA_S8_EIGHT_OF_1(.val[1], 2);
        }
        if ((depth & 16) != 0) {
            TA_S8_CELLS_16(0);
            TA_S8_EIGHT_OF_1(, 0);
            TA_S8_EIGHT_OF_1(, 2);
        }
        if ((depth & 8) != 0) {
            TA_S8_CELLS_8(0);
            TA_S8_EIGHT_OF_1(, 0);
        }
        if ((depth & 4) != 0) {
            TA_S8_CELLS_4(0);
            const int8x16x2_t wa = vld1q_s8_x2(w), va = vld1q_s8_x2(v);
            w += 32, v += 32;
            TA_S8_FOUR(a, b, 0, wa, x0, 0, 0);
            if (both) {
                TA_S8_FOUR(c, d, 0, va, x0, 0, 0);
            }
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

/* Four rows. What is loaded from `at` waits for the sums before it: compilers that load it earlier keep sums in memory. */
#define TA_S8_SETTLE(at, a, b) \
    __asm__("" : "+r"(at), "+w"(a##0), "+w"(b##0), "+w"(a##1), "+w"(b##1), "+w"(a##2), "+w"(b##2), "+w"(a##3), "+w"(b##3))
#define TA_S8_EIGHT_OF_4(member, part)                          \
    do {                                                        \
        const int8x16x4_t wa = vld1q_s8_x4(w);                  \
        w += 64;                                                \
        TA_S8_EIGHT(a, b, 0, wa, x0 member, part);              \
        TA_S8_EIGHT(a, b, 1, wa, x1 member, part);              \
        TA_S8_EIGHT(a, b, 2, wa, x2 member, part);              \
        TA_S8_EIGHT(a, b, 3, wa, x3 member, part);              \
        if (both) {                                             \
            TA_S8_SETTLE(v, a, b);                              \
            const int8x16x4_t va = vld1q_s8_x4(v);              \
            v += 64;                                            \
            TA_S8_EIGHT(c, d, 0, va, x0 member, part);          \
            TA_S8_EIGHT(c, d, 1, va, x1 member, part);          \
            TA_S8_EIGHT(c, d, 2, va, x2 member, part);          \
            TA_S8_EIGHT(c, d, 3, va, x3 member, part);          \
            TA_S8_SETTLE(w, c, d);                              \
        } else {                                                \
            TA_S8_SETTLE(w, a, b);                              \
        }                                                       \
    } while (0)
TA_NEON_PART void ta_s8_tile_few_neon(int both, int narrow, int lined, int how, const ta_s8_sink *sink,
                                      const int32_t *start, int32_t step, const ta_s8_cell *x, int32_t next,
                                      const ta_s8_runs *runs, const int8_t *w, const int8_t *v)
{
    (void)narrow;
    TA_S8_BEGIN(0);
    TA_S8_BEGIN(1);
    TA_S8_BEGIN(2);
    TA_S8_BEGIN(3);
    for (int32_t run = lined ? runs->count : 1; run > 0; --run) {
        int32_t depth = runs->length;
        for (; depth >= 32; depth -= 32) {
            __asm__("" : "+r"(depth)); /* compilers would compare a place with the last one, and recompute the others */
            TA_S8_CELLS_32(0);
            TA_S8_CELLS_32(1);
            TA_S8_CELLS_32(2);
            TA_S8_CELLS_32(3);
            TA_S8_EIGHT_OF_4(.val[0], 0);
            TA_S8_EIGHT_OF_4(.val[0], 2);
            TA_S8_EIGHT_OF_4(.val[1], 0);
            TA_S8_EIGHT_OF_4(.val[1], 2);
        }
        if ((depth & 16) != 0) {
            TA_S8_CELLS_16(0);
            TA_S8_CELLS_16(1);
            TA_S8_CELLS_16(2);
            TA_S8_CELLS_16(3);
            TA_S8_EIGHT_OF_4(, 0);
            TA_S8_EIGHT_OF_4(, 2);
        }
        if ((depth & 8) != 0) {
            TA_S8_CELLS_8(0);
            TA_S8_CELLS_8(1);
            TA_S8_CELLS_8(2);
            TA_S8_CELLS_8(3);
            TA_S8_EIGHT_OF_4(, 0);
        }
        if ((depth & 4) != 0) {
            TA_S8_CELLS_4(0);
            TA_S8_CELLS_4(1);
            TA_S8_CELLS_4(2);
            TA_S8_CELLS_4(3);
            const int8x16x2_t wa = vld1q_s8_x2(w), va = vld1q_s8_x2(v);
            w += 32, v += 32;
            TA_S8_FOUR(a, b, 0, wa, x0, 0, 0);
            TA_S8_FOUR(a, b, 1, wa, x1, 0, 0);
            TA_S8_FOUR(a, b, 2, wa, x2, 0, 0);
            TA_S8_FOUR(a, b, 3, wa, x3, 0, 0);
            if (both) {
                TA_S8_FOUR(c, d, 0, va, x0, 0, 0);
                TA_S8_FOUR(c, d, 1, va, x1, 0, 0);
                TA_S8_FOUR(c, d, 2, va, x2, 0, 0);
                TA_S8_FOUR(c, d, 3, va, x3, 0, 0);
            }
        }
        if (lined) {
            p0 += runs->gap, p1 += runs->gap, p2 += runs->gap, p3 += runs->gap;
        }
    }
    if (how == TA_SCALE_NOT) {
        TA_S8_STORE(0);
        TA_S8_STORE(1);
        TA_S8_STORE(2);
        TA_S8_STORE(3);
    } else {
        const ta_s8_sixteen scale = ta_s8_scale_behind(sink);
        ta_s8_put_4_neon(both, sink, &scale, 0, TA_S8_BYTES(0), TA_S8_BYTES(1), TA_S8_BYTES(2), TA_S8_BYTES(3));
    }
}
#endif

#endif
