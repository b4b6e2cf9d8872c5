/* The form of `s8_add.h` for NEON, rounding `tflite`; `s8_add.h` includes this file. Of two operands one is often just
 * halved, and shifts are to the right: then additions take two thirds of the instructions of any others.
 */
#ifndef TA_KERNELS_S8_ADD_NEON_H
#define TA_KERNELS_S8_ADD_NEON_H

#ifdef TA_KERNELS_NEON
/* How values are scaled: halved, by a shift of at least 1, or by any. */
enum { TA_ADD_HALF, TA_ADD_RIGHT, TA_ADD_ANY };

/* Constants of the operands, and of the sum, which is the last. */
typedef struct {
    int16x8_t offset[3]; /* those of operands 32 times */
    int32x4_t multiplier[3], up[3];
    int8x16_t flip[3], low, high;
} ta_s8_addition_neon;

TA_NEON_PART ta_s8_addition_neon ta_s8_addition_of(const ta_s8_add *add)
{
    ta_s8_addition_neon all;
    for (int part = 0; part < 3; ++part) {
        all.offset[part] = vdupq_n_s16((int16_t)(add->offset[part] * (part < 2 ? 32 : 1)));
        all.multiplier[part] = vdupq_n_s32(add->multiplier[part]);
        all.up[part] = vdupq_n_s32(-add->shift[part]);
        all.flip[part] = vdupq_n_s8((int8_t)add->flip[part]);
    }
    all.low = vdupq_n_s8((int8_t)add->low);
    all.high = vdupq_n_s8((int8_t)add->high);
    return all;
}

static inline int ta_s8_add_how(const ta_s8_add *add, int part)
{
    if (add->multiplier[part] == (int32_t)1 << 30 && add->shift[part] == 0 && part < 2) {
        return TA_ADD_HALF;
    }
    return add->shift[part] >= 1 ? TA_ADD_RIGHT : TA_ADD_ANY;
}

TA_NEON_PART int32x4_t ta_s8_add_scaled(const ta_s8_addition_neon *all, int how, int part, int32x4_t value)
{
    if (how == TA_ADD_RIGHT) {
        return ta_s8_right_neon(value, all->multiplier[part], all->up[part]);
    }
    return ta_s8_tflite_neon(value, all->multiplier[part], all->up[part]);
}

/* Four values of an operand, 32 times each, scaled. */
TA_NEON_PART int32x4_t ta_s8_operand_neon(const ta_s8_addition_neon *all, int how, int part, int16x4_t value)
{
    if (how == TA_ADD_HALF) {
        return vshll_n_s16(value, 14);
    }
    return ta_s8_add_scaled(all, how, part, vshll_n_s16(value, 15));
}

/* 8 sums, without clamping; `of` says how each part is scaled. */
TA_NEON_PART int16x8_t ta_s8_eight_neon(const ta_s8_addition_neon *all, const int *of, int negative, int8x8_t first,
                                        int8x8_t second)
{
    const int16x8_t x = vaddq_s16(vshll_n_s8(first, 5), all->offset[0]);
    const int16x8_t y = vaddq_s16(vshll_n_s8(second, 5), all->offset[1]);
    const int32x4_t a = ta_s8_operand_neon(all, of[0], 0, vget_low_s16(x));
    const int32x4_t b = ta_s8_operand_neon(all, of[0], 0, vget_high_s16(x));
    const int32x4_t c = ta_s8_operand_neon(all, of[1], 1, vget_low_s16(y));
    const int32x4_t d = ta_s8_operand_neon(all, of[1], 1, vget_high_s16(y));
    const int32x4_t low = ta_s8_add_scaled(all, of[2], 2, negative ? vsubq_s32(a, c) : vaddq_s32(a, c));
    const int32x4_t high = ta_s8_add_scaled(all, of[2], 2, negative ? vsubq_s32(b, d) : vaddq_s32(b, d));
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(low), high), all->offset[2]);
}

/* The elements of all rows that fill vectors of 8; how many these are of a row. */
TA_NEON_PART int32_t ta_s8_add_as_neon(const ta_s8_add *add, const ta_s8_add_rows *rows, int one, int other, int sum,
                                       int negative)
{
    const ta_s8_addition_neon all = ta_s8_addition_of(add);
    const int of[3] = {one, other, sum};
    const int32_t some = rows->count / 8 * 8;
    const int whole = rows->step[0] == some && rows->step[1] == some && rows->step[2] == some; /* one after the other */
    const int32_t lines = whole ? 1 : rows->rows, count = whole ? rows->rows * some : some;
    for (int32_t r = 0; r < lines; ++r) {
        const int8_t *first = rows->first + r * rows->step[0], *second = rows->second + r * rows->step[1];
        int8_t *out = rows->out + r * rows->step[2];
        int32_t k = 0;
        for (; k + 16 <= count; k += 16) {
            const int8x16_t x = veorq_s8(vld1q_s8(first + k), all.flip[0]);
            const int8x16_t y = veorq_s8(vld1q_s8(second + k), all.flip[1]);
            const int16x8_t low = ta_s8_eight_neon(&all, of, negative, vget_low_s8(x), vget_low_s8(y));
            const int16x8_t high = ta_s8_eight_neon(&all, of, negative, vget_high_s8(x), vget_high_s8(y));
            const int8x16_t bytes = vqmovn_high_s16(vqmovn_s16(low), high);
            vst1q_s8(out + k, veorq_s8(vmaxq_s8(vminq_s8(bytes, all.high), all.low), all.flip[2]));
        }
        if (k < count) {
            const int8x8_t x = veor_s8(vld1_s8(first + k), vget_low_s8(all.flip[0]));
            const int8x8_t y = veor_s8(vld1_s8(second + k), vget_low_s8(all.flip[1]));
            const int8x8_t bytes = vqmovn_s16(ta_s8_eight_neon(&all, of, negative, x, y));
            const int8x8_t inside = vmax_s8(vmin_s8(bytes, vget_low_s8(all.high)), vget_low_s8(all.low));
            vst1_s8(out + k, veor_s8(inside, vget_low_s8(all.flip[2])));
        }
    }
    return some;
}

static inline int32_t ta_s8_add_neon(const ta_s8_add *add, const ta_s8_add_rows *rows)
{
    const int one = ta_s8_add_how(add, 0), other = ta_s8_add_how(add, 1);
    if (add->negative) {
        return ta_s8_add_as_neon(add, rows, TA_ADD_ANY, TA_ADD_ANY, TA_ADD_ANY, 1);
    }
    if (one == TA_ADD_ANY || other == TA_ADD_ANY || ta_s8_add_how(add, 2) == TA_ADD_ANY) {
        return ta_s8_add_as_neon(add, rows, TA_ADD_ANY, TA_ADD_ANY, TA_ADD_ANY, 0);
    }
    if (one == TA_ADD_HALF) {
        return other == TA_ADD_HALF ? ta_s8_add_as_neon(add, rows, TA_ADD_HALF, TA_ADD_HALF, TA_ADD_RIGHT, 0)
                                    : ta_s8_add_as_neon(add, rows, TA_ADD_HALF, TA_ADD_RIGHT, TA_ADD_RIGHT, 0);
    }
    return other == TA_ADD_HALF ? ta_s8_add_as_neon(add, rows, TA_ADD_RIGHT, TA_ADD_HALF, TA_ADD_RIGHT, 0)
                                : ta_s8_add_as_neon(add, rows, TA_ADD_RIGHT, TA_ADD_RIGHT, TA_ADD_RIGHT, 0);
}
#endif

#endif
