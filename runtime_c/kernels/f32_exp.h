/* exp, log, tanh and erf of float32 in forms for instruction sets; the portable form is the C library's.
 *
 * All are within three units in the last place of the function's value. The coefficients of exp and erf are least squares
 * fits, weighted to even out the relative error: of exp on half of ln 2 around 0, of erf(x) / x on 0 to 4. Those of log
 * and tanh are Moshier's (Cephes, 1989).
 */
#ifndef TA_KERNELS_F32_EXP_H
#define TA_KERNELS_F32_EXP_H

#include <stdint.h>

#include "kernels/x86.h"

#ifdef TA_KERNELS_X86
/* exp of values of at most 88. The power of two is applied in halves, so that small results lose digits as they
 * should, down to 0. What is not a number stays so. */
TA_AVX2_PART __m256 ta_f32_exp_avx2(__m256 x)
{
    x = _mm256_max_ps(_mm256_set1_ps(-120.0f), x);
    const __m256 whole = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)), 8);
    __m256 r = _mm256_fmadd_ps(whole, _mm256_set1_ps(-0.693145752f), x);
    r = _mm256_fmadd_ps(whole, _mm256_set1_ps(-1.42860677e-6f), r);
    __m256 p = _mm256_set1_ps(1.3813046e-3f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3693825e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1668456e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.16666515f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.49999994f));
    p = _mm256_fmadd_ps(_mm256_mul_ps(p, r), r, r);
    p = _mm256_add_ps(p, _mm256_set1_ps(1.0f));
    const __m256i power = _mm256_cvtps_epi32(whole), half = _mm256_srai_epi32(power, 1);
    const __m256i one = _mm256_set1_epi32(127), rest = _mm256_sub_epi32(power, half);
    p = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, one), 23)));
    return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, one), 23)));
}

/* erf as a quotient of polynomials; from 4 on it is 1. What is not a number stays so. */
TA_AVX2_PART __m256 ta_f32_erf_avx2(__m256 x)
{
    const __m256 least = _mm256_set1_ps(-4.0f), most = _mm256_set1_ps(4.0f);
    x = _mm256_min_ps(most, _mm256_max_ps(least, x));
    const __m256 t = _mm256_mul_ps(x, x);
    __m256 p = _mm256_set1_ps(1.986802089959383e-06f), q = _mm256_set1_ps(3.742016269825399e-05f);
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0.00028456177096813917f));
    q = _mm256_fmadd_ps(q, t, _mm256_set1_ps(0.001185532077215612f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0.0038831878919154406f));
    q = _mm256_fmadd_ps(q, t, _mm256_set1_ps(0.015206939540803432f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0.05310126394033432f));
    q = _mm256_fmadd_ps(q, t, _mm256_set1_ps(0.11534851789474487f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(0.1935415118932724f));
    q = _mm256_fmadd_ps(q, t, _mm256_set1_ps(0.5048542618751526f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(1.1283791065216064f));
    q = _mm256_fmadd_ps(q, t, _mm256_set1_ps(1.0f));
    const __m256 value = _mm256_div_ps(_mm256_mul_ps(x, p), q), one = _mm256_set1_ps(1.0f);
    return _mm256_min_ps(one, _mm256_max_ps(_mm256_set1_ps(-1.0f), value));
}

/* exp of any values. */
TA_AVX2_PART __m256 ta_f32_exp_any_avx2(__m256 x)
{
    return ta_f32_exp_avx2(_mm256_min_ps(_mm256_set1_ps(120.0f), x));
}

/* tanh: a polynomial near 0, else from an exponential. What is not a number stays so. */
TA_AVX2_PART __m256 ta_f32_tanh_avx2(__m256 x)
{
    const __m256 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.0f)), one = _mm256_set1_ps(1.0f);
    const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x), t = _mm256_mul_ps(x, x);
    const __m256 power = ta_f32_exp_any_avx2(_mm256_add_ps(size, size));
    const __m256 far = _mm256_sub_ps(one, _mm256_div_ps(_mm256_set1_ps(2.0f), _mm256_add_ps(power, one)));
    __m256 p = _mm256_set1_ps(-5.70498872745e-3f);
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(2.06390887954e-2f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(-5.37397155531e-2f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(1.33314422036e-1f));
    p = _mm256_fmadd_ps(p, t, _mm256_set1_ps(-3.33332819422e-1f));
    const __m256 near = _mm256_fmadd_ps(_mm256_mul_ps(p, t), x, x);
    return _mm256_blendv_ps(_mm256_or_ps(far, sign), near, _mm256_cmp_ps(size, _mm256_set1_ps(0.625f), 1));
}

/* log: of 0 less than any number, of what is less than that not a number. */
TA_AVX2_PART __m256 ta_f32_log_avx2(__m256 x)
{
    const __m256 one = _mm256_set1_ps(1.0f), half = _mm256_set1_ps(0.5f), zero = _mm256_setzero_ps();
    const __m256 tiny = _mm256_cmp_ps(x, _mm256_set1_ps(1.17549435e-38f), 1);
    const __m256 large = _mm256_blendv_ps(x, _mm256_mul_ps(x, _mm256_set1_ps(8388608.0f)), tiny);
    const __m256i bits = _mm256_castps_si256(large);
    __m256 power = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(126)));
    power = _mm256_sub_ps(power, _mm256_and_ps(tiny, _mm256_set1_ps(23.0f)));
    const __m256i digits = _mm256_and_si256(bits, _mm256_set1_epi32(0x007fffff));
    __m256 m = _mm256_or_ps(_mm256_castsi256_ps(digits), half);
    const __m256 small = _mm256_cmp_ps(m, _mm256_set1_ps(0.707106781f), 1);
    power = _mm256_sub_ps(power, _mm256_and_ps(small, one));
    m = _mm256_sub_ps(_mm256_add_ps(m, _mm256_and_ps(small, m)), one);
    const __m256 t = _mm256_mul_ps(m, m);
    __m256 p = _mm256_set1_ps(7.0376836292e-2f);
    p = _mm256_fmadd_ps(p, m, _mm256_set1_ps(-1.1514610310e-1f));
    p = _mm256_fmadd_ps(p, m, _mm256_set1_ps(1.1676998740e-1f));
    p = _mm256_fmadd_ps(p, m, _mm256_set1_ps(-1.2420140846e-1f));
    p = _mm256_fmadd_ps(p, m, _mm256_set1_ps(1.4249322787e-1f));
    p = _mm256_fmadd_ps(p, m, _mm256_set1_ps(-1.6668057665e-1f));
    p = _mm256_fmadd_ps(p, m, _mm256_set1_ps(2.0000714765e-1f));
    p = _mm256_fmadd_ps(p, m, _mm256_set1_ps(-2.4999993993e-1f));
    p = _mm256_fmadd_ps(p, m, _mm256_set1_ps(3.3333331174e-1f));
    p = _mm256_fmadd_ps(power, _mm256_set1_ps(-2.12194440e-4f), _mm256_mul_ps(_mm256_mul_ps(p, m), t));
    p = _mm256_add_ps(m, _mm256_fmadd_ps(t, _mm256_set1_ps(-0.5f), p));
    p = _mm256_fmadd_ps(power, _mm256_set1_ps(0.693359375f), p);
    const __m256 endless = _mm256_div_ps(one, zero);
    p = _mm256_blendv_ps(p, _mm256_sub_ps(zero, endless), _mm256_cmp_ps(x, zero, 0));
    p = _mm256_blendv_ps(p, _mm256_add_ps(x, x), _mm256_cmp_ps(x, _mm256_set1_ps(3.40282347e38f), 6));
    return _mm256_blendv_ps(p, _mm256_sub_ps(endless, endless), _mm256_cmp_ps(x, zero, 1));
}
#endif

#endif
