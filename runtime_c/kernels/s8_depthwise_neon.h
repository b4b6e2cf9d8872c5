/* The form of `s8_depthwise.h` for NEON, which includes this file. Where two products fit 16 bits they are added there
 * first.
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_NEON_H
#define TA_KERNELS_S8_DEPTHWISE_NEON_H

#ifdef TA_KERNELS_NEON
/* 8 channels as 16 bits. */
#define TA_DW_EIGHT(is_unsigned, x) \
    ((is_unsigned) ? vreinterpretq_s16_u16(vmovl_u8(vld1_u8((const uint8_t *)(x)))) : vmovl_s8(vld1_s8(x)))

/* 8 channels of one window, whatever weights and type are. */
static inline void ta_s8_dw_any_neon(const ta_s8_taps *taps, int32_t *sums, int32_t pixel, int32_t first)
{
    const int is_unsigned = taps->conv->is_unsigned;
    const int8_t *w = taps->w + 2 * first;
    int32x4_t a = vld1q_s32(taps->bias + first), b = vld1q_s32(taps->bias + first + 4);
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        const int8x8x2_t two = vld2_s8(w);
        const int16x8_t w0 = vmovl_s8(two.val[0]), w1 = vmovl_s8(two.val[1]);
        const int16x8_t one = TA_DW_EIGHT(is_unsigned, taps->at[t] + pixel * ta_s8_dw_step(taps, t) + first);
        const int16x8_t other = TA_DW_EIGHT(is_unsigned, taps->at[t + 1] + pixel * ta_s8_dw_step(taps, t + 1) + first);
        a = vmlal_s16(a, vget_low_s16(one), vget_low_s16(w0));
        b = vmlal_high_s16(b, one, w0);
        a = vmlal_s16(a, vget_low_s16(other), vget_low_s16(w1));
        b = vmlal_high_s16(b, other, w1);
    }
    vst1q_s32(sums + first, a);
    vst1q_s32(sums + first + 4, b);
}

/* 16 values or 8 from `*at` on, which then is `step` bytes further. Compilers would add these in an instruction more. */
TA_NEON_PART int8x16_t ta_s8_dw_next_neon(int both, const int8_t **at, int64_t step)
{
    int8x16_t values;
    if (both) {
        __asm__("ld1 {%0.16b}, [%1], %2" : "=w"(values), "+r"(*at) : "r"(step), "Q"(*(const int8_t(*)[16])*at));
    } else {
        __asm__("ld1 {%0.8b}, [%1], %2" : "=w"(values), "+r"(*at) : "r"(step), "Q"(*(const int8_t(*)[8])*at));
    }
    return values;
}

/* Two taps of a window added to its sums: of 16 channels, or with `both` 0 of the 8 of `a` and `b`. */
#define TA_DW_ADD_NEON(a, b, c, d, one, two)                                                         \
    do {                                                                                             \
        const int8x16_t one_ = one, two_ = two;                                                      \
        const int16x8_t low_ = vmlal_s8(vmull_s8(vget_low_s8(one_), vget_low_s8(w.val[0])),          \
                                        vget_low_s8(two_), vget_low_s8(w.val[1]));                   \
        a = vaddw_s16(a, vget_low_s16(low_));                                                        \
        b = vaddw_high_s16(b, low_);                                                                 \
        if (both) {                                                                                  \
            const int16x8_t high_ = vmlal_high_s8(vmull_high_s8(one_, w.val[0]), two_, w.val[1]);    \
            c = vaddw_s16(c, vget_low_s16(high_));                                                   \
            d = vaddw_high_s16(d, high_);                                                            \
        }                                                                                            \
    } while (0)

/* One window. */
TA_NEON_PART void ta_s8_dw_1_neon(int how, int both, const ta_s8_taps *taps, const ta_s8_sink *sink)
{
    int32x4_t a = vld1q_s32(taps->bias), b = vld1q_s32(taps->bias + 4);
    int32x4_t c = both ? vld1q_s32(taps->bias + 8) : a, d = both ? vld1q_s32(taps->bias + 12) : b;
    const int8_t *from = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, from += 2 * TA_DW_GROUP) {
        const int8x16x2_t w = vld2q_s8(from);
        const int8_t *one = taps->at[t], *two = taps->at[t + 1];
        if (both) {
            TA_DW_ADD_NEON(a, b, c, d, vld1q_s8(one), vld1q_s8(two));
        } else {
            TA_DW_ADD_NEON(a, b, c, d, vcombine_s8(vld1_s8(one), vdup_n_s8(0)), vcombine_s8(vld1_s8(two), vdup_n_s8(0)));
        }
    }
    if (how == TA_SCALE_NOT) {
        ta_s8_store_neon(both, sink, 0, a, b, c, d);
    } else {
        const ta_s8_sixteen scale = ta_s8_scale_behind(sink);
        ta_s8_put_1_neon(both, sink, &scale, 0, ta_s8_bytes_neon(how, both, &scale, a, b, c, d));
    }
}

/* Four windows from window `pixel` on; those of tap t are next[t] bytes apart. */
TA_NEON_PART void ta_s8_dw_4_neon(int how, int both, const ta_s8_taps *taps, const int64_t *next, int32_t pixel,
                                  const ta_s8_sink *sink)
{
    int32x4_t a0 = vld1q_s32(taps->bias), a1 = a0, a2 = a0, a3 = a0;
    int32x4_t b0 = vld1q_s32(taps->bias + 4), b1 = b0, b2 = b0, b3 = b0;
    int32x4_t c0 = both ? vld1q_s32(taps->bias + 8) : a0, c1 = c0, c2 = c0, c3 = c0;
    int32x4_t d0 = both ? vld1q_s32(taps->bias + 12) : b0, d1 = d0, d2 = d0, d3 = d0;
    const int8_t *from = taps->w, *const *at = taps->at;
    for (int32_t t = taps->taps; t > 0; t -= 2, from += 2 * TA_DW_GROUP, at += 2, next += 2) {
        const int8x16x2_t w = vld2q_s8(from);
        const int64_t step = next[0], other = next[1];
        const int8_t *one = at[0] + pixel * step, *two = at[1] + pixel * other;
        TA_DW_ADD_NEON(a0, b0, c0, d0, ta_s8_dw_next_neon(both, &one, step), ta_s8_dw_next_neon(both, &two, other));
        TA_DW_ADD_NEON(a1, b1, c1, d1, ta_s8_dw_next_neon(both, &one, step), ta_s8_dw_next_neon(both, &two, other));
        TA_DW_ADD_NEON(a2, b2, c2, d2, ta_s8_dw_next_neon(both, &one, step), ta_s8_dw_next_neon(both, &two, other));
        TA_DW_ADD_NEON(a3, b3, c3, d3, ta_s8_dw_next_neon(both, &one, step), ta_s8_dw_next_neon(both, &two, other));
    }
    if (how == TA_SCALE_NOT) {
        ta_s8_store_neon(both, sink, pixel, a0, b0, c0, d0);
        ta_s8_store_neon(both, sink, pixel + 1, a1, b1, c1, d1);
        ta_s8_store_neon(both, sink, pixel + 2, a2, b2, c2, d2);
        ta_s8_store_neon(both, sink, pixel + 3, a3, b3, c3, d3);
    } else {
        const ta_s8_sixteen scale = ta_s8_scale_behind(sink);
        ta_s8_put_4_neon(both, sink, &scale, pixel, ta_s8_bytes_neon(how, both, &scale, a0, b0, c0, d0),
                         ta_s8_bytes_neon(how, both, &scale, a1, b1, c1, d1),
                         ta_s8_bytes_neon(how, both, &scale, a2, b2, c2, d2),
                         ta_s8_bytes_neon(how, both, &scale, a3, b3, c3, d3));
    }
}

/* Neighbours, four at once; the last four may be some of those before. */
TA_NEON_PART void ta_s8_dw_fours_neon(int how, int both, const ta_s8_taps *taps, const ta_s8_sink *sink, int32_t pixels)
{
    int64_t next[TA_DW_TAPS];
    if (pixels == 1) {
        ta_s8_dw_1_neon(how, both, taps, sink);
        return;
    }
    for (int32_t t = 0; t < taps->taps; ++t) {
        next[t] = ta_s8_dw_step(taps, t);
    }
    for (int32_t pixel = 0; pixel < pixels; pixel += 4) {
        ta_s8_dw_4_neon(how, both, taps, next, pixel + 4 > pixels ? pixels - 4 : pixel, sink);
    }
}

/* Whether two products fit 16 bits. */
static inline int ta_s8_dw_is_narrow(const ta_s8_taps *taps)
{
    return !taps->conv->is_unsigned && taps->conv->narrow;
}

static inline void ta_s8_dw_sums_neon(const ta_s8_taps *taps, int32_t *sums, int32_t pixels, int32_t count)
{
    const ta_s8_sink sink = {sums, NULL, 0, NULL};
    if (!ta_s8_dw_is_narrow(taps)) {
        const int32_t read = count > 8 ? TA_DW_GROUP : 8;
        for (int32_t k = 0; k < pixels * read; k += 8) {
            ta_s8_dw_any_neon(taps, sums + k / read * TA_DW_GROUP, k / read, k % read);
        }
    } else if (count > 8) {
        ta_s8_dw_fours_neon(TA_SCALE_NOT, 1, taps, &sink, pixels);
    } else {
        ta_s8_dw_fours_neon(TA_SCALE_NOT, 0, taps, &sink, pixels);
    }
}
#endif

#endif
