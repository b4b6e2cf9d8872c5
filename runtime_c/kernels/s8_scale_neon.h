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

/* The same where no shift is to the left and none is 0. */
TA_NEON_PART int32x4_t ta_s8_right_neon(int32x4_t sum, int32x4_t multiplier, int32x4_t up)
{
    const int32x4_t high = vqrdmulhq_s32(sum, multiplier);
    return vrshlq_s32(vsraq_n_s32(high, high, 31), up);
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
            (void)memcpy(out, line, (size_t)left);
        }
    }
}

/* How sums are scaled: as `tflite` does, also where no shift is to the left and none is 0; or as `tflite_single` where
 * shifts are at least 32, of the upper halves of products. TA_SCALE_OTHER is any other way. */
enum { TA_SCALE_TFLITE, TA_SCALE_RIGHT, TA_SCALE_HIGH, TA_SCALE_OTHER };

static inline int ta_s8_how_neon(int rounding, const ta_s8_scale *scale)
{
    if (rounding == TA_S8_TFLITE) {
        return scale->least >= 1 ? TA_SCALE_RIGHT : TA_SCALE_TFLITE;
    }
    return rounding == TA_S8_TFLITE_SINGLE && scale->least >= 32 ? TA_SCALE_HIGH : TA_SCALE_OTHER;
}

/* Constants of 16 outputs: multipliers and shifts to the left. */
typedef struct {
    int32x4_t multiplier[4], up[4];
    int16x8_t offset;
    int8x16_t low, high, flip;
    int32_t clamps; /* 0 where all bytes are results as they are */
} ta_s8_sixteen;

/* Whether any byte is to be clamped or flipped. */
static inline int32_t ta_s8_clamps(const ta_s8_scale *scale)
{
    return scale->low > -128 || scale->high < 127 || scale->flip != 0;
}

TA_NEON_PART void ta_s8_sixteen_of(ta_s8_sixteen *all, int how, int32_t clamps, const ta_s8_scale *scale,
                                   const int32_t *multiplier, const int8_t *shift)
{
    const int8x8_t base = vdup_n_s8(how == TA_SCALE_HIGH ? 31 : 0);
    const int8x16_t right = vld1q_s8(shift);
    const int16x8_t up0 = vsubl_s8(base, vget_low_s8(right)), up1 = vsubl_s8(base, vget_high_s8(right));
    all->multiplier[0] = vld1q_s32(multiplier);
    all->multiplier[1] = vld1q_s32(multiplier + 4);
    all->multiplier[2] = vld1q_s32(multiplier + 8);
    all->multiplier[3] = vld1q_s32(multiplier + 12);
    all->up[0] = vmovl_s16(vget_low_s16(up0));
    all->up[1] = vmovl_high_s16(up0);
    all->up[2] = vmovl_s16(vget_low_s16(up1));
    all->up[3] = vmovl_high_s16(up1);
    all->offset = vdupq_n_s16((int16_t)scale->offset);
    all->low = vdupq_n_s8((int8_t)scale->low);
    all->high = vdupq_n_s8((int8_t)scale->high);
    all->flip = vdupq_n_s8((int8_t)scale->flip);
    all->clamps = clamps;
}

TA_NEON_PART int32x4_t ta_s8_rescaled_neon(int how, int32x4_t sum, int32x4_t multiplier, int32x4_t up)
{
    if (how == TA_SCALE_HIGH) { /* twice the product, of which the upper half is exact */
        return vrshlq_s32(vqdmulhq_s32(sum, multiplier), up);
    }
    return how == TA_SCALE_RIGHT ? ta_s8_right_neon(sum, multiplier, up) : ta_s8_tflite_neon(sum, multiplier, up);
}

/* The results of 16 sums before they are clamped, or with `both` 0 of the 8 of `a` and `b`. */
#define TA_S8_RESCALED(sum, part) ta_s8_rescaled_neon(how, sum, all->multiplier[part], all->up[part])
TA_NEON_PART int8x16_t ta_s8_bytes_neon(int how, int both, const ta_s8_sixteen *all, int32x4_t a, int32x4_t b,
                                        int32x4_t c, int32x4_t d)
{
    const int16x8_t low = vqmovn_high_s32(vqmovn_s32(TA_S8_RESCALED(a, 0)), TA_S8_RESCALED(b, 1));
    const int8x8_t half = vqmovn_s16(vqaddq_s16(low, all->offset));
    if (!both) {
        return vcombine_s8(half, half);
    }
    const int16x8_t high = vqmovn_high_s32(vqmovn_s32(TA_S8_RESCALED(c, 2)), TA_S8_RESCALED(d, 3));
    return vqmovn_high_s16(half, vqaddq_s16(high, all->offset));
}

TA_NEON_PART int8x16_t ta_s8_clamped_neon(const ta_s8_sixteen *all, int8x16_t bytes)
{
    return veorq_s8(vmaxq_s8(vminq_s8(bytes, all->high), all->low), all->flip);
}

/* Where sums go: 16 numbers for each row, or where there is a scale 16 bytes or 8, `apart` bytes apart. */
typedef struct {
    int32_t *sums;
    int8_t *out;
    int64_t apart;
    const ta_s8_sixteen *scale;
} ta_s8_sink;

enum { TA_SCALE_NOT = -1 }; /* sums are stored */

/* Where the sums of the next row begin. Compilers would keep the places of all rows, on the stack. */
TA_NEON_PART const int32_t *ta_s8_start_behind(const int32_t *start, int32_t step)
{
    start += step;
    __asm__("" : "+r"(start));
    return start;
}

/* The scale, once sums are there. Compilers that knew it before would keep it in registers that sums need. */
TA_NEON_PART ta_s8_sixteen ta_s8_scale_behind(const ta_s8_sink *sink)
{
    const ta_s8_sixteen *scale = sink->scale;
    __asm__("" : "+r"(scale));
    return *scale;
}

/* The sums of row `r`; with `both` 0 those of `a` and `b`. */
TA_NEON_PART void ta_s8_store_neon(int both, const ta_s8_sink *sink, int32_t r, int32x4_t a, int32x4_t b, int32x4_t c,
                                   int32x4_t d)
{
    int32_t *const sums = sink->sums + 16 * r;
    vst1q_s32(sums, a);
    vst1q_s32(sums + 4, b);
    if (both) {
        vst1q_s32(sums + 8, c);
        vst1q_s32(sums + 12, d);
    }
}

/* 16 bytes, or 8. */
TA_NEON_PART void ta_s8_put_neon(int both, int8_t *out, int8x16_t bytes)
{
    if (both) {
        vst1q_s8(out, bytes);
    } else {
        vst1_s8(out, vget_low_s8(bytes));
    }
}

/* The results of one row, or of four from row `r` on, once they are clamped. */
TA_NEON_PART void ta_s8_put_1_neon(int both, const ta_s8_sink *sink, const ta_s8_sixteen *scale, int32_t r,
                                   int8x16_t bytes)
{
    ta_s8_put_neon(both, sink->out + r * sink->apart, scale->clamps ? ta_s8_clamped_neon(scale, bytes) : bytes);
}

TA_NEON_PART void ta_s8_put_4_neon(int both, const ta_s8_sink *sink, const ta_s8_sixteen *scale, int32_t r,
                                   int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t d)
{
    int8_t *const out = sink->out + r * sink->apart;
    if (scale->clamps) {
        a = ta_s8_clamped_neon(scale, a), b = ta_s8_clamped_neon(scale, b);
        c = ta_s8_clamped_neon(scale, c), d = ta_s8_clamped_neon(scale, d);
    }
    ta_s8_put_neon(both, out, a);
    ta_s8_put_neon(both, out + sink->apart, b);
    ta_s8_put_neon(both, out + 2 * sink->apart, c);
    ta_s8_put_neon(both, out + 3 * sink->apart, d);
}

/* Leaves `rows` rows behind. */
TA_NEON_PART void ta_s8_sink_behind(int how, ta_s8_sink *sink, int32_t rows)
{
    if (how == TA_SCALE_NOT) {
        sink->sums += 16 * rows;
    } else {
        sink->out += rows * sink->apart;
    }
}

/* 16 outputs of every row, or with `both` 0 8 outputs. */
TA_NEON_PART void ta_s8_scale_as_neon(int how, int both, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    ta_s8_sixteen constants;
    ta_s8_sixteen_of(&constants, how, 1, scale, all->multiplier, all->shift);
    const int32_t *sums = all->sums;
    int8_t *out = all->out;
    for (int32_t r = all->rows; r > 0; --r, sums += all->from, out += all->to) {
        const int32x4_t a = vld1q_s32(sums), b = vld1q_s32(sums + 4);
        const int32x4_t c = both ? vld1q_s32(sums + 8) : a, d = both ? vld1q_s32(sums + 12) : b;
        ta_s8_put_neon(both, out, ta_s8_clamped_neon(&constants, ta_s8_bytes_neon(how, both, &constants, a, b, c, d)));
    }
}

/* Multiples of 8 outputs. */
TA_NEON_PART void ta_s8_scale_whole_neon(int how, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    if (all->count == 16) {
        ta_s8_scale_as_neon(how, 1, scale, all);
    } else {
        ta_s8_scale_as_neon(how, 0, scale, all);
    }
}

static inline void ta_s8_scale_neon(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int how = ta_s8_how_neon(rounding, scale);
    if (how == TA_SCALE_OTHER || all->count % 8 != 0) {
        for (int32_t n = 0; n < all->count; n += 8) {
            ta_s8_scale_8_neon(rounding, scale, all, n);
        }
    } else if (how == TA_SCALE_HIGH) {
        ta_s8_scale_whole_neon(TA_SCALE_HIGH, scale, all);
    } else if (how == TA_SCALE_RIGHT) {
        ta_s8_scale_whole_neon(TA_SCALE_RIGHT, scale, all);
    } else {
        ta_s8_scale_whole_neon(TA_SCALE_TFLITE, scale, all);
    }
}
#endif

#endif
