/* The AVX2 form of `s8_depthwise.h`, which includes this file. */
#ifndef TA_KERNELS_S8_DEPTHWISE_X86_H
#define TA_KERNELS_S8_DEPTHWISE_X86_H

#ifdef TA_KERNELS_X86
/* 8 channels of two taps as pairs of 16 bits. */
#define TA_DW_WIDE(pairs) (is_unsigned ? _mm256_cvtepu8_epi16(pairs) : _mm256_cvtepi8_epi16(pairs))
#define TA_DW_WEIGHTS(w) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w)))

/* Two taps of a window added to its sums, of 16 channels or of 8. */
#define TA_DW_ADD_16(low, high, one, two)                                                                     \
    do {                                                                                                      \
        const __m128i one_ = _mm_loadu_si128((const __m128i *)(one));                                         \
        const __m128i two_ = _mm_loadu_si128((const __m128i *)(two));                                         \
        low = _mm256_add_epi32(low, _mm256_madd_epi16(TA_DW_WIDE(_mm_unpacklo_epi8(one_, two_)), w0));        \
        high = _mm256_add_epi32(high, _mm256_madd_epi16(TA_DW_WIDE(_mm_unpackhi_epi8(one_, two_)), w1));      \
    } while (0)
#define TA_DW_ADD_8(low, one, two)                                                                            \
    do {                                                                                                      \
        const __m128i one_ = _mm_loadl_epi64((const __m128i *)(one));                                         \
        const __m128i two_ = _mm_loadl_epi64((const __m128i *)(two));                                         \
        low = _mm256_add_epi32(low, _mm256_madd_epi16(TA_DW_WIDE(_mm_unpacklo_epi8(one_, two_)), w0));        \
    } while (0)

/* 16 channels of one window. */
TA_AVX2_PART void ta_s8_dw_16_avx2(const ta_s8_taps *taps, int is_unsigned, int32_t *sums)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)taps->bias);
    __m256i high = _mm256_loadu_si256((const __m256i *)(taps->bias + 8));
    const int8_t *w = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        const __m256i w0 = TA_DW_WEIGHTS(w), w1 = TA_DW_WEIGHTS(w + 16);
        TA_DW_ADD_16(low, high, taps->at[t], taps->at[t + 1]);
    }
    _mm256_storeu_si256((__m256i *)sums, low);
    _mm256_storeu_si256((__m256i *)(sums + 8), high);
}

/* 16 channels of four windows from window `pixel` on. */
TA_AVX2_PART void ta_s8_dw_16_4_avx2(const ta_s8_taps *taps, int is_unsigned, int32_t *sums, int32_t pixel)
{
    __m256i a0 = _mm256_loadu_si256((const __m256i *)taps->bias), a1 = a0, a2 = a0, a3 = a0;
    __m256i b0 = _mm256_loadu_si256((const __m256i *)(taps->bias + 8)), b1 = b0, b2 = b0, b3 = b0;
    const int8_t *w = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        const __m256i w0 = TA_DW_WEIGHTS(w), w1 = TA_DW_WEIGHTS(w + 16);
        const int64_t step = ta_s8_dw_step(taps, t), next = ta_s8_dw_step(taps, t + 1);
        const int8_t *one = taps->at[t] + pixel * step, *two = taps->at[t + 1] + pixel * next;
        TA_DW_ADD_16(a0, b0, one, two);
        TA_DW_ADD_16(a1, b1, one + step, two + next);
        TA_DW_ADD_16(a2, b2, one + 2 * step, two + 2 * next);
        TA_DW_ADD_16(a3, b3, one + 3 * step, two + 3 * next);
    }
    _mm256_storeu_si256((__m256i *)sums, a0);
    _mm256_storeu_si256((__m256i *)(sums + 8), b0);
    _mm256_storeu_si256((__m256i *)(sums + TA_DW_GROUP), a1);
    _mm256_storeu_si256((__m256i *)(sums + TA_DW_GROUP + 8), b1);
    _mm256_storeu_si256((__m256i *)(sums + 2 * TA_DW_GROUP), a2);
    _mm256_storeu_si256((__m256i *)(sums + 2 * TA_DW_GROUP + 8), b2);
    _mm256_storeu_si256((__m256i *)(sums + 3 * TA_DW_GROUP), a3);
    _mm256_storeu_si256((__m256i *)(sums + 3 * TA_DW_GROUP + 8), b3);
}

/* The first 8 channels of a group. */
TA_AVX2_PART void ta_s8_dw_8_avx2(const ta_s8_taps *taps, int is_unsigned, int32_t *sums)
{
    __m256i low = _mm256_loadu_si256((const __m256i *)taps->bias);
    const int8_t *w = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        const __m256i w0 = TA_DW_WEIGHTS(w);
        TA_DW_ADD_8(low, taps->at[t], taps->at[t + 1]);
    }
    _mm256_storeu_si256((__m256i *)sums, low);
}

/* They of four windows. */
TA_AVX2_PART void ta_s8_dw_8_4_avx2(const ta_s8_taps *taps, int is_unsigned, int32_t *sums, int32_t pixel)
{
    __m256i a0 = _mm256_loadu_si256((const __m256i *)taps->bias), a1 = a0, a2 = a0, a3 = a0;
    const int8_t *w = taps->w;
    for (int32_t t = 0; t < taps->taps; t += 2, w += 2 * TA_DW_GROUP) {
        const __m256i w0 = TA_DW_WEIGHTS(w);
        const int64_t step = ta_s8_dw_step(taps, t), next = ta_s8_dw_step(taps, t + 1);
        const int8_t *one = taps->at[t] + pixel * step, *two = taps->at[t + 1] + pixel * next;
        TA_DW_ADD_8(a0, one, two);
        TA_DW_ADD_8(a1, one + step, two + next);
        TA_DW_ADD_8(a2, one + 2 * step, two + 2 * next);
        TA_DW_ADD_8(a3, one + 3 * step, two + 3 * next);
    }
    _mm256_storeu_si256((__m256i *)sums, a0);
    _mm256_storeu_si256((__m256i *)(sums + TA_DW_GROUP), a1);
    _mm256_storeu_si256((__m256i *)(sums + 2 * TA_DW_GROUP), a2);
    _mm256_storeu_si256((__m256i *)(sums + 3 * TA_DW_GROUP), a3);
}

/* Four windows at once; the last four may be some of those before. */
TA_AVX2_PART void ta_s8_dw_pixels_avx2(const ta_s8_taps *taps, int is_unsigned, int both, int32_t *sums, int32_t pixels)
{
    if (pixels == 1 && both) {
        ta_s8_dw_16_avx2(taps, is_unsigned, sums);
        return;
    }
    if (pixels == 1) {
        ta_s8_dw_8_avx2(taps, is_unsigned, sums);
        return;
    }
    for (int32_t pixel = 0; pixel < pixels; pixel += 4) {
        const int32_t from = pixel + 4 > pixels ? pixels - 4 : pixel;
        if (both) {
            ta_s8_dw_16_4_avx2(taps, is_unsigned, sums + from * TA_DW_GROUP, from);
        } else {
            ta_s8_dw_8_4_avx2(taps, is_unsigned, sums + from * TA_DW_GROUP, from);
        }
    }
}

TA_AVX2 static inline void ta_s8_dw_sums_avx2(const ta_s8_taps *taps, int32_t *sums, int32_t pixels, int32_t count)
{
    if (taps->conv->is_unsigned) {
        ta_s8_dw_pixels_avx2(taps, 1, count > 8, sums, pixels);
    } else if (count > 8) {
        ta_s8_dw_pixels_avx2(taps, 0, 1, sums, pixels);
    } else {
        ta_s8_dw_pixels_avx2(taps, 0, 0, sums, pixels);
    }
}
#endif

#endif
