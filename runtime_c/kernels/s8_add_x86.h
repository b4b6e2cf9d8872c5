/* The forms of `s8_add.h` for x86-64, which includes this file: AVX2 and AVX-512, one walk over the elements for both.
 *
 * Rounding `onnx` is that of doubles: where the multipliers take 45 bits together, sums of their products with values
 * of 9 bits take no more than the 53 bits of a double, so that only the conversion to integers rounds.
 */
#ifndef TA_KERNELS_S8_ADD_X86_H
#define TA_KERNELS_S8_ADD_X86_H

#ifdef TA_KERNELS_X86
/* Whether there is a form for these constants. */
static inline int ta_s8_fits_x86(const ta_s8_add *add)
{
    return ta_s8_rounding(add->rounding) == TA_S8_TFLITE || add->wide[0] + add->wide[1] <= (int64_t)1 << 45;
}

/* `onnx`: what operand `part` is multiplied with, and what is added for the offsets of both. */
static inline double ta_s8_factor(const ta_s8_add *add, int part)
{
    const double factor = (double)add->wide[part] / (double)((int64_t)1 << add->shift[2]);
    return part && add->negative ? -factor : factor;
}

static inline double ta_s8_begin(const ta_s8_add *add)
{
    return add->offset[0] * ta_s8_factor(add, 0) + add->offset[1] * ta_s8_factor(add, 1);
}

/* Constants of sums. */
typedef struct {
    ta_s8_eight part[3]; /* tflite */
    __m256i offset[2];   /* tflite */
    int32_t negative;    /* tflite */
    __m256d factor[2];   /* onnx */
    __m256d begin;       /* onnx */
    __m256i last;        /* offset of results */
} ta_s8_addition_avx2;

TA_AVX2_PART void ta_s8_constants_avx2(ta_s8_addition_avx2 *all, int rounding, const ta_s8_add *add)
{
    all->last = _mm256_set1_epi16((int16_t)add->offset[2]);
    if (rounding == TA_S8_ONNX) {
        all->factor[0] = _mm256_set1_pd(ta_s8_factor(add, 0));
        all->factor[1] = _mm256_set1_pd(ta_s8_factor(add, 1));
        all->begin = _mm256_set1_pd(ta_s8_begin(add));
        return;
    }
    all->negative = add->negative;
    for (int part = 0; part < 3; ++part) {
        ta_s8_eight_avx2(&all->part[part], TA_SCALE_TFLITE, TA_S8_TFLITE, _mm256_set1_epi32(add->multiplier[part]),
                         _mm256_set1_epi32(add->shift[part]));
    }
    for (int part = 0; part < 2; ++part) {
        all->offset[part] = _mm256_set1_epi32(add->offset[part]);
    }
}

/* `tflite`: 8 values of an operand, in the order of upper halves. */
TA_AVX2_PART __m256i ta_s8_operand_avx2(const ta_s8_addition_avx2 *all, int part, __m128i bytes)
{
    const __m256i value = _mm256_add_epi32(_mm256_cvtepi8_epi32(bytes), all->offset[part]);
    return ta_s8_scaled_avx2(&all->part[part], TA_SCALE_TFLITE, TA_S8_TFLITE, _mm256_slli_epi32(value, 20));
}

/* `onnx`: 4 sums. */
TA_AVX2_PART __m128i ta_s8_four_avx2(const ta_s8_addition_avx2 *all, __m128i a, __m128i b)
{
    const __m256d first = _mm256_cvtepi32_pd(a), second = _mm256_cvtepi32_pd(b);
    const __m256d sum = _mm256_fmadd_pd(first, all->factor[0], _mm256_fmadd_pd(second, all->factor[1], all->begin));
    return _mm256_cvtpd_epi32(_mm256_round_pd(sum, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* 8 sums; those of `tflite` are in order, since they are scaled twice. */
TA_AVX2_PART __m256i ta_s8_half_avx2(const ta_s8_addition_avx2 *all, int rounding, __m128i a, __m128i b)
{
    if (rounding == TA_S8_ONNX) {
        const __m256i x = _mm256_cvtepi8_epi32(a), y = _mm256_cvtepi8_epi32(b);
        const __m128i low = ta_s8_four_avx2(all, _mm256_castsi256_si128(x), _mm256_castsi256_si128(y));
        const __m128i high = ta_s8_four_avx2(all, _mm256_extracti128_si256(x, 1), _mm256_extracti128_si256(y, 1));
        return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    }
    const __m256i x = ta_s8_operand_avx2(all, 0, a), y = ta_s8_operand_avx2(all, 1, b);
    const __m256i sum = all->negative ? _mm256_sub_epi32(x, y) : _mm256_add_epi32(x, y);
    return ta_s8_scaled_avx2(&all->part[2], TA_SCALE_TFLITE, TA_S8_TFLITE, sum);
}

/* 16 results, before they are clamped. */
TA_AVX2_PART __m128i ta_s8_sums_avx2(const ta_s8_addition_avx2 *all, int rounding, __m128i a, __m128i b)
{
    const __m256i low = ta_s8_half_avx2(all, rounding, a, b);
    const __m256i high = ta_s8_half_avx2(all, rounding, _mm_srli_si128(a, 8), _mm_srli_si128(b, 8));
    const __m256i mixed = _mm256_adds_epi16(_mm256_packs_epi32(low, high), all->last);
    const __m256i ordered = _mm256_permute4x64_epi64(mixed, 0xd8);
    return _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
}

/* The first `count` of 16 values. */
TA_AVX2_PART __m128i ta_s8_load_avx2(const int8_t *from, int32_t count)
{
    if (count == 16) {
        return _mm_loadu_si128((const __m128i *)from);
    }
    if (count == 8) {
        return _mm_loadl_epi64((const __m128i *)from);
    }
    int8_t line[16] = {0};
    (void)memcpy(line, from, (size_t)count);
    return _mm_loadu_si128((const __m128i *)line);
}

TA_AVX2_PART void ta_s8_store_avx2(int8_t *out, int32_t count, __m128i values)
{
    if (count == 16) {
        _mm_storeu_si128((__m128i *)out, values);
    } else if (count == 8) {
        _mm_storel_epi64((__m128i *)out, values);
    } else {
        int8_t line[16];
        _mm_storeu_si128((__m128i *)line, values);
        (void)memcpy(out, line, (size_t)count);
    }
}
#endif

#ifdef TA_KERNELS_AVX512
/* Constants of sums. */
typedef struct {
    ta_s8_sixteen part[3]; /* tflite */
    __m512i offset[2];     /* tflite */
    int32_t negative;      /* tflite */
    __m512d factor[2];     /* onnx */
    __m512d begin;         /* onnx */
    __m512i last;          /* offset of results */
} ta_s8_addition_avx512;

TA_AVX512_PART void ta_s8_constants_avx512(ta_s8_addition_avx512 *all, int rounding, const ta_s8_add *add)
{
    all->last = _mm512_set1_epi32(add->offset[2]);
    if (rounding == TA_S8_ONNX) {
        all->factor[0] = _mm512_set1_pd(ta_s8_factor(add, 0));
        all->factor[1] = _mm512_set1_pd(ta_s8_factor(add, 1));
        all->begin = _mm512_set1_pd(ta_s8_begin(add));
        return;
    }
    all->negative = add->negative;
    for (int part = 0; part < 3; ++part) {
        ta_s8_sixteen_avx512(&all->part[part], TA_S8_TFLITE, _mm512_set1_epi32(add->multiplier[part]),
                             _mm512_set1_epi32(add->shift[part]));
    }
    for (int part = 0; part < 2; ++part) {
        all->offset[part] = _mm512_set1_epi32(add->offset[part]);
    }
}

/* `tflite`: 16 values of an operand. */
TA_AVX512_PART __m512i ta_s8_operand_avx512(const ta_s8_addition_avx512 *all, int part, __m128i bytes)
{
    const __m512i value = _mm512_add_epi32(_mm512_cvtepi8_epi32(bytes), all->offset[part]);
    return ta_s8_scaled_avx512(&all->part[part], TA_S8_TFLITE, _mm512_slli_epi32(value, 20));
}

/* `onnx`: 8 sums. */
TA_AVX512_PART __m256i ta_s8_eight_sums_avx512(const ta_s8_addition_avx512 *all, __m128i a, __m128i b)
{
    const __m512d first = _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(a));
    const __m512d second = _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(b));
    const __m512d sum = _mm512_fmadd_pd(first, all->factor[0], _mm512_fmadd_pd(second, all->factor[1], all->begin));
    return _mm512_cvt_roundpd_epi32(sum, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* 16 results, before they are clamped. */
TA_AVX512_PART __m128i ta_s8_sums_avx512(const ta_s8_addition_avx512 *all, int rounding, __m128i a, __m128i b)
{
    __m512i sum;
    if (rounding == TA_S8_ONNX) {
        const __m256i high = ta_s8_eight_sums_avx512(all, _mm_srli_si128(a, 8), _mm_srli_si128(b, 8));
        sum = _mm512_inserti64x4(_mm512_castsi256_si512(ta_s8_eight_sums_avx512(all, a, b)), high, 1);
    } else {
        const __m512i x = ta_s8_operand_avx512(all, 0, a), y = ta_s8_operand_avx512(all, 1, b);
        sum = all->negative ? _mm512_sub_epi32(x, y) : _mm512_add_epi32(x, y);
        sum = ta_s8_scaled_avx512(&all->part[2], TA_S8_TFLITE, sum);
    }
    return _mm512_cvtsepi32_epi8(_mm512_add_epi32(sum, all->last));
}

TA_AVX512_PART __m128i ta_s8_load_avx512(const int8_t *from, int32_t count)
{
    return _mm_maskz_loadu_epi8((__mmask16)((1u << count) - 1), from);
}
#endif

/* Sums of all elements, of one rounding and of any, from these operations. */
#define TA_S8_ADD_X86(FORM, form)                                                                                 \
    FORM##_PART void ta_s8_add_as_##form(int rounding, const ta_s8_add *add, const ta_s8_add_rows *all)           \
    {                                                                                                             \
        const __m128i flip0 = _mm_set1_epi8((char)add->flip[0]), flip1 = _mm_set1_epi8((char)add->flip[1]);       \
        const __m128i flip2 = _mm_set1_epi8((char)add->flip[2]);                                                  \
        const __m128i low = _mm_set1_epi8((char)add->low), high = _mm_set1_epi8((char)add->high);                 \
        ta_s8_addition_##form of;                                                                                 \
        ta_s8_constants_##form(&of, rounding, add);                                                               \
        for (int32_t r = 0; r < all->rows; ++r) {                                                                 \
            const int8_t *first = all->first + r * all->step[0], *second = all->second + r * all->step[1];        \
            int8_t *out = all->out + r * all->step[2];                                                            \
            for (int32_t k = 0; k < all->count; k += 16) {                                                        \
                const int32_t count = all->count - k < 16 ? all->count - k : 16;                                  \
                const __m128i a = _mm_xor_si128(ta_s8_load_##form(first + k, count), flip0);                      \
                const __m128i b = _mm_xor_si128(ta_s8_load_##form(second + k, count), flip1);                     \
                const __m128i bytes = ta_s8_sums_##form(&of, rounding, a, b);                                     \
                const __m128i inside = _mm_max_epi8(_mm_min_epi8(bytes, high), low);                              \
                ta_s8_store_##form(out + k, count, _mm_xor_si128(inside, flip2));                                 \
            }                                                                                                     \
        }                                                                                                         \
    }                                                                                                             \
    FORM static inline void ta_s8_add_##form(const ta_s8_add *add, const ta_s8_add_rows *all)                     \
    {                                                                                                             \
        if (ta_s8_rounding(add->rounding) == TA_S8_ONNX) {                                                        \
            ta_s8_add_as_##form(TA_S8_ONNX, add, all);                                                            \
        } else {                                                                                                  \
            ta_s8_add_as_##form(TA_S8_TFLITE, add, all);                                                          \
        }                                                                                                         \
    }

#ifdef TA_KERNELS_X86
TA_S8_ADD_X86(TA_AVX2, avx2)
#endif
#ifdef TA_KERNELS_AVX512
TA_S8_ADD_X86(TA_AVX512, avx512)
#endif

#endif
