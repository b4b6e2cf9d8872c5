/* The forms of `s8_add.h` for Cortex-M, which includes this file: rounding `tflite`.
 *
 * An operand whose factor is one half, as that with the larger scale has it, is its value times 2^19. The other one is
 * scaled as in `s8_scale_arm_m.h`.
 */
#ifndef TA_KERNELS_S8_ADD_ARM_M_H
#define TA_KERNELS_S8_ADD_ARM_M_H

#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
/* Which operand has the factor of one half; 2 where none has, or there is no form for another reason: it takes sums of
 * int8 that take all of 8 bits. */
static inline int ta_s8_half_of(const ta_s8_add *add)
{
    const int32_t one = (int32_t)1 << 30;
    if (ta_s8_rounding(add->rounding) != TA_S8_TFLITE || add->negative || add->shift[2] < 1 ||
        add->shift[2] > TA_S8_MOST_SHIFT || add->low != -128 || add->high != 127 || add->flip[0] || add->flip[1] || add->flip[2]) {
        return 2;
    }
    if (add->multiplier[0] == one && add->shift[0] == 0) {
        return 0;
    }
    return add->multiplier[1] == one && add->shift[1] == 0 ? 1 : 2;
}
#endif

#if defined(TA_KERNELS_DSP)
/* A row: `half` is the operand `of` the addition. */
static inline void ta_s8_add_row(const ta_s8_add *add, int of, const int8_t *half, const int8_t *other, int8_t *out,
                                 int32_t count)
{
    const int32_t multiplier = add->multiplier[1 - of], right = add->shift[1 - of];
    const int32_t from = add->offset[of] * (1 << 19), twice = add->offset[1 - of] * (1 << 21);
    const int32_t round = right > 0 ? (int32_t)1 << (right - 1) : 0, negative = right > 0;
    const int32_t last_multiplier = add->multiplier[2], last = add->shift[2];
    const int32_t added = ta_s8_offset_and_half(add->offset[2], last);
    for (const int8_t *const stop = out + count; out != stop; ++out) {
        int32_t b = ta_smmulr(*other++ * (1 << 21) + twice, multiplier);
        b = (b - (negative & (int32_t)((uint32_t)b >> 31)) + round) >> right;
        const int32_t sum = *half++ * (1 << 19) + from + b;
        *out = (int8_t)ta_s8_scaled_dsp(TA_S8_TFLITE, sum, last_multiplier, added, last);
    }
}

TA_PART void ta_s8_add_arm_m(const ta_s8_add *add, int of, const ta_s8_add_rows *all)
{
    for (int32_t r = 0; r < all->rows; ++r) {
        const int8_t *first = all->first + r * all->step[0], *second = all->second + r * all->step[1];
        ta_s8_add_row(add, of, of ? second : first, of ? first : second, all->out + r * all->step[2], all->count);
    }
}
#elif defined(TA_KERNELS_MVE)
TA_PART void ta_s8_add_arm_m(const ta_s8_add *add, int of, const ta_s8_add_rows *all)
{
    const int8_t *half = of ? all->second : all->first, *other = of ? all->first : all->second;
    const int32_t multiplier = add->multiplier[1 - of], right = -add->shift[1 - of];
    const int32_t last_multiplier = add->multiplier[2], last = -add->shift[2];
    const int32x4_t negative = vdupq_n_s32(right < 0 ? -1 : 0);
    int8_t *out = all->out;
    for (int32_t r = all->rows; r > 0; --r, half += all->step[of], other += all->step[1 - of], out += all->step[2]) {
        for (int32_t k = 0; k < all->count; k += 4) {
            const mve_pred16_t some = vctp32q((uint32_t)(all->count - k));
            int32x4_t b = vshlq_n_s32(vaddq_n_s32(vldrbq_z_s32(other + k, some), add->offset[1 - of]), 20);
            b = vqrdmulhq_n_s32(b, multiplier);
            b = vrshlq_n_s32(vaddq_s32(b, vshrq_n_s32(vandq_s32(b, negative), 31)), right);
            int32x4_t a = vshlq_n_s32(vaddq_n_s32(vldrbq_z_s32(half + k, some), add->offset[of]), 19);
            a = vqrdmulhq_n_s32(vaddq_s32(a, b), last_multiplier);
            a = vaddq_n_s32(vrshlq_n_s32(vaddq_s32(a, vshrq_n_s32(a, 31)), last), add->offset[2]);
            const int16x8_t low = vqmovnbq_s32(vreinterpretq_s16_s32(a), a);
            const int8x16_t bytes = vqmovnbq_s16(vreinterpretq_s8_s16(low), low);
            vstrbq_p_s32(out + k, vreinterpretq_s32_s8(bytes), some);
        }
    }
}
#endif

#endif
