/* The form of `s8_depthwise.h` for RISC-V V, which includes this file. */
#ifndef TA_KERNELS_S8_DEPTHWISE_RVV_H
#define TA_KERNELS_S8_DEPTHWISE_RVV_H

#ifdef TA_KERNELS_RVV
/* 8 channels of one window. */
static inline void ta_s8_dw_8_rvv(const ta_s8_taps *taps, int32_t *sums, int32_t pixel, int32_t first)
{
    const int8_t *w = taps->w + 2 * first;
    vint32m2_t sum = __riscv_vle32_v_i32m2(taps->bias + first, 8);
    for (int32_t t = 0; t < taps->taps; ++t) {
        const vint8mf2_t value = __riscv_vle8_v_i8mf2(taps->at[t] + pixel * ta_s8_dw_step(taps, t) + first, 8);
        const vuint8mf2_t bits = __riscv_vreinterpret_v_i8mf2_u8mf2(value);
        const vint8mf2_t some = __riscv_vlse8_v_i8mf2(w + t / 2 * 2 * TA_DW_GROUP + t % 2, 2, 8);
        const vint16m1_t wide = taps->conv->is_unsigned
                                    ? __riscv_vreinterpret_v_u16m1_i16m1(__riscv_vzext_vf2_u16m1(bits, 8))
                                    : __riscv_vsext_vf2_i16m1(value, 8);
        sum = __riscv_vwmacc_vv_i32m2(sum, wide, __riscv_vsext_vf2_i16m1(some, 8), 8);
    }
    __riscv_vse32_v_i32m2(sums + first, sum, 8);
}

static inline void ta_s8_dw_sums_rvv(const ta_s8_taps *taps, int32_t *sums, int32_t pixels, int32_t count)
{
    for (int32_t pixel = 0; pixel < pixels; ++pixel, sums += TA_DW_GROUP) {
        for (int32_t first = 0; first < count; first += 8) {
            ta_s8_dw_8_rvv(taps, sums, pixel, first);
        }
    }
}
#endif

#endif
