/* The form of `s8_scale.h` for the extension V of RISC-V, which includes this file. */
#ifndef TA_KERNELS_S8_SCALE_RVV_H
#define TA_KERNELS_S8_SCALE_RVV_H

#ifdef TA_KERNELS_RVV
/* 8 sums that were scaled become outputs. */
TA_RVV_PART void ta_s8_clamped_rvv(const ta_s8_scale *scale, vint32m2_t value, int8_t *out, size_t vl)
{
    value = __riscv_vadd_vx_i32m2(value, scale->offset, vl);
    value = __riscv_vmax_vx_i32m2(__riscv_vmin_vx_i32m2(value, scale->high, vl), scale->low, vl);
    const vint16m1_t narrow = __riscv_vnsra_wx_i16m1(__riscv_vxor_vx_i32m2(value, scale->flip, vl), 0, vl);
    __riscv_vse8_v_i8mf2(out, __riscv_vnsra_wx_i8mf2(narrow, 0, vl), vl);
}

/* 8 outputs of every row from output `n` on, or those that are left, as `tflite` rounds. */
TA_RVV_PART void ta_s8_tflite_rvv(const ta_s8_scale *scale, const ta_s8_rows *all, int32_t n, size_t vl)
{
    const vint32m2_t m = __riscv_vle32_v_i32m2(all->multiplier + n, vl);
    const vint32m2_t shift = __riscv_vsext_vf4_i32m2(__riscv_vle8_v_i8mf2(all->shift + n, vl), vl);
    const vint32m2_t down = __riscv_vmax_vx_i32m2(shift, 0, vl);
    const vuint32m2_t right = __riscv_vreinterpret_v_i32m2_u32m2(down);
    const vint32m2_t up = __riscv_vmax_vx_i32m2(__riscv_vneg_v_i32m2(shift, vl), 0, vl);
    const vuint32m2_t left = __riscv_vreinterpret_v_i32m2_u32m2(up);
    const vuint32m2_t power = __riscv_vsll_vv_u32m2(__riscv_vmv_v_x_u32m2(1, vl), right, vl);
    const vint32m2_t half = __riscv_vreinterpret_v_u32m2_i32m2(__riscv_vsrl_vx_u32m2(power, 1, vl));
    const vint32m2_t least = __riscv_vneg_v_i32m2(__riscv_vmin_vx_i32m2(down, 1, vl), vl);
    for (int32_t r = 0; r < all->rows; ++r) {
        vint32m2_t value = __riscv_vsll_vv_i32m2(__riscv_vle32_v_i32m2(all->sums + r * all->from + n, vl), left, vl);
        const vint64m4_t product = __riscv_vwmul_vv_i64m4(value, m, vl);
        value = __riscv_vnsra_wx_i32m2(__riscv_vadd_vx_i64m4(product, 1 << 30, vl), 31, vl);
        const vint32m2_t negative = __riscv_vmax_vv_i32m2(__riscv_vsra_vx_i32m2(value, 31, vl), least, vl);
        value = __riscv_vadd_vv_i32m2(__riscv_vadd_vv_i32m2(value, half, vl), negative, vl);
        ta_s8_clamped_rvv(scale, __riscv_vsra_vv_i32m2(value, right, vl), all->out + r * all->to + n, vl);
    }
}

/* The same as `tflite_single` rounds, or with `even` 1 as `onnx`: shifts are from 1 on. */
TA_RVV_PART void ta_s8_once_rvv(int even, const ta_s8_scale *scale, const ta_s8_rows *all, int32_t n, size_t vl)
{
    const vint32m2_t m = __riscv_vle32_v_i32m2(all->multiplier + n, vl);
    const vint64m4_t shift = __riscv_vsext_vf8_i64m4(__riscv_vle8_v_i8mf2(all->shift + n, vl), vl);
    const vuint64m4_t right = __riscv_vreinterpret_v_i64m4_u64m4(shift);
    const vuint64m4_t less = __riscv_vsub_vx_u64m4(right, 1, vl);
    const vuint64m4_t power = __riscv_vsll_vv_u64m4(__riscv_vmv_v_x_u64m4(1, vl), less, vl);
    const vint64m4_t half = __riscv_vsub_vx_i64m4(__riscv_vreinterpret_v_u64m4_i64m4(power), even, vl);
    for (int32_t r = 0; r < all->rows; ++r) {
        const vint32m2_t sum = __riscv_vle32_v_i32m2(all->sums + r * all->from + n, vl);
        const vint64m4_t product = __riscv_vwmul_vv_i64m4(sum, m, vl);
        vint64m4_t value = __riscv_vadd_vv_i64m4(product, half, vl);
        if (even) {
            const vint64m4_t down = __riscv_vsra_vv_i64m4(product, right, vl);
            value = __riscv_vadd_vv_i64m4(value, __riscv_vand_vx_i64m4(down, 1, vl), vl);
        }
        value = __riscv_vsra_vv_i64m4(value, right, vl);
        ta_s8_clamped_rvv(scale, __riscv_vnsra_wx_i32m2(value, 0, vl), all->out + r * all->to + n, vl);
    }
}

static inline void ta_s8_scale_rvv(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    for (int32_t n = 0; n < all->count; n += 8) {
        const size_t vl = all->count - n < 8 ? (size_t)(all->count - n) : 8;
        if (rounding == TA_S8_TFLITE) {
            ta_s8_tflite_rvv(scale, all, n, vl);
        } else if (rounding == TA_S8_TFLITE_SINGLE) {
            ta_s8_once_rvv(0, scale, all, n, vl);
        } else {
            ta_s8_once_rvv(1, scale, all, n, vl);
        }
    }
}
#endif

#endif
