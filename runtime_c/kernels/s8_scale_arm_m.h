/* The forms of `s8_scale.h` for Cortex-M, which includes this file.
 *
 * `tflite`: SMMULR and VQRDMULH of twice the sum, or the sum, are the first rounding; a shift that rounds half up is
 * the second one, after 1 was subtracted from what is negative. `tflite_single` with a shift from 33 on rounds the
 * upper half of the product alone: what the lower half would add is less than one.
 *
 * Results are of all 8 bits first. Where fewer are wanted, or uint8, bytes are clamped and flipped afterwards, several
 * at once.
 */
#ifndef TA_KERNELS_S8_SCALE_ARM_M_H
#define TA_KERNELS_S8_SCALE_ARM_M_H

/* The greatest shift of the DSP extension: half of what it divides by, times twice the offset, and a scaled sum fit 32
 * bits. */
#define TA_S8_MOST_SHIFT 22

/* Numbers from a row of sums to the next in a tile. */
#define TA_S8_TILE_FROM 16

#if defined(TA_KERNELS_DSP) || defined(TA_KERNELS_MVE)
/* Whether results of all 8 bits are what is wanted. */
static inline int ta_s8_is_whole(const ta_s8_scale *scale)
{
    return scale->low == -128 && scale->high == 127 && scale->flip == 0;
}
#endif

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

/* What the upper half of a product is still shifted by to the right. */
static inline int32_t ta_s8_rest_dsp(int rounding, int32_t shift)
{
    return rounding == TA_S8_TFLITE ? shift : shift - 32;
}

/* One output of 8 bits. */
static inline int32_t ta_s8_scaled_dsp(int rounding, int32_t sum, int32_t multiplier, int32_t added, int32_t rest)
{
    int32_t high;
    if (rounding == TA_S8_TFLITE) {
        high = ta_smmulr((int32_t)((uint32_t)sum << 1), multiplier);
        high += high >> 31;
    } else {
        high = (int32_t)(((int64_t)sum * multiplier) >> 32);
    }
    return __ssat((high + added) >> rest, 8);
}

/* Three rows, as a whole tile has them: their instructions need not wait for one another. */
static inline void ta_s8_scale_three_dsp(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int32_t twice = 2 * scale->offset + 1, each = scale->each, to = all->to;
    const int32_t *multiplier = all->multiplier, *sum = all->sums;
    const int8_t *shift = all->shift;
    int8_t *out = all->out;
    for (const int32_t *const stop = sum + all->count; sum != stop; ++sum, ++out) {
        const int32_t m = *multiplier, rest = ta_s8_rest_dsp(rounding, *shift);
        const int32_t added = (int32_t)((uint32_t)twice << (rest - 1));
        const int32_t a = ta_s8_scaled_dsp(rounding, sum[0], m, added, rest);
        const int32_t b = ta_s8_scaled_dsp(rounding, sum[TA_S8_TILE_FROM], m, added, rest);
        const int32_t c = ta_s8_scaled_dsp(rounding, sum[2 * TA_S8_TILE_FROM], m, added, rest);
        multiplier += each;
        shift += each;
        out[0] = (int8_t)a;
        out[to] = (int8_t)b;
        out[2 * to] = (int8_t)c;
    }
}

static inline void ta_s8_scale_any_dsp(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int32_t offset = scale->offset, each = scale->each, rows = all->rows, from = all->from, to = all->to;
    const int32_t *multiplier = all->multiplier, *sums = all->sums;
    const int8_t *shift = all->shift;
    int8_t *out = all->out;
    for (const int8_t *const stop = out + all->count; out != stop; ++out, ++sums) {
        const int32_t m = *multiplier, rest = ta_s8_rest_dsp(rounding, *shift);
        const int32_t added = ta_s8_offset_and_half(offset, rest);
        const int32_t *sum = sums;
        int8_t *to_row = out;
        multiplier += each;
        shift += each;
        *to_row = (int8_t)ta_s8_scaled_dsp(rounding, *sum, m, added, rest);
        for (int32_t r = 1; r < rows; ++r) {
            sum += from;
            to_row += to;
            *to_row = (int8_t)ta_s8_scaled_dsp(rounding, *sum, m, added, rest);
        }
    }
}

/* Each byte's greater one of two, or with `least` the lesser one. */
static inline uint32_t ta_s8_ends_dsp(uint32_t a, uint32_t b, int least)
{
    (void)__ssub8((int8x4_t)a, (int8x4_t)b);
    return least ? (uint32_t)__sel((uint8x4_t)b, (uint8x4_t)a) : (uint32_t)__sel((uint8x4_t)a, (uint8x4_t)b);
}

/* `count` results of all 8 bits in every row, clamped and flipped. */
TA_PART void ta_s8_clamp_rows(const ta_s8_scale *scale, int32_t rows, int32_t count, int8_t *out, int32_t to)
{
    const uint32_t low = (uint32_t)(scale->low & 0xff) * 0x01010101u, flip = (uint32_t)scale->flip * 0x01010101u;
    const uint32_t high = (uint32_t)(scale->high & 0xff) * 0x01010101u;
    for (int32_t r = 0; r < rows; ++r, out += to) {
        for (int32_t n = 0; n < count; n += 4) {
            uint32_t word = 0;
            const size_t some = count - n < 4 ? (size_t)(count - n) : 4;
            if (some == 4) {
                word = ta_word(out + n);
            } else {
                (void)memcpy(&word, out + n, some);
            }
            word = ta_s8_ends_dsp(ta_s8_ends_dsp(word, low, 0), high, 1) ^ flip;
            if (some == 4) {
                (void)memcpy(out + n, &word, 4);
            } else {
                (void)memcpy(out + n, &word, some);
            }
        }
    }
}

/* Each in a function of its own, with all registers. */
TA_PART void ta_s8_scale_three_tflite_dsp(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    ta_s8_scale_three_dsp(TA_S8_TFLITE, scale, all);
}

TA_PART void ta_s8_scale_any_tflite_dsp(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    ta_s8_scale_any_dsp(TA_S8_TFLITE, scale, all);
}

TA_PART void ta_s8_scale_three_single_dsp(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    ta_s8_scale_three_dsp(TA_S8_TFLITE_SINGLE, scale, all);
}

TA_PART void ta_s8_scale_any_single_dsp(const ta_s8_scale *scale, const ta_s8_rows *all)
{
    ta_s8_scale_any_dsp(TA_S8_TFLITE_SINGLE, scale, all);
}

static inline void ta_s8_scale_bytes_dsp(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int three = all->rows == 3 && all->from == TA_S8_TILE_FROM;
    if (rounding == TA_S8_TFLITE && three) {
        ta_s8_scale_three_tflite_dsp(scale, all);
    } else if (rounding == TA_S8_TFLITE) {
        ta_s8_scale_any_tflite_dsp(scale, all);
    } else if (three) {
        ta_s8_scale_three_single_dsp(scale, all);
    } else {
        ta_s8_scale_any_single_dsp(scale, all);
    }
}

/* Any results; 0 where there is no form. */
TA_PART int ta_s8_scale_clamped_dsp(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int32_t least = ta_s8_rest_dsp(rounding, scale->least), most = ta_s8_rest_dsp(rounding, scale->most);
    if (rounding == TA_S8_ONNX || least < 1 || most > TA_S8_MOST_SHIFT) {
        return 0;
    }
    ta_s8_scale_bytes_dsp(rounding, scale, all);
    if (!ta_s8_is_whole(scale)) {
        ta_s8_clamp_rows(scale, all->rows, all->count, all->out, all->to);
    }
    return 1;
}

/* As `ta_s8_scale_rows`, 0 where there is no form. */
static inline int ta_s8_scale_arm_m(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    if (rounding == TA_S8_TFLITE && ta_s8_is_whole(scale) && scale->least >= 1 && scale->most <= TA_S8_MOST_SHIFT) {
        ta_s8_scale_bytes_dsp(TA_S8_TFLITE, scale, all);
        return 1;
    }
    return ta_s8_scale_clamped_dsp(rounding, scale, all);
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

/* `count` results of all 8 bits in every row, clamped and flipped. */
TA_PART void ta_s8_clamp_rows(const ta_s8_scale *scale, int32_t rows, int32_t count, int8_t *out, int32_t to)
{
    const int8x16_t low = vdupq_n_s8((int8_t)scale->low), high = vdupq_n_s8((int8_t)scale->high);
    const int8x16_t flip = vdupq_n_s8((int8_t)scale->flip);
    for (int32_t r = 0; r < rows; ++r, out += to) {
        for (int32_t n = 0; n < count; n += 16) {
            const mve_pred16_t some = vctp8q((uint32_t)(count - n));
            const int8x16_t bytes = vminq_s8(vmaxq_s8(vldrbq_z_s8(out + n, some), low), high);
            vstrbq_p_s8(out + n, veorq_s8(bytes, flip), some);
        }
    }
}

/* As `ta_s8_scale_rows`, 0 where there is no form. */
static inline int ta_s8_scale_arm_m(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    if (rounding == TA_S8_TFLITE && ta_s8_is_whole(scale) && scale->least >= 1) {
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
