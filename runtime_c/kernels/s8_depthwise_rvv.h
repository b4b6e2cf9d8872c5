/* The form of `s8_depthwise.h` for RISC-V V, which includes this file: 8 or 16 channels at once. */
#ifndef TA_KERNELS_S8_DEPTHWISE_RVV_H
#define TA_KERNELS_S8_DEPTHWISE_RVV_H

#ifdef TA_KERNELS_RVV
/* A tap of so many channels as 16 bits. */
static inline vint16m2_t ta_s8_dw_tap_rvv(const int8_t *x, int is_unsigned, size_t channels)
{
    const vint8m1_t value = __riscv_vle8_v_i8m1(x, channels);
    const vuint8m1_t bits = __riscv_vreinterpret_v_i8m1_u8m1(value);
    return is_unsigned ? __riscv_vreinterpret_v_u16m2_i16m2(__riscv_vzext_vf2_u16m2(bits, channels))
                       : __riscv_vsext_vf2_i16m2(value, channels);
}

/* Two taps of a window added to its sums. */
#define TA_DW_ADD_RVV(sum, from, to)                                                                                  \
    do {                                                                                                              \
        sum = __riscv_vwmacc_vv_i32m4(sum, ta_s8_dw_tap_rvv(from, is_unsigned, channels), w0, channels);              \
        sum = __riscv_vwmacc_vv_i32m4(sum, ta_s8_dw_tap_rvv(to, is_unsigned, channels), w1, channels);                \
    } while (0)

/* The weights of two taps. */
#define TA_DW_WEIGHTS_RVV(w)                                                                                          \
    vint8m1_t one_, two_;                                                                                             \
    __riscv_vlseg2e8_v_i8m1(&one_, &two_, w, channels);                                                               \
    const vint16m2_t w0 = __riscv_vsext_vf2_i16m2(one_, channels), w1 = __riscv_vsext_vf2_i16m2(two_, channels)

/* One window. */
static inline void ta_s8_dw_1_rvv(const ta_s8_taps *taps, int32_t *sums, int is_unsigned, size_t channels)
{
    const int8_t *w = taps->w;
    vint32m4_t a = __riscv_vle32_v_i32m4(taps->bias, channels);
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        TA_DW_WEIGHTS_RVV(w);
        TA_DW_ADD_RVV(a, taps->at[t], taps->at[t + 1]);
    }
    __riscv_vse32_v_i32m4(sums, a, channels);
}

/* Four windows from window `pixel` on. */
static inline void ta_s8_dw_4_rvv(const ta_s8_taps *taps, int32_t *sums, int32_t pixel, int is_unsigned,
                                  size_t channels)
{
    const int8_t *w = taps->w;
    vint32m4_t a = __riscv_vle32_v_i32m4(taps->bias, channels), b = a, c = a, d = a;
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        const int64_t step = ta_s8_dw_step(taps, t), next = ta_s8_dw_step(taps, t + 1);
        const int8_t *one = taps->at[t] + pixel * step, *two = taps->at[t + 1] + pixel * next;
        TA_DW_WEIGHTS_RVV(w);
        TA_DW_ADD_RVV(a, one, two);
        TA_DW_ADD_RVV(b, one + step, two + next);
        TA_DW_ADD_RVV(c, one + 2 * step, two + 2 * next);
        TA_DW_ADD_RVV(d, one + 3 * step, two + 3 * next);
    }
    __riscv_vse32_v_i32m4(sums, a, channels);
    __riscv_vse32_v_i32m4(sums + TA_DW_GROUP, b, channels);
    __riscv_vse32_v_i32m4(sums + 2 * TA_DW_GROUP, c, channels);
    __riscv_vse32_v_i32m4(sums + 3 * TA_DW_GROUP, d, channels);
}

/* Four windows at once; the last four may be some of those before. */
static inline void ta_s8_dw_sums_rvv(const ta_s8_taps *taps, int32_t *sums, int32_t pixels, int32_t count)
{
    const size_t channels = count > 8 ? 16 : 8;
    if (pixels == 1) {
        ta_s8_dw_1_rvv(taps, sums, taps->conv->is_unsigned, channels);
        return;
    }
    for (int32_t pixel = 0; pixel < pixels; pixel += 4) {
        const int32_t from = pixel + 4 > pixels ? pixels - 4 : pixel;
        if (taps->conv->is_unsigned) {
            ta_s8_dw_4_rvv(taps, sums + from * TA_DW_GROUP, from, 1, channels);
        } else {
            ta_s8_dw_4_rvv(taps, sums + from * TA_DW_GROUP, from, 0, channels);
        }
    }
}
#endif

#endif
