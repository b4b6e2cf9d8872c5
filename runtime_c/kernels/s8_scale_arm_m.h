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
/* Eight outputs of all rows, even ones in q0 and odd ones in q1. */
#define TA_S8_EIGHT_MVE(scale, all, sum, out, m, right, halves)                                                        \
    __asm__ volatile("dls    lr, %[count]\n"                                                                          \
                     "1:\n"                                                                                           \
                     "vld20.32 {q0, q1}, [%[sums]]\n"                                                                 \
                     "vld21.32 {q0, q1}, [%[sums]]\n"                                                                 \
                     "add    %[sums], %[sums], %[apart]\n" halves                                                     \
                     "vrshl.s32 q0, q0, %q[right0]\n"                                                                 \
                     "vrshl.s32 q1, q1, %q[right1]\n"                                                                 \
                     "vqmovnb.s32 q2, q0\n"                                                                           \
                     "vqmovnt.s32 q2, q1\n"                                                                           \
                     "vqadd.s16 q2, q2, %[zero]\n"                                                                    \
                     "vqmovnb.s16 q2, q2\n"                                                                           \
                     "vstrb.16 q2, [%[bytes]]\n"                                                                      \
                     "add    %[bytes], %[bytes], %[next]\n"                                                           \
                     "le     lr, 1b\n"                                                                                \
                     : [sums] "+r"(sum), [bytes] "+l"(out)                                                            \
                     : [count] "r"((all)->rows), [apart] "r"(4 * (all)->from), [next] "r"((all)->to),                  \
                       [zero] "r"((scale)->offset), [m0] "w"((m).val[0]), [m1] "w"((m).val[1]),                       \
                       [right0] "w"((right)[0]), [right1] "w"((right)[1])                                             \
                     : "lr", "q0", "q1", "q2", "q3", "memory")
#define TA_S8_HALVES_TFLITE              \
    "vqrdmulh.s32 q0, q0, %q[m0]\n"      \
    "vqrdmulh.s32 q1, q1, %q[m1]\n"      \
    "vshr.s32 q2, q0, #31\n"             \
    "vshr.s32 q3, q1, #31\n"             \
    "vadd.i32 q0, q0, q2\n"              \
    "vadd.i32 q1, q1, q3\n"
#define TA_S8_HALVES_SINGLE         \
    "vmulh.s32 q0, q0, %q[m0]\n"    \
    "vmulh.s32 q1, q1, %q[m1]\n"

/* Outputs in eights of all rows; results take all of 8 bits. Of rounding `tflite` shifts are from 1 on, of
 * `tflite_single` from 33 on. Returns how many outputs of each row that is. */
TA_PART int32_t ta_s8_scale_eights_mve(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    int32_t n = 0;
    for (; n + 8 <= all->count; n += 8) {
        const int32x4x2_t m = vld2q_s32(all->multiplier + n * scale->each);
        const int16x8_t down = vldrbq_s16(all->shift + n * scale->each);
        const int16x8_t up = vsubq_s16(vdupq_n_s16(rounding == TA_S8_TFLITE ? 0 : 32), down);
        const int32x4_t right[2] = {vmovlbq_s16(up), vmovltq_s16(up)};
        const int32_t *sum = all->sums + n;
        int8_t *out = all->out + n;
        if (rounding == TA_S8_TFLITE) {
            TA_S8_EIGHT_MVE(scale, all, sum, out, m, right, TA_S8_HALVES_TFLITE);
        } else {
            TA_S8_EIGHT_MVE(scale, all, sum, out, m, right, TA_S8_HALVES_SINGLE);
        }
    }
    return n;
}

/* Scaled values, with offset and clamp, as bytes. */
static inline void ta_s8_store_mve(const ta_s8_scale *scale, int8_t *out, int32x4_t value, mve_pred16_t some)
{
    value = vminq_s32(vaddq_n_s32(value, scale->offset), vdupq_n_s32(scale->high));
    value = vmaxq_s32(value, vdupq_n_s32(scale->low));
    vstrbq_p_s32(out, veorq_s32(value, vdupq_n_s32(scale->flip)), some);
}

/* Rounding `tflite`, from output `n` on. */
TA_PART void ta_s8_scale_tflite_mve(const ta_s8_scale *scale, const ta_s8_rows *all, int32_t n)
{
    for (; n < all->count; n += 4) {
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

/* Rounding `tflite_single`, shifts from 33 on, from output `n` on. */
TA_PART void ta_s8_scale_single_mve(const ta_s8_scale *scale, const ta_s8_rows *all, int32_t n)
{
    for (; n < all->count; n += 4) {
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
    const int single = rounding == TA_S8_TFLITE_SINGLE && scale->least >= 33 ? 1 : 0;
    int32_t n = 0;
    if (ta_s8_is_whole(scale) && (single || (rounding == TA_S8_TFLITE && scale->least >= 1))) {
        n = ta_s8_scale_eights_mve(rounding, scale, all);
    }
    if (n == all->count) {
        return 1;
    }
    if (rounding == TA_S8_TFLITE) {
        ta_s8_scale_tflite_mve(scale, all, n);
        return 1;
    }
    if (single) {
        ta_s8_scale_single_mve(scale, all, n);
        return 1;
    }
    return 0;
}
#endif

#endif
