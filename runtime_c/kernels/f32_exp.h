/* exp and erf of float32 in forms for instruction sets; the portable form is the C library's.
 *
 * Both are within three units in the last place of the function's value. The coefficients are least squares fits,
 * weighted to even out the relative error: of exp on half of ln 2 around 0, of erf(x) / x on 0 to 4.
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
#endif

#endif
