/* The forms of `s8_scale.h` for Cortex-M, which includes this file.
 *
 * `tflite`: SMMULR and VQRDMULH of twice the sum, or the sum, are the first rounding; a shift that rounds half up is
 * the second one, after 1 was subtracted from what is negative. `tflite_single` with a shift from 33 on rounds the
 * upper half of the product alone: what the lower half would add is less than one.
 */
#ifndef TA_KERNELS_S8_SCALE_ARM_M_H
#define TA_KERNELS_S8_SCALE_ARM_M_H

/* The greatest shift of the DSP extension: half of what it divides by, times twice the offset, and a scaled sum fit 32
 * bits. */
#define TA_S8_MOST_SHIFT 22

#if defined(TA_KERNELS_DSP)
/* SMMULR has no intrinsic in C. */
static inline int32_t ta_smmulr(int32_t a, int32_t b)
{
    int32_t high;
    __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
    return high;
}

static inline int32_t ta_s8_offset_and_half(int32_t offset, int32_t shift)
{
    return (2 * offset + 1) * ((int32_t)1 << (shift - 1));
}

/* One output, not clamped to less than 8 bits. */
static inline int32_t ta_s8_scaled_dsp(int32_t sum, int32_t multiplier, int32_t added, int32_t shift)
{
    int32_t high = ta_smmulr((int32_t)((uint32_t)sum << 1), multiplier);
    high += high >> 31;
    return __ssat((high + added) >> shift, 8);
}

/* Three rows, as a whole tile has them: their instructions need not wait for one another. */
TA_PART void ta_s8_scale_three_dsp(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int32_t twice = 2 * scale->offset + 1, each = scale->each, from = all->from, to = all->to;
    const int32_t *multiplier = all->multiplier, *sum = all->sums;
    const int8_t *shift = all->shift;
    int8_t *out = all->out;
    for (const int32_t *const stop = sum + all->count; sum != stop; ++sum, ++out) {
        const int32_t m = *multiplier, right = *shift, added = (int32_t)((uint32_t)twice << (right - 1));
        const int32_t a = ta_s8_scaled_dsp(sum[0], m, added, right);
        const int32_t b = ta_s8_scaled_dsp(sum[from], m, added, right);
        const int32_t c = ta_s8_scaled_dsp(sum[2 * from], m, added, right);
        multiplier += each;
        shift += each;
        out[0] = (int8_t)a;
        out[to] = (int8_t)b;
        out[2 * to] = (int8_t)c;
    }
}

/* Rounding `tflite`; results take all of 8 bits, and shifts are from 1 to TA_S8_MOST_SHIFT. */
TA_PART void ta_s8_scale_tflite_dsp(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int32_t offset = scale->offset, each = scale->each, rows = all->rows, from = all->from, to = all->to;
    const int32_t *multiplier = all->multiplier, *sums = all->sums;
    const int8_t *shift = all->shift;
    int8_t *out = all->out;
    for (const int8_t *const stop = out + all->count; out != stop; ++out, ++sums) {
        const int32_t m = *multiplier, right = *shift, added = ta_s8_offset_and_half(offset, right);
        const int32_t *sum = sums;
        int8_t *to_row = out;
        multiplier += each;
        shift += each;
        *to_row = (int8_t)ta_s8_scaled_dsp(*sum, m, added, right);
        for (int32_t r = 1; r < rows; ++r) {
            sum += from;
            to_row += to;
            *to_row = (int8_t)ta_s8_scaled_dsp(*sum, m, added, right);
        }
    }
}

/* Rounding `tflite_single`, shifts from 33 on. */
TA_PART void ta_s8_scale_single_dsp(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    for (int32_t n = 0; n < all->count; ++n) {
        const int32_t multiplier = all->multiplier[n * scale->each], right = all->shift[n * scale->each] - 32;
        const int32_t half = (int32_t)1 << (right - 1);
        for (int32_t r = 0; r < all->rows; ++r) {
            const int32_t high = (int32_t)(((int64_t)all->sums[r * all->from + n] * multiplier) >> 32);
            int32_t value = ((high + half) >> right) + scale->offset;
            value = value < scale->high ? value : scale->high;
            value = value > scale->low ? value : scale->low;
            all->out[r * all->to + n] = (int8_t)(value ^ scale->flip);
        }
    }
}

/* As `ta_s8_scale_rows`, 0 where there is no form. */
static inline int ta_s8_scale_arm_m(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    if (rounding == TA_S8_TFLITE && scale->low == -128 && scale->high == 127 && scale->flip == 0 &&
        scale->least >= 1 && scale->most <= TA_S8_MOST_SHIFT) {
        if (all->rows == 3) {
            ta_s8_scale_three_dsp(scale, all);
        } else {
            ta_s8_scale_tflite_dsp(scale, all);
        }
        return 1;
    }
    if (rounding == TA_S8_TFLITE_SINGLE && scale->least >= 33) {
        ta_s8_scale_single_dsp(scale, all);
        return 1;
    }
    return 0;
}
#elif defined(TA_KERNELS_MVE)
/* Rounding `tflite`; results take all of 8 bits, and shifts are from 1 on. */
TA_PART void ta_s8_scale_whole_mve(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int32_t step = 4 * scale->each, offset = scale->offset, rows = all->rows, from = all->from, to = all->to;
    const int32_t *multiplier = all->multiplier, *sums = all->sums;
    const int8_t *shift = all->shift;
    int8_t *out = all->out;
    for (int32_t count = all->count; count > 0; count -= 4) {
        const mve_pred16_t some = vctp32q((uint32_t)count);
        const int32x4_t m = vldrwq_s32(multiplier), right = vnegq_s32(vldrbq_s32(shift));
        const int32_t *sum = sums;
        int8_t *to_row = out;
        for (int32_t r = rows; r > 0; --r, sum += from, to_row += to) {
            int32x4_t value = vqrdmulhq_s32(vldrwq_s32(sum), m);
            value = vaddq_n_s32(vrshlq_s32(vaddq_s32(value, vshrq_n_s32(value, 31)), right), offset);
            const int16x8_t low = vqmovnbq_s32(vreinterpretq_s16_s32(value), value);
            const int8x16_t bytes = vqmovnbq_s16(vreinterpretq_s8_s16(low), low);
            vstrbq_p_s32(to_row, vreinterpretq_s32_s8(bytes), some);
        }
        sums += 4;
        out += 4;
        multiplier += step;
        shift += step;
    }
}

/* Scaled values, with offset and clamp, as bytes. */
static inline void ta_s8_store_mve(const ta_s8_scale *scale, int8_t *out, int32x4_t value, mve_pred16_t some)
{
    value = vminq_s32(vaddq_n_s32(value, scale->offset), vdupq_n_s32(scale->high));
    value = vmaxq_s32(value, vdupq_n_s32(scale->low));
    vstrbq_p_s32(out, veorq_s32(value, vdupq_n_s32(scale->flip)), some);
}

/* Rounding `tflite`. */
TA_PART void ta_s8_scale_tflite_mve(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    for (int32_t n = 0; n < all->count; n += 4) {
        const mve_pred16_t some = vctp32q((uint32_t)(all->count - n));
        const int32x4_t m = vldrwq_s32(all->multiplier + n * scale->each);
        const int32x4_t up = vnegq_s32(vldrbq_s32(all->shift + n * scale->each));
        for (int32_t r = 0; r < all->rows; ++r) {
            int32x4_t value = vldrwq_s32(all->sums + r * all->from + n);
            value = vqrdmulhq_s32(vshlq_s32(value, vmaxq_s32(up, vdupq_n_s32(0))), m);
            const int32x4_t right = vminq_s32(up, vdupq_n_s32(0));
            value = vaddq_s32(value, vshrq_n_s32(vandq_s32(value, right), 31));
            ta_s8_store_mve(scale, all->out + r * all->to + n, vrshlq_s32(value, right), some);
        }
    }
}

/* Rounding `tflite_single`, shifts from 33 on. */
TA_PART void ta_s8_scale_single_mve(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    for (int32_t n = 0; n < all->count; n += 4) {
        const mve_pred16_t some = vctp32q((uint32_t)(all->count - n));
        const int32x4_t m = vldrwq_s32(all->multiplier + n * scale->each);
        const int32x4_t right = vsubq_s32(vdupq_n_s32(32), vldrbq_s32(all->shift + n * scale->each));
        for (int32_t r = 0; r < all->rows; ++r) {
            const int32x4_t value = vmulhq_s32(vldrwq_s32(all->sums + r * all->from + n), m);
            ta_s8_store_mve(scale, all->out + r * all->to + n, vrshlq_s32(value, right), some);
        }
    }
}

/* As `ta_s8_scale_rows`, 0 where there is no form. */
static inline int ta_s8_scale_arm_m(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    if (rounding == TA_S8_TFLITE && scale->low == -128 && scale->high == 127 && scale->flip == 0 &&
        scale->least >= 1) {
        ta_s8_scale_whole_mve(scale, all);
        return 1;
    }
    if (rounding == TA_S8_TFLITE) {
        ta_s8_scale_tflite_mve(scale, all);
        return 1;
    }
    if (rounding == TA_S8_TFLITE_SINGLE && scale->least >= 33) {
        ta_s8_scale_single_mve(scale, all);
        return 1;
    }
    return 0;
}
#endif

#endif
