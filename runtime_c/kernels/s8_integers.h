/* Sums of products of 8-bit values and int8 weights, as they are: int32. A zero point of the values, which may be known
 * only as the program runs, is taken off.
 *
 * Written in the operations of a layout, as `s8_conv2d.h`: weights are packed as there. Outside of an image there is the
 * zero point. `total` is the sum of the weights of each output, in whole groups of 16.
 *
 * Forms: portable, AVX2.
 */
#ifndef TA_KERNELS_S8_INTEGERS_H
#define TA_KERNELS_S8_INTEGERS_H

#include "kernels/s8_conv2d.h"

#ifdef TA_KERNELS_X86
/* 16 outputs of `rows` rows, whose sums are `from` numbers apart and whose results `apart`. */
TA_AVX2 static inline void ta_s8_centred_avx2(int32_t zero, const int32_t *total, int32_t rows, const int32_t *sums,
                                              int32_t from, int32_t *out, int64_t apart)
{
    const __m256i each = _mm256_set1_epi32(zero);
    const __m256i low = _mm256_mullo_epi32(each, _mm256_loadu_si256((const __m256i *)total));
    const __m256i high = _mm256_mullo_epi32(each, _mm256_loadu_si256((const __m256i *)(total + 8)));
    for (int32_t r = 0; r < rows; ++r, sums += from, out += apart) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)sums);
        const __m256i b = _mm256_loadu_si256((const __m256i *)(sums + 8));
        _mm256_storeu_si256((__m256i *)out, _mm256_sub_epi32(a, low));
        _mm256_storeu_si256((__m256i *)(out + 8), _mm256_sub_epi32(b, high));
    }
}
#endif

/* `count` sums of `rows` rows less what the zero point adds; sums of a row are `from` numbers behind those of the one
 * before, results `apart`. */
static inline void ta_s8_centred(int32_t zero, const int32_t *total, int32_t rows, int32_t count, const int32_t *sums,
                                 int32_t from, int32_t *out, int64_t apart)
{
#ifdef TA_KERNELS_X86
    if (count == 16 && TA_HAS_AVX2) {
        ta_s8_centred_avx2(zero, total, rows, sums, from, out, apart);
        return;
    }
#endif
    for (int32_t i = 0; i < count; ++i) {
        const int32_t taken = zero * total[i];
        for (int32_t r = 0; r < rows; ++r) {
            out[r * apart + i] = sums[r * from + i] - taken;
        }
    }
}

/* Outputs `begin` to `stop` of all pixels. `zero` is that of values of type int8, or of uint8 less 128. */
static inline void ta_s8_integer_outputs(const ta_s8_conv2d *conv, int32_t zero, const int8_t *x, const int8_t *w,
                                         const int32_t *total, int32_t *out, int32_t begin, int32_t stop)
{
    ta_s8_cell panel[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    int32_t sums[TA_S8_ROWS * TA_S8_OUTPUTS] TA_VECTORS;
    const int32_t pixels = conv->batch * conv->out_height * conv->out_width;
    static const int32_t zeros[TA_S8_OUTPUTS] = {0};
    ta_s8_pixel pixel = {0, 0, 0};
    for (int32_t first = 0, rows; first < pixels; first += rows) {
        rows = pixels - first < TA_S8_ROWS ? pixels - first : TA_S8_ROWS;
        const ta_s8_cell *const in_place = ta_s8_in_place(conv, x, pixel, rows);
        for (int32_t n = begin; n < stop; n += TA_S8_OUTPUTS) {
            const int32_t count = stop - n < TA_S8_OUTPUTS ? stop - n : TA_S8_OUTPUTS;
            int32_t *const to = out + (int64_t)first * conv->apart + n;
            ta_s8_sums(conv, in_place, panel, x, pixel, rows, n == begin, w, zeros, n, count, sums);
            ta_s8_centred(zero, total + n, rows, count, sums, TA_S8_OUTPUTS, to, conv->apart);
        }
        for (int32_t r = 0; r < rows; ++r) {
            ta_s8_next(conv, &pixel);
        }
    }
}

#ifdef TA_S8_WALKS
/* Where sums become integers. */
typedef struct {
    const ta_s8_conv2d *conv;
    int32_t zero;
    const int32_t *total;
    int32_t *out;
} ta_s8_to_integers;

TA_AMX_PART void ta_s8_take_integers(const void *to, const ta_s8_some *some)
{
    const ta_s8_to_integers *const own = (const ta_s8_to_integers *)to;
    int32_t *const out = own->out + (int64_t)some->first * own->conv->apart + some->n;
    ta_s8_centred(own->zero, own->total + some->n, some->rows, some->count, some->sums, TA_S8_SUMMED, out,
                  own->conv->apart);
}

TA_AMX static inline void ta_s8_integers_amx(const ta_s8_conv2d *conv, int32_t zero, const int8_t *x, const int8_t *w,
                                             const int32_t *total, int32_t *out)
{
    static const int32_t zeros[TA_S8_SUMMED] = {0};
    const ta_s8_walk walk = {conv, x, w, zeros, 0};
    const ta_s8_to_integers to = {conv, zero, total, out};
    ta_s8_walk_amx(&walk, ta_s8_take_integers, &to);
}
#endif

/* All sums. */
static inline void ta_s8_integers(const ta_s8_conv2d *conv, int32_t zero, const int8_t *x, const int8_t *w,
                                  const int32_t *total, int32_t *out)
{
    const int32_t step = ta_s8_resident(conv->depth);
    ta_s8_conv2d padded = *conv;
    padded.pad = zero;
#ifdef TA_S8_WALKS
    if (ta_s8_is_walked(conv)) {
        ta_s8_integers_amx(&padded, zero, x, w, total, out);
        return;
    }
#endif
    for (int32_t n = 0; n < conv->outputs; n += step) {
        const int32_t stop = conv->outputs - n < step ? conv->outputs : n + step;
        ta_s8_integer_outputs(&padded, zero, x, w, total, out, n, stop);
    }
}

#endif
