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

/* Two taps of a window added to its sums, 8 channels. */
#define TA_DW_ADD_NEON(a, b, one, two)                                                               \
    do {                                                                                             \
        const int16x8_t both_ = vmlal_s8(vmull_s8(vld1_s8(one), w.val[0]), vld1_s8(two), w.val[1]);  \
        a = vaddw_s16(a, vget_low_s16(both_));                                                       \
        b = vaddw_high_s16(b, both_);                                                                \
    } while (0)

/* They of 16. */
#define TA_DW_ADD_16_NEON(a, b, c, d, one, two)                                                      \
    do {                                                                                             \
        const int8x16_t one_ = vld1q_s8(one), two_ = vld1q_s8(two);                                  \
        const int16x8_t low_ = vmlal_s8(vmull_s8(vget_low_s8(one_), vget_low_s8(w.val[0])),          \
                                        vget_low_s8(two_), vget_low_s8(w.val[1]));                   \
        const int16x8_t high_ = vmlal_high_s8(vmull_high_s8(one_, w.val[0]), two_, w.val[1]);        \
        a = vaddw_s16(a, vget_low_s16(low_));                                                        \
        b = vaddw_high_s16(b, low_);                                                                 \
        c = vaddw_s16(c, vget_low_s16(high_));                                                       \
        d = vaddw_high_s16(d, high_);                                                                \
    } while (0)

#define TA_DW_STORE_NEON(to, a, b) \
    do {                           \
        vst1q_s32(to, a);          \
        vst1q_s32((to) + 4, b);    \
    } while (0)

/* 8 channels of one window. */
static inline void ta_s8_dw_8_neon(const ta_s8_taps *taps, int32_t *sums)
{
    int32x4_t a = vld1q_s32(taps->bias), b = vld1q_s32(taps->bias + 4);
    const int8_t *from = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, from += 2 * TA_DW_GROUP) {
        const int8x8x2_t w = vld2_s8(from);
        TA_DW_ADD_NEON(a, b, taps->at[t], taps->at[t + 1]);
    }
    TA_DW_STORE_NEON(sums, a, b);
}

/* 16 channels of one window. */
static inline void ta_s8_dw_16_neon(const ta_s8_taps *taps, int32_t *sums)
{
    int32x4_t a = vld1q_s32(taps->bias), b = vld1q_s32(taps->bias + 4);
    int32x4_t c = vld1q_s32(taps->bias + 8), d = vld1q_s32(taps->bias + 12);
    const int8_t *from = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, from += 2 * TA_DW_GROUP) {
        const int8x16x2_t w = vld2q_s8(from);
        TA_DW_ADD_16_NEON(a, b, c, d, taps->at[t], taps->at[t + 1]);
    }
    TA_DW_STORE_NEON(sums, a, b);
    TA_DW_STORE_NEON(sums + 8, c, d);
}

/* 8 channels of four windows from window `pixel` on. */
static inline void ta_s8_dw_8_4_neon(const ta_s8_taps *taps, int32_t *sums, int32_t pixel)
{
    int32x4_t a0 = vld1q_s32(taps->bias), a1 = a0, a2 = a0, a3 = a0;
    int32x4_t b0 = vld1q_s32(taps->bias + 4), b1 = b0, b2 = b0, b3 = b0;
    const int8_t *from = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, from += 2 * TA_DW_GROUP) {
        const int8x8x2_t w = vld2_s8(from);
        const int64_t step = ta_s8_dw_step(taps, t), next = ta_s8_dw_step(taps, t + 1);
        const int8_t *one = taps->at[t] + pixel * step, *two = taps->at[t + 1] + pixel * next;
        TA_DW_ADD_NEON(a0, b0, one, two);
        TA_DW_ADD_NEON(a1, b1, one + step, two + next);
        TA_DW_ADD_NEON(a2, b2, one + 2 * step, two + 2 * next);
        TA_DW_ADD_NEON(a3, b3, one + 3 * step, two + 3 * next);
    }
    TA_DW_STORE_NEON(sums, a0, b0);
    TA_DW_STORE_NEON(sums + TA_DW_GROUP, a1, b1);
    TA_DW_STORE_NEON(sums + 2 * TA_DW_GROUP, a2, b2);
    TA_DW_STORE_NEON(sums + 3 * TA_DW_GROUP, a3, b3);
}

/* 16 channels of four windows. */
static inline void ta_s8_dw_16_4_neon(const ta_s8_taps *taps, int32_t *sums, int32_t pixel)
{
    int32x4_t a0 = vld1q_s32(taps->bias), a1 = a0, a2 = a0, a3 = a0;
    int32x4_t b0 = vld1q_s32(taps->bias + 4), b1 = b0, b2 = b0, b3 = b0;
    int32x4_t c0 = vld1q_s32(taps->bias + 8), c1 = c0, c2 = c0, c3 = c0;
    int32x4_t d0 = vld1q_s32(taps->bias + 12), d1 = d0, d2 = d0, d3 = d0;
    const int8_t *from = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, from += 2 * TA_DW_GROUP) {
        const int8x16x2_t w = vld2q_s8(from);
        const int64_t step = ta_s8_dw_step(taps, t), next = ta_s8_dw_step(taps, t + 1);
        const int8_t *one = taps->at[t] + pixel * step, *two = taps->at[t + 1] + pixel * next;
        TA_DW_ADD_16_NEON(a0, b0, c0, d0, one, two);
        TA_DW_ADD_16_NEON(a1, b1, c1, d1, one + step, two + next);
        TA_DW_ADD_16_NEON(a2, b2, c2, d2, one + 2 * step, two + 2 * next);
        TA_DW_ADD_16_NEON(a3, b3, c3, d3, one + 3 * step, two + 3 * next);
    }
    TA_DW_STORE_NEON(sums, a0, b0);
    TA_DW_STORE_NEON(sums + 8, c0, d0);
    TA_DW_STORE_NEON(sums + TA_DW_GROUP, a1, b1);
    TA_DW_STORE_NEON(sums + TA_DW_GROUP + 8, c1, d1);
    TA_DW_STORE_NEON(sums + 2 * TA_DW_GROUP, a2, b2);
    TA_DW_STORE_NEON(sums + 2 * TA_DW_GROUP + 8, c2, d2);
    TA_DW_STORE_NEON(sums + 3 * TA_DW_GROUP, a3, b3);
    TA_DW_STORE_NEON(sums + 3 * TA_DW_GROUP + 8, c3, d3);
}

/* Four windows at once; the last four may be some of those before. */
static inline void ta_s8_dw_sums_neon(const ta_s8_taps *taps, int32_t *sums, int32_t pixels, int32_t count)
{
    if (taps->conv->is_unsigned || !taps->conv->narrow) {
        const int32_t read = count > 8 ? TA_DW_GROUP : 8;
        for (int32_t k = 0; k < pixels * read; k += 8) {
            ta_s8_dw_any_neon(taps, sums + k / read * TA_DW_GROUP, k / read, k % read);
        }
    } else if (pixels == 1 && count > 8) {
        ta_s8_dw_16_neon(taps, sums);
    } else if (pixels == 1) {
        ta_s8_dw_8_neon(taps, sums);
    } else {
        for (int32_t pixel = 0; pixel < pixels; pixel += 4) {
            const int32_t from = pixel + 4 > pixels ? pixels - 4 : pixel;
            if (count > 8) {
                ta_s8_dw_16_4_neon(taps, sums + from * TA_DW_GROUP, from);
            } else {
                ta_s8_dw_8_4_neon(taps, sums + from * TA_DW_GROUP, from);
            }
        }
    }
}
#endif

#endif
