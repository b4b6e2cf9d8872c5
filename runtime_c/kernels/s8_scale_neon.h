/* The form of `s8_scale.h` for NEON, which includes this file. SQRDMULH of a sum is its first rounding; SRSHL rounds
 * half up, after 1 was subtracted from what is negative.
 */
#ifndef TA_KERNELS_S8_SCALE_NEON_H
#define TA_KERNELS_S8_SCALE_NEON_H

#ifdef TA_KERNELS_NEON
/* `up` counts shifts to the left. */
static inline int32x4_t ta_s8_tflite_neon(int32x4_t sum, int32x4_t multiplier, int32x4_t up)
{
    const int32x4_t zero = vdupq_n_s32(0), right = vminq_s32(up, zero);
    const int32x4_t high = vqrdmulhq_s32(vshlq_s32(sum, vmaxq_s32(up, zero)), multiplier);
    return vrshlq_s32(vsraq_n_s32(high, vandq_s32(high, right), 31), right);
}

static inline int64x2_t ta_s8_rounded_neon(int rounding, int64x2_t product, int64x2_t up)
{
    if (rounding == TA_S8_TFLITE_SINGLE) {
        return vrshlq_s64(product, up);
    }
    const int64x2_t one = vdupq_n_s64(1), odd = vandq_s64(vshlq_s64(product, up), one);
    const int64x2_t half = vshlq_s64(one, vsubq_s64(vnegq_s64(up), one));
    return vshlq_s64(vaddq_s64(vaddq_s64(product, vsubq_s64(half, one)), odd), up);
}

static inline int32x4_t ta_s8_scaled_neon(int rounding, int32x4_t sum, int32x4_t multiplier, int32x4_t up)
{
    if (rounding == TA_S8_TFLITE) {
        return ta_s8_tflite_neon(sum, multiplier, up);
    }
    const int64x2_t low = vmull_s32(vget_low_s32(sum), vget_low_s32(multiplier));
    const int64x2_t high = vmull_high_s32(sum, multiplier);
    return vcombine_s32(vmovn_s64(ta_s8_rounded_neon(rounding, low, vmovl_s32(vget_low_s32(up)))),
                        vmovn_s64(ta_s8_rounded_neon(rounding, high, vmovl_high_s32(up))));
}

/* 8 outputs of every row from output `n` on, or those that are left. */
static inline void ta_s8_scale_8_neon(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all, int32_t n)
{
    const int32x4_t m0 = vld1q_s32(all->multiplier + n), m1 = vld1q_s32(all->multiplier + n + 4);
    const int16x8_t up = vnegq_s16(vmovl_s8(vld1_s8(all->shift + n)));
    const int32x4_t up0 = vmovl_s16(vget_low_s16(up)), up1 = vmovl_high_s16(up);
    const int32x4_t offset = vdupq_n_s32(scale->offset);
    const int8x8_t low = vdup_n_s8((int8_t)scale->low), high = vdup_n_s8((int8_t)scale->high);
    const int8x8_t flip = vdup_n_s8((int8_t)scale->flip);
    const int32_t left = all->count - n;
    const int32_t *sums = all->sums + n;
    int8_t *out = all->out + n;
    for (int32_t r = all->rows; r > 0; --r, sums += all->from, out += all->to) {
        const int32x4_t a = vaddq_s32(ta_s8_scaled_neon(rounding, vld1q_s32(sums), m0, up0), offset);
        const int32x4_t b = vaddq_s32(ta_s8_scaled_neon(rounding, vld1q_s32(sums + 4), m1, up1), offset);
        int8x8_t bytes = vqmovn_s16(vcombine_s16(vqmovn_s32(a), vqmovn_s32(b)));
        bytes = veor_s8(vmax_s8(vmin_s8(bytes, high), low), flip);
        if (left >= 8) {
            vst1_s8(out, bytes);
        } else {
            int8_t line[8];
            vst1_s8(line, bytes);
            memcpy(out, line, (size_t)left);
        }
    }
}

static inline void ta_s8_scale_neon(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    for (int32_t n = 0; n < all->count; n += 8) {
        if (rounding == TA_S8_TFLITE) {
            ta_s8_scale_8_neon(TA_S8_TFLITE, scale, all, n);
        } else {
            ta_s8_scale_8_neon(rounding, scale, all, n);
        }
    }
}
#endif

#endif
