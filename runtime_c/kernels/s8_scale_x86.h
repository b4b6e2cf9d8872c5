/* The AVX2 form of `s8_scale.h`, which includes this file.
 *
 * Products of 32-bit lanes take 64 bits: those of even lanes are made apart from those of odd ones. Their upper halves
 * then stand in the order 0, 2, 1, 3 of each 128 bits, and so do constants that are used from there on; bytes are
 * brought into order at the end.
 */
#ifndef TA_KERNELS_S8_SCALE_X86_H
#define TA_KERNELS_S8_SCALE_X86_H

#ifdef TA_KERNELS_X86
/* Lanes in the order of upper halves, and the upper halves of two vectors. */
#define TA_ORDER(lanes) _mm256_shuffle_epi32(lanes, 0xd8)
#define TA_UPPER(even, odd) \
    _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(even), _mm256_castsi256_ps(odd), 0xdd))

/* How sums are scaled: as `tflite` does, else by 64-bit products, with shifts of 33 at least or with any. */
enum { TA_SCALE_TFLITE, TA_SCALE_FAR, TA_SCALE_WIDE };

/* Constants of 8 outputs. */
typedef struct {
    __m256i even, odd;   /* multipliers */
    __m256i left;        /* tflite: shift of sums, so that the first rounding ends with the upper half */
    __m256i round;       /* tflite: added before the last shift */
    __m256i negative;    /* tflite: where what is negative is rounded to zero */
    __m256i right;       /* shift of upper halves */
    __m256i shift[2];    /* else: of 64-bit products, even and odd */
    __m256i half[2];     /* else: added to these */
} ta_s8_eight;

TA_AVX2_PART void ta_s8_eight_avx2(ta_s8_eight *all, int how, int rounding, __m256i multipliers, __m256i shifts)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi32(1), unit = _mm256_set1_epi64x(1);
    all->even = multipliers;
    all->odd = _mm256_srli_epi64(multipliers, 32);
    if (how == TA_SCALE_TFLITE) {
        all->left = _mm256_sub_epi32(one, _mm256_min_epi32(shifts, zero));
        all->right = TA_ORDER(_mm256_max_epi32(shifts, zero));
        all->round = _mm256_sllv_epi32(one, _mm256_sub_epi32(all->right, one));
        all->negative = _mm256_cmpgt_epi32(all->right, zero);
        return;
    }
    all->right = TA_ORDER(_mm256_sub_epi32(shifts, _mm256_set1_epi32(32)));
    all->shift[0] = _mm256_and_si256(shifts, _mm256_set1_epi64x(0xffffffff));
    all->shift[1] = _mm256_srli_epi64(shifts, 32);
    for (int k = 0; k < 2; ++k) {
        all->half[k] = _mm256_sllv_epi64(unit, _mm256_sub_epi64(all->shift[k], unit));
        if (rounding == TA_S8_ONNX) {
            all->half[k] = _mm256_sub_epi64(all->half[k], unit);
        }
    }
}

/* Products before they are shifted: half is added, or what rounds to even. */
TA_AVX2_PART __m256i ta_s8_halved_avx2(const ta_s8_eight *all, int odd, int rounding, __m256i product)
{
    const __m256i sum = _mm256_add_epi64(product, all->half[odd]);
    if (rounding != TA_S8_ONNX) {
        return sum;
    }
    return _mm256_add_epi64(
        sum, _mm256_and_si256(_mm256_srlv_epi64(product, all->shift[odd]), _mm256_set1_epi64x(1)));
}

/* The low halves of 64-bit values shifted to the right with their sign. */
TA_AVX2_PART __m256i ta_s8_shifted_avx2(__m256i value, __m256i shift)
{
    const __m256i least = _mm256_set1_epi64x(INT64_MIN);
    return _mm256_sub_epi64(_mm256_srlv_epi64(_mm256_xor_si256(value, least), shift),
                            _mm256_srlv_epi64(least, shift));
}

/* 8 sums scaled, in the order of upper halves. */
TA_AVX2_PART __m256i ta_s8_scaled_avx2(const ta_s8_eight *all, int how, int rounding, __m256i sum)
{
    if (how == TA_SCALE_TFLITE) {
        const __m256i half = _mm256_set1_epi64x((int64_t)1 << 31), twice = _mm256_sllv_epi32(sum, all->left);
        const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(twice, all->even), half);
        const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(twice, 32), all->odd), half);
        const __m256i high = TA_UPPER(even, odd);
        const __m256i down = _mm256_and_si256(_mm256_srai_epi32(high, 31), all->negative);
        return _mm256_srav_epi32(_mm256_add_epi32(_mm256_add_epi32(high, all->round), down), all->right);
    }
    const __m256i even = ta_s8_halved_avx2(all, 0, rounding, _mm256_mul_epi32(sum, all->even));
    const __m256i odd = ta_s8_halved_avx2(all, 1, rounding, _mm256_mul_epi32(_mm256_srli_epi64(sum, 32), all->odd));
    if (how == TA_SCALE_FAR) {
        return _mm256_srav_epi32(TA_UPPER(even, odd), all->right);
    }
    return TA_UPPER(_mm256_slli_epi64(ta_s8_shifted_avx2(even, all->shift[0]), 32),
                    _mm256_slli_epi64(ta_s8_shifted_avx2(odd, all->shift[1]), 32));
}

TA_AVX2_PART __m256i ta_s8_loaded_avx2(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

/* 16 outputs of each row, two rows at once, or with `both` 0 8 outputs of each, four at once; what is left of these
 * lines are the last row again. */
TA_AVX2_PART void ta_s8_scale_as_avx2(int how, int rounding, int both, const ta_s8_scale *scale,
                                      const ta_s8_rows *all)
{
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15));
    const __m128i shifts = _mm_loadu_si128((const __m128i *)all->shift);
    const __m256i offset = _mm256_set1_epi16((int16_t)scale->offset), flip = _mm256_set1_epi8((char)scale->flip);
    const __m256i low = _mm256_set1_epi8((char)scale->low), high = _mm256_set1_epi8((char)scale->high);
    const int32_t rows = all->rows, some = both ? 2 : 4, half = both ? 8 : 0;
    const int64_t from = all->from, to = all->to;
    const int32_t *sums = all->sums;
    int8_t *out = all->out;
    ta_s8_eight one, two;
    ta_s8_eight_avx2(&one, how, rounding, ta_s8_loaded_avx2(all->multiplier), _mm256_cvtepi8_epi32(shifts));
    two = one;
    if (both) {
        ta_s8_eight_avx2(&two, how, rounding, ta_s8_loaded_avx2(all->multiplier + 8),
                         _mm256_cvtepi8_epi32(_mm_srli_si128(shifts, 8)));
    }
    for (int32_t r = 0; r < rows; r += some, sums += some * from, out += some * to) {
        const int32_t left = rows - r;
        const int64_t row1 = both ? 0 : left > 1, row2 = both ? left > 1 : left > 2 ? 2 : row1;
        const int64_t row3 = both ? row2 : left > 3 ? 3 : row2;
        const __m256i a = ta_s8_scaled_avx2(&one, how, rounding, ta_s8_loaded_avx2(sums));
        const __m256i b = ta_s8_scaled_avx2(&two, how, rounding, ta_s8_loaded_avx2(sums + row1 * from + half));
        __m256i c = a, d = b;
        if (!both || left > 1) {
            c = ta_s8_scaled_avx2(&one, how, rounding, ta_s8_loaded_avx2(sums + row2 * from));
            d = ta_s8_scaled_avx2(&two, how, rounding, ta_s8_loaded_avx2(sums + row3 * from + half));
        }
        const __m256i first = _mm256_adds_epi16(_mm256_packs_epi32(a, b), offset);
        const __m256i second = _mm256_adds_epi16(_mm256_packs_epi32(c, d), offset);
        __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xd8);
        bytes = _mm256_max_epi8(_mm256_min_epi8(_mm256_shuffle_epi8(bytes, order), high), low);
        bytes = _mm256_xor_si256(bytes, flip);
        const __m128i before = _mm256_castsi256_si128(bytes), behind = _mm256_extracti128_si256(bytes, 1);
        if (both) {
            _mm_storeu_si128((__m128i *)out, before);
            _mm_storeu_si128((__m128i *)(out + row2 * to), behind);
        } else {
            _mm_storel_epi64((__m128i *)out, before);
            _mm_storel_epi64((__m128i *)(out + row1 * to), _mm_unpackhi_epi64(before, before));
            _mm_storel_epi64((__m128i *)(out + row2 * to), behind);
            _mm_storel_epi64((__m128i *)(out + row3 * to), _mm_unpackhi_epi64(behind, behind));
        }
    }
}

/* Sums of rows that are scaled as `rounding` says. */
TA_AVX2_PART void ta_s8_scale_rows_avx2(int rounding, int both, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    if (rounding == TA_S8_TFLITE) {
        ta_s8_scale_as_avx2(TA_SCALE_TFLITE, rounding, both, scale, all);
    } else if (scale->least >= 33) {
        ta_s8_scale_as_avx2(TA_SCALE_FAR, rounding, both, scale, all);
    } else {
        ta_s8_scale_as_avx2(TA_SCALE_WIDE, rounding, both, scale, all);
    }
}

/* 8 or 16 outputs of every row. */
TA_AVX2 static inline void ta_s8_scale_whole_avx2(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int both = all->count > 8;
    if (rounding == TA_S8_TFLITE && both) {
        ta_s8_scale_rows_avx2(TA_S8_TFLITE, 1, scale, all);
    } else if (rounding == TA_S8_TFLITE) {
        ta_s8_scale_rows_avx2(TA_S8_TFLITE, 0, scale, all);
    } else if (rounding == TA_S8_ONNX) {
        ta_s8_scale_rows_avx2(TA_S8_ONNX, both, scale, all);
    } else {
        ta_s8_scale_rows_avx2(TA_S8_TFLITE_SINGLE, both, scale, all);
    }
}

/* Any number of outputs up to 16. */
TA_AVX2 static inline void ta_s8_scale_avx2(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    if (all->count % 8 == 0) {
        ta_s8_scale_whole_avx2(rounding, scale, all);
        return;
    }
    for (int32_t r = 0; r < all->rows; ++r) {
        int8_t line[16];
        ta_s8_rows one = *all;
        one.rows = 1;
        one.sums += r * all->from;
        one.out = line;
        ta_s8_scale_whole_avx2(rounding, scale, &one);
        (void)memcpy(all->out + r * all->to, line, (size_t)all->count);
    }
}
#endif

#endif
