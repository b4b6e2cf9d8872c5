/* Rows of the tile of `s8_fours.h` with the products of matrices of NEON's i8mm: SMMLA adds eight products to each of
 * four sums, those of two rows and two outputs; `s8_fours_neon.h` includes this file.
 *
 * Its weights are eight products of an output, then those of the next: they are arranged so once for many rows.
 * Accumulators are named, not elements of arrays, so that no compiler keeps them in memory.
 */
#ifndef TA_KERNELS_S8_FOURS_I8MM_H
#define TA_KERNELS_S8_FOURS_I8MM_H

#ifdef TA_KERNELS_I8MM
#define TA_S8_EIGHTS 2048 /* products of an output, at most */
#define TA_S8_MANY 8      /* rows for which weights are arranged, at least */

/* Weights of 16 outputs or 8 as SMMLA takes them, where the sums of two rows begin, and how they are scaled. */
typedef struct {
    int32_t starts[32], multiplier[32], up[32];
    int8_t weights[16 * TA_S8_EIGHTS];
} ta_s8_eights;

/* Eight products of 8 outputs: those of two outputs are a vector. With `half` 1 the last four products are 0. */
TA_NEON_PART int8_t *ta_s8_eight_as_i8mm(int half, int8_t *to, const int8_t *w)
{
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t a = vreinterpretq_s32_s8(vld1q_s8(w)), b = vreinterpretq_s32_s8(vld1q_s8(w + 16));
    const int32x4_t c = half ? zero : vreinterpretq_s32_s8(vld1q_s8(w + 32));
    const int32x4_t d = half ? zero : vreinterpretq_s32_s8(vld1q_s8(w + 48));
    vst1q_s8(to, vreinterpretq_s8_s32(vzip1q_s32(a, c)));
    vst1q_s8(to + 16, vreinterpretq_s8_s32(vzip2q_s32(a, c)));
    vst1q_s8(to + 32, vreinterpretq_s8_s32(vzip1q_s32(b, d)));
    vst1q_s8(to + 48, vreinterpretq_s8_s32(vzip2q_s32(b, d)));
    return to + 64;
}

TA_NEON_PART void ta_s8_eights_as_i8mm(int both, ta_s8_eights *eights, const int32_t *start, const ta_s8_runs *runs,
                                       const int8_t *w, const int8_t *v)
{
    int8_t *to = eights->weights;
    for (int32_t n = 0; n < (both ? 16 : 8); n += 2) {
        const int64x2_t two = vreinterpretq_s64_s32(vcombine_s32(vld1_s32(start + n), vld1_s32(start + n)));
        vst1q_s32(eights->starts + 2 * n, vreinterpretq_s32_s64(two));
    }
    for (int32_t run = runs->count; run > 0; --run) {
        int32_t depth = runs->length;
        for (; depth >= 8; depth -= 8, w += 64, v += 64) {
            to = ta_s8_eight_as_i8mm(0, to, w);
            to = both ? ta_s8_eight_as_i8mm(0, to, v) : to;
        }
        if (depth > 0) {
            to = ta_s8_eight_as_i8mm(1, to, w);
            to = both ? ta_s8_eight_as_i8mm(1, to, v) : to;
            w += 32, v += 32;
        }
    }
}

/* Whether weights are arranged: those of many rows, some of them in a line, where there is room. */
static inline int ta_s8_are_eights(int32_t lines, int32_t rows, const ta_s8_runs *runs)
{
    return rows >= TA_S8_AT_ONCE && (int64_t)lines * rows >= TA_S8_MANY && (int64_t)runs->count * ((runs->length + 7) / 8 * 8) <= TA_S8_EIGHTS;
}

/* Constants of 16 outputs as their sums are: those of two outputs, twice. */
TA_NEON_PART void ta_s8_eights_scaled(ta_s8_eights *eights, const ta_s8_sixteen *scale)
{
    for (int part = 0; part < 4; ++part) {
        const int64x2_t multiplier = vreinterpretq_s64_s32(scale->multiplier[part]);
        const int64x2_t up = vreinterpretq_s64_s32(scale->up[part]);
        vst1q_s32(eights->multiplier + 8 * part, vreinterpretq_s32_s64(vdupq_laneq_s64(multiplier, 0)));
        vst1q_s32(eights->multiplier + 8 * part + 4, vreinterpretq_s32_s64(vdupq_laneq_s64(multiplier, 1)));
        vst1q_s32(eights->up + 8 * part, vreinterpretq_s32_s64(vdupq_laneq_s64(up, 0)));
        vst1q_s32(eights->up + 8 * part + 4, vreinterpretq_s32_s64(vdupq_laneq_s64(up, 1)));
    }
}

/* The weights of one block or two. */
TA_NEON_PART void ta_s8_eights_of(ta_s8_eights *eights, const int32_t *start, const ta_s8_runs *runs, const int8_t *w,
                                  int32_t apart, int32_t blocks)
{
    if (blocks == 2) {
        ta_s8_eights_as_i8mm(1, eights, start, runs, w, w + apart);
    } else {
        ta_s8_eights_as_i8mm(0, eights, start, runs, w, w);
    }
}

/* Sums of two rows, of which pair number `r` has number 2 * `r`, and of 16 outputs or 8. Those of a vector are of two
 * outputs. */
#define TA_S8_PAIR_BEGIN(r)                                        \
    int32x4_t a##r = vld1q_s32(starts);                            \
    int32x4_t b##r = vld1q_s32(starts + 4);                        \
    int32x4_t c##r = vld1q_s32(starts + 8);                        \
    int32x4_t d##r = vld1q_s32(starts + 12);                       \
    int32x4_t e##r = both ? vld1q_s32(starts + 16) : a##r;         \
    int32x4_t f##r = both ? vld1q_s32(starts + 20) : b##r;         \
    int32x4_t g##r = both ? vld1q_s32(starts + 24) : c##r;         \
    int32x4_t h##r = both ? vld1q_s32(starts + 28) : d##r;         \
    starts = ta_s8_start_behind(starts, 0)
#define TA_S8_ZIP(half, a, b)                                      \
    vreinterpretq_s32_s64(half(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)))
#define TA_S8_SUMS_OF(r, half)                                     \
    TA_S8_ZIP(half, a##r, b##r), TA_S8_ZIP(half, c##r, d##r),      \
    TA_S8_ZIP(half, e##r, f##r), TA_S8_ZIP(half, g##r, h##r)

/* Results of two rows as their sums are: two of the first row, then two of the second. */
#define TA_S8_PAIR_SCALED(sum, part) \
    ta_s8_rescaled_neon(how, sum, vld1q_s32(eights->multiplier + 4 * (part)), vld1q_s32(eights->up + 4 * (part)))
#define TA_S8_PAIR_EIGHT(x, y, part)                                                                            \
    vqaddq_s16(vqmovn_high_s32(vqmovn_s32(TA_S8_PAIR_SCALED(x, part)), TA_S8_PAIR_SCALED(y, (part) + 1)), scale.offset)
#define TA_S8_PAIR_SIXTEEN(x, y) vreinterpretq_s16_s8(vqmovn_high_s16(vqmovn_s16(x), y))
#define TA_S8_PAIR_BYTES(r)                                                                                     \
    const int16x8_t k##r = TA_S8_PAIR_SIXTEEN(TA_S8_PAIR_EIGHT(a##r, b##r, 0), TA_S8_PAIR_EIGHT(c##r, d##r, 2)); \
    const int16x8_t l##r =                                                                                      \
        both ? TA_S8_PAIR_SIXTEEN(TA_S8_PAIR_EIGHT(e##r, f##r, 4), TA_S8_PAIR_EIGHT(g##r, h##r, 6)) : k##r
#define TA_S8_ROW_OF(half, r) vreinterpretq_s8_s16(half(k##r, l##r))

/* Cells of two rows: eight of each. */
#define TA_S8_PAIR_OF(half, x, y)                                  \
    vreinterpretq_s8_s64(half(vreinterpretq_s64_s8(x), vreinterpretq_s64_s8(y)))

/* Weights that are loaded after it wait for sums before it: compilers that load them earlier keep sums in memory. */
#define TA_S8_SETTLE_PAIRS(a, b, c, d)                                                                           \
    __asm__(""                                                                                                   \
            : "+r"(w), "+w"(a##0), "+w"(a##1), "+w"(b##0), "+w"(b##1), "+w"(c##0), "+w"(c##1), "+w"(d##0),       \
              "+w"(d##1))

/* Eight cells of two pairs of rows, for 8 outputs, and for all. */
#define TA_S8_EIGHT_OUTPUTS(a, b, c, d, x, y)                      \
    do {                                                           \
        const int8x16x4_t w_ = vld1q_s8_x4(w);                     \
        w += 64;                                                   \
        a##0 = vmmlaq_s32(a##0, x, w_.val[0]);                     \
        a##1 = vmmlaq_s32(a##1, y, w_.val[0]);                     \
        b##0 = vmmlaq_s32(b##0, x, w_.val[1]);                     \
        b##1 = vmmlaq_s32(b##1, y, w_.val[1]);                     \
        c##0 = vmmlaq_s32(c##0, x, w_.val[2]);                     \
        c##1 = vmmlaq_s32(c##1, y, w_.val[2]);                     \
        d##0 = vmmlaq_s32(d##0, x, w_.val[3]);                     \
        d##1 = vmmlaq_s32(d##1, y, w_.val[3]);                     \
        TA_S8_SETTLE_PAIRS(a, b, c, d);                            \
    } while (0)
#define TA_S8_PAIRS(x, y)                                          \
    do {                                                           \
        const int8x16_t x_ = x, y_ = y;                            \
        TA_S8_EIGHT_OUTPUTS(a, b, c, d, x_, y_);                   \
        if (both) {                                                \
            TA_S8_EIGHT_OUTPUTS(e, f, g, h, x_, y_);               \
        }                                                          \
    } while (0)
#define TA_S8_SIXTEEN_OF_PAIRS(member)                                                           \
    TA_S8_PAIRS(TA_S8_PAIR_OF(vzip1q_s64, x0 member, x1 member), TA_S8_PAIR_OF(vzip1q_s64, x2 member, x3 member)); \
    TA_S8_PAIRS(TA_S8_PAIR_OF(vzip2q_s64, x0 member, x1 member), TA_S8_PAIR_OF(vzip2q_s64, x2 member, x3 member))

/* Eight cells of two rows, or four and zeros. */
TA_NEON_PART int8x16_t ta_s8_pair_of_8(const ta_s8_cell *x, const ta_s8_cell *y)
{
    return vcombine_s8(vld1_s8(x), vld1_s8(y));
}

TA_NEON_PART int8x16_t ta_s8_pair_of_4(const ta_s8_cell *x, const ta_s8_cell *y)
{
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t a = vreinterpretq_s32_s8(ta_s8_four_cells(x)), b = vreinterpretq_s32_s8(ta_s8_four_cells(y));
    return vreinterpretq_s8_s32(vzip1q_s32(vzip1q_s32(a, b), zero));
}

/* Four rows, one run after the other. */
TA_NEON_PART void ta_s8_tile_4_i8mm(int both, int lined, int how, const ta_s8_sink *sink, const ta_s8_cell *x,
                                    int32_t next, const ta_s8_runs *runs, const ta_s8_eights *eights)
{
    const ta_s8_cell *p0 = x, *p1 = x + next, *p2 = x + 2 * next, *p3 = x + 3 * next;
    const int32_t *starts = ta_s8_start_behind(eights->starts, 0);
    const int8_t *w = eights->weights;
    TA_S8_PAIR_BEGIN(0);
    TA_S8_PAIR_BEGIN(1);
    for (int32_t run = lined ? runs->count : 1; run > 0; --run) {
        int32_t depth = runs->length;
        for (; depth >= 32; depth -= 32) {
            __asm__("" : "+r"(depth)); /* compilers would compare a place with the last one, and recompute the others */
            TA_S8_CELLS_32(0);
            TA_S8_CELLS_32(1);
            TA_S8_CELLS_32(2);
            TA_S8_CELLS_32(3);
            TA_S8_SIXTEEN_OF_PAIRS(.val[0]);
            TA_S8_SIXTEEN_OF_PAIRS(.val[1]);
        }
        if ((depth & 16) != 0) {
            TA_S8_CELLS_16(0);
            TA_S8_CELLS_16(1);
            TA_S8_CELLS_16(2);
            TA_S8_CELLS_16(3);
            TA_S8_SIXTEEN_OF_PAIRS();
        }
        if ((depth & 8) != 0) {
            TA_S8_PAIRS(ta_s8_pair_of_8(p0, p1), ta_s8_pair_of_8(p2, p3));
            p0 += 8, p1 += 8, p2 += 8, p3 += 8;
        }
        if ((depth & 4) != 0) {
            TA_S8_PAIRS(ta_s8_pair_of_4(p0, p1), ta_s8_pair_of_4(p2, p3));
            p0 += 4, p1 += 4, p2 += 4, p3 += 4;
        }
        if (lined) {
            p0 += runs->gap, p1 += runs->gap, p2 += runs->gap, p3 += runs->gap;
        }
    }
    if (how == TA_SCALE_NOT) {
        ta_s8_store_neon(both, sink, 0, TA_S8_SUMS_OF(0, vzip1q_s64));
        ta_s8_store_neon(both, sink, 1, TA_S8_SUMS_OF(0, vzip2q_s64));
        ta_s8_store_neon(both, sink, 2, TA_S8_SUMS_OF(1, vzip1q_s64));
        ta_s8_store_neon(both, sink, 3, TA_S8_SUMS_OF(1, vzip2q_s64));
    } else {
        const ta_s8_sixteen scale = ta_s8_scale_behind(sink);
        TA_S8_PAIR_BYTES(0);
        TA_S8_PAIR_BYTES(1);
        ta_s8_put_4_neon(both, sink, &scale, 0, TA_S8_ROW_OF(vuzp1q_s16, 0), TA_S8_ROW_OF(vuzp2q_s16, 0),
                         TA_S8_ROW_OF(vuzp1q_s16, 1), TA_S8_ROW_OF(vuzp2q_s16, 1));
    }
}

/* All rows: those that are no four by the dot product. */
TA_NEON_PART void ta_s8_rows_i8mm(int both, int lined, int how, int32_t rows, const ta_s8_sink *sink,
                                  const int32_t *start, const ta_s8_cell *cells, int32_t next, const ta_s8_runs *runs,
                                  const int8_t *w, const int8_t *v, const ta_s8_eights *eights)
{
    ta_s8_sink to = *sink;
    int32_t r = rows;
    for (; r >= 4; r -= 4, cells += 4 * next) {
        ta_s8_tile_4_i8mm(both, lined, how, &to, cells, next, runs, eights);
        ta_s8_sink_behind(how, &to, 4);
    }
    for (; r > 0; --r, cells += next) {
        ta_s8_tile_1_neon(both, 1, lined, how, &to, start, cells, runs, w, v);
        ta_s8_sink_behind(how, &to, 1);
    }
}
#else
typedef void ta_s8_eights; /* weights are not arranged */
#endif

#endif
