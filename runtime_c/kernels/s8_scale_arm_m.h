/* The forms of `s8_scale.h` for Cortex-M, which includes this file.
 *
 * `tflite`: SMMULR and VQRDMULH of twice the sum, or the sum, are the first rounding; a shift that rounds half up is
 * the second one, after 1 was subtracted from what is negative. `tflite_single` with a shift from 33 on rounds the
 * upper half of the product alone: what the lower half would add is less than one.
 */
#ifndef TA_KERNELS_S8_SCALE_ARM_M_H
#define TA_KERNELS_S8_SCALE_ARM_M_H

#if defined(TA_KERNELS_DSP)
/* SMMULR has no intrinsic in C. */
static inline int32_t ta_smmulr(int32_t a, int32_t b)
{
    int32_t high;
    __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
    return high;
}

/* Whether `ta_s8_scale_tflite_dsp` takes a shift: half of what it divides by and the offset are one number. */
static inline int ta_s8_scale_fits(int32_t shift)
{
    return shift >= 1 && shift <= 20;
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

/* `count` outputs of every row, which take all of 8 bits, rounding `tflite`; no shift is negative. */
TA_PART void ta_s8_scale_tflite_dsp(const ta_s8_scale *scale, const int32_t *multiplier,
                                                             const int8_t *shift, int32_t rows, int32_t count,
                                                             const int32_t *sums, int32_t from, int8_t *out,
                                                             int32_t to)
{
    const int32_t offset = scale->offset, each = scale->each;
    for (const int8_t *const stop = out + count; out != stop; ++out, ++sums) {
        const int32_t m = *multiplier, right = *shift, added = ta_s8_offset_and_half(offset, right);
        const int32_t *sum = sums;
        int8_t *to_row = out;
        multiplier += each;
        shift += each;
        *to_row = (int8_t)ta_s8_scaled_dsp(*sum, m, added, right);
        if (rows == 1) {
            continue;
        }
        sum += from;
        to_row += to;
        *to_row = (int8_t)ta_s8_scaled_dsp(*sum, m, added, right);
        for (int32_t r = 2; r < rows; ++r) {
            sum += from;
            to_row += to;
            *to_row = (int8_t)ta_s8_scaled_dsp(*sum, m, added, right);
        }
    }
}

/* The same for rounding `tflite_single` and shifts from 33 on, clamped to `low` and `high`. */
static inline void ta_s8_scale_single_dsp(const ta_s8_scale *scale, int32_t multiplier, int32_t shift, int32_t rows,
                                          const int32_t *sums, int32_t from, int8_t *out, int32_t to)
{
    const int32_t half = (int32_t)1 << (shift - 33);
    for (; rows > 0; --rows, sums += from, out += to) {
        const int32_t high = (int32_t)(((int64_t)*sums * multiplier) >> 32);
        int32_t value = ((high + half) >> (shift - 32)) + scale->offset;
        value = value < scale->high ? value : scale->high;
        value = value > scale->low ? value : scale->low;
        *out = (int8_t)(value ^ scale->flip);
    }
}

/* As `ta_s8_scale_rows`, 0 where there is no form. */
static inline int ta_s8_scale_dsp(int rounding, const ta_s8_scale *scale, const int32_t *multiplier,
                                  const int8_t *shift, int32_t rows, int32_t count, const int32_t *sums,
                                  int32_t from, int8_t *out, int32_t to)
{
    const int whole = scale->low == -128 && scale->high == 127 && scale->flip == 0;
    for (int32_t n = 0; n < (scale->each ? count : 1); ++n) {
        if (!(rounding == TA_S8_TFLITE ? whole && ta_s8_scale_fits(shift[n])
                                       : rounding == TA_S8_TFLITE_SINGLE && shift[n] >= 33)) {
            return 0;
        }
    }
    if (rounding == TA_S8_TFLITE) {
        ta_s8_scale_tflite_dsp(scale, multiplier, shift, rows, count, sums, from, out, to);
        return 1;
    }
    for (int32_t n = 0; n < count; ++n, multiplier += scale->each, shift += scale->each, ++sums, ++out) {
        ta_s8_scale_single_dsp(scale, *multiplier, *shift, rows, sums, from, out, to);
    }
    return 1;
}
#elif defined(TA_KERNELS_MVE)
/* Up to four values that are scaled, with offset and clamp, as bytes. */
#define TA_S8_STORE_MVE(out, value, some)                                    \
    do {                                                                     \
        int32x4_t value_ = vaddq_n_s32(value, scale->offset);                \
        value_ = vmaxq_s32(vminq_s32(value_, most), low);                    \
        vstrbq_p_s32(out, veorq_s32(value_, vdupq_n_s32(scale->flip)), some); \
    } while (0)

/* As `ta_s8_scale_rows`, rounding `tflite`. */
TA_PART void ta_s8_scale_tflite_mve(const ta_s8_scale *scale, const int32_t *multiplier, const int8_t *shift,
                                    int32_t rows, int32_t count, const int32_t *sums, int32_t from, int8_t *out,
                                    int32_t to)
{
    const int32x4_t low = vdupq_n_s32(scale->low), most = vdupq_n_s32(scale->high), zero = vdupq_n_s32(0);
    const int32_t step = 4 * scale->each;
    for (; count > 0; count -= 4, sums += 4, out += 4, multiplier += step, shift += step) {
        const mve_pred16_t some = vctp32q((uint32_t)count);
        const int32x4_t m = vldrwq_s32(multiplier), up = vnegq_s32(vldrbq_s32(shift));
        const int32x4_t left = vmaxq_s32(up, zero), right = vminq_s32(up, zero);
        const int32_t *sum = sums;
        int8_t *to_row = out;
        for (int32_t r = rows; r > 0; --r, sum += from, to_row += to) {
            int32x4_t value = vqrdmulhq_s32(vshlq_s32(vldrwq_s32(sum), left), m);
            value = vaddq_s32(value, vshrq_n_s32(vandq_s32(value, right), 31));
            TA_S8_STORE_MVE(to_row, vrshlq_s32(value, right), some);
        }
    }
}

/* The same for rounding `tflite_single` and shifts from 33 on. */
TA_PART void ta_s8_scale_single_mve(const ta_s8_scale *scale, const int32_t *multiplier, const int8_t *shift,
                                    int32_t rows, int32_t count, const int32_t *sums, int32_t from, int8_t *out,
                                    int32_t to)
{
    const int32x4_t low = vdupq_n_s32(scale->low), most = vdupq_n_s32(scale->high);
    const int32_t step = 4 * scale->each;
    for (; count > 0; count -= 4, sums += 4, out += 4, multiplier += step, shift += step) {
        const mve_pred16_t some = vctp32q((uint32_t)count);
        const int32x4_t m = vldrwq_s32(multiplier), right = vsubq_s32(vdupq_n_s32(32), vldrbq_s32(shift));
        for (int32_t r = 0; r < rows; ++r) {
            const int32x4_t value = vmulhq_s32(vldrwq_s32(sums + r * from), m);
            TA_S8_STORE_MVE(out + r * to, vrshlq_s32(value, right), some);
        }
    }
}

/* As `ta_s8_scale_rows`, 0 where there is no form. */
static inline int ta_s8_scale_mve(int rounding, const ta_s8_scale *scale, const int32_t *multiplier,
                                  const int8_t *shift, int32_t rows, int32_t count, const int32_t *sums,
                                  int32_t from, int8_t *out, int32_t to)
{
    if (rounding == TA_S8_TFLITE) {
        ta_s8_scale_tflite_mve(scale, multiplier, shift, rows, count, sums, from, out, to);
        return 1;
    }
    for (int32_t n = 0; n < (scale->each ? count : 1); ++n) {
        if (rounding != TA_S8_TFLITE_SINGLE || shift[n] < 33) {
            return 0;
        }
    }
    ta_s8_scale_single_mve(scale, multiplier, shift, rows, count, sums, from, out, to);
    return 1;
}
#endif

#endif
