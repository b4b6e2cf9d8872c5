/* The AVX-512 form of `s8_scale.h`, which includes this file: 16 outputs in one vector.
 *
 * Products of 32-bit lanes take 64 bits, so those of even lanes are made apart from those of odd ones.
 */
#ifndef TA_KERNELS_S8_SCALE_AVX512_H
#define TA_KERNELS_S8_SCALE_AVX512_H

#ifdef TA_KERNELS_AVX512
/* Constants of 16 outputs. */
typedef struct {
    __m512i even, odd;  /* multipliers */
    __m512i left;       /* tflite: shift of sums, so that the first rounding ends with the upper half */
    __m512i round;      /* tflite: added before the last shift */
    __mmask16 negative; /* tflite: where what is negative is rounded to zero */
    __m512i right;      /* tflite: shift of upper halves */
    __m512i shift[2];   /* else: of 64-bit products, even and odd */
    __m512i half[2];    /* else: added to these */
} ta_s8_sixteen;

TA_AVX512_PART void ta_s8_sixteen_avx512(ta_s8_sixteen *all, int rounding, __m512i multipliers, __m512i shifts)
{
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi32(1), unit = _mm512_set1_epi64(1);
    all->even = multipliers;
    all->odd = _mm512_srli_epi64(multipliers, 32);
    if (rounding == TA_S8_TFLITE) {
        all->left = _mm512_sub_epi32(one, _mm512_min_epi32(shifts, zero));
        all->right = _mm512_max_epi32(shifts, zero);
        all->round = _mm512_sllv_epi32(one, _mm512_sub_epi32(all->right, one));
        all->negative = _mm512_cmpgt_epi32_mask(all->right, zero);
        return;
    }
    all->shift[0] = _mm512_and_si512(shifts, _mm512_set1_epi64(0xffffffff));
    all->shift[1] = _mm512_srli_epi64(shifts, 32);
    for (int k = 0; k < 2; ++k) {
        all->half[k] = _mm512_sllv_epi64(unit, _mm512_sub_epi64(all->shift[k], unit));
        if (rounding == TA_S8_ONNX) {
            all->half[k] = _mm512_sub_epi64(all->half[k], unit);
        }
    }
}

/* Products shifted to the right; half was added before, or what rounds to even. */
TA_AVX512_PART __m512i ta_s8_shifted_avx512(const ta_s8_sixteen *all, int odd, int rounding, __m512i product)
{
    __m512i sum = _mm512_add_epi64(product, all->half[odd]);
    if (rounding == TA_S8_ONNX) {
        const __m512i last = _mm512_srlv_epi64(product, all->shift[odd]);
        sum = _mm512_add_epi64(sum, _mm512_and_si512(last, _mm512_set1_epi64(1)));
    }
    return _mm512_srav_epi64(sum, all->shift[odd]);
}

/* 16 sums scaled. */
TA_AVX512_PART __m512i ta_s8_scaled_avx512(const ta_s8_sixteen *all, int rounding, __m512i sum)
{
    const __mmask16 odds = 0xaaaa;
    if (rounding == TA_S8_TFLITE) {
        const __m512i half = _mm512_set1_epi64((int64_t)1 << 31), twice = _mm512_sllv_epi32(sum, all->left);
        const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(twice, all->even), half);
        const __m512i odd = _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(twice, 32), all->odd), half);
        const __m512i high = _mm512_mask_blend_epi32(odds, _mm512_srli_epi64(even, 32), odd);
        const __mmask16 down = _mm512_mask_cmplt_epi32_mask(all->negative, high, _mm512_setzero_si512());
        const __m512i raised = _mm512_add_epi32(high, all->round);
        return _mm512_srav_epi32(_mm512_mask_sub_epi32(raised, down, raised, _mm512_set1_epi32(1)), all->right);
    }
    const __m512i even = ta_s8_shifted_avx512(all, 0, rounding, _mm512_mul_epi32(sum, all->even));
    const __m512i odd = ta_s8_shifted_avx512(all, 1, rounding,
                                             _mm512_mul_epi32(_mm512_srli_epi64(sum, 32), all->odd));
    return _mm512_mask_blend_epi32(odds, even, _mm512_slli_epi64(odd, 32));
}

/* 32 bytes twice. */
TA_AVX512_PART __m512i ta_s8_twice_avx512(const int32_t *from, const int32_t *then)
{
    const __m512i low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)from));
    return _mm512_inserti64x4(low, _mm256_loadu_si256((const __m256i *)then), 1);
}

/* The first `count` of 16 values; where these are 8 or 16, without a mask, which takes longer. */
TA_AVX512_PART void ta_s8_store_avx512(int8_t *out, int32_t count, __m128i values)
{
    if (count == 16) {
        _mm_storeu_si128((__m128i *)out, values);
    } else if (count == 8) {
        _mm_storel_epi64((__m128i *)out, values);
    } else {
        _mm_mask_storeu_epi8(out, (__mmask16)((1u << count) - 1), values);
    }
}

/* Up to 16 outputs of each row, or with `both` 0 up to 8 of each, two rows at once. */
TA_AVX512_PART void ta_s8_scale_as_avx512(int rounding, int both, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)all->shift);
    const __m128i shifts = both ? bytes : _mm_unpacklo_epi64(bytes, bytes);
    const __m512i offset = _mm512_set1_epi32(scale->offset);
    const __m128i low = _mm_set1_epi8((char)scale->low), high = _mm_set1_epi8((char)scale->high);
    const __m128i flip = _mm_set1_epi8((char)scale->flip);
    const int32_t rows = all->rows, count = all->count, step = both ? 1 : 2;
    const int64_t from = all->from, to = all->to;
    const int32_t *sums = all->sums, *const multiplier = all->multiplier;
    int8_t *out = all->out;
    ta_s8_sixteen own;
    ta_s8_sixteen_avx512(&own, rounding, ta_s8_twice_avx512(multiplier, multiplier + (both ? 8 : 0)),
                         _mm512_cvtepi8_epi32(shifts));
    for (int32_t r = 0; r < rows; r += step, sums += step * from, out += step * to) {
        const int next = !both && r + 1 < rows;
        const __m512i sum = both ? _mm512_loadu_si512(sums) : ta_s8_twice_avx512(sums, sums + (next ? from : 0));
        const __m512i scaled = _mm512_add_epi32(ta_s8_scaled_avx512(&own, rounding, sum), offset);
        const __m128i inside = _mm_max_epi8(_mm_min_epi8(_mm512_cvtsepi32_epi8(scaled), high), low);
        const __m128i values = _mm_xor_si128(inside, flip);
        ta_s8_store_avx512(out, count, values);
        if (next) {
            ta_s8_store_avx512(out + to, count, _mm_unpackhi_epi64(values, values));
        }
    }
}

/* Any number of outputs up to 16. */
TA_AVX512 static inline void ta_s8_scale_avx512(int rounding, const ta_s8_scale *scale, const ta_s8_rows *all)
{
    const int both = all->count > 8;
    if (rounding == TA_S8_TFLITE && both) {
        ta_s8_scale_as_avx512(TA_S8_TFLITE, 1, scale, all);
    } else if (rounding == TA_S8_TFLITE) {
        ta_s8_scale_as_avx512(TA_S8_TFLITE, 0, scale, all);
    } else if (rounding == TA_S8_ONNX) {
        ta_s8_scale_as_avx512(TA_S8_ONNX, both, scale, all);
    } else {
        ta_s8_scale_as_avx512(TA_S8_TFLITE_SINGLE, both, scale, all);
    }
}
#endif

#endif
