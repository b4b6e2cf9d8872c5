/* From the sums of a convolution to its output: 8-bit values, and where the operator after it is an addition, the sum
 * with another tensor of the same shape. The result may be where that tensor is.
 */
#ifndef TA_KERNELS_S8_END_H
#define TA_KERNELS_S8_END_H

#include <stdint.h>

#include "kernels/s8_add.h"
#include "kernels/s8_scale.h"

/* `multiplier` and `shift` are those of output 0; `add` is NULL where nothing is added. Where `second` is 1 the sums
 * are the second operand of the addition. */
typedef struct {
    int rounding;
    const ta_s8_scale *scale;
    const int32_t *multiplier;
    const int8_t *shift;
    const ta_s8_add *add;
    const int8_t *other;
    int second;
} ta_s8_end;

/* `count` outputs (1 to 16) from output `n` on of `rows` pixels: sums `from` numbers apart, which are overwritten.
 * Pixels are `apart` elements apart in `out` and in `other`, and the first begins `at` elements after these. */
TA_PART void ta_s8_finish(const ta_s8_end *end, int32_t n, int32_t rows, int32_t count, int32_t *sums,
                          int32_t from, int8_t *out, int64_t at, int32_t apart)
{
    const int32_t own = n * end->scale->each, length = from * (int32_t)sizeof *sums;
#ifdef TA_S8_WITHOUT_ADD
    const int adds = 0;
#else
    const int adds = end->add != NULL ? 1 : 0;
#endif
    int8_t *const lines = (int8_t *)sums, *const to = out + at + n;
    { /* so that the two share their place on the stack */
        const ta_s8_rows all = {end->multiplier + own, end->shift + own,    rows, count, sums, from,
                                adds ? lines : to,     adds ? length : apart};
        ta_s8_scale_rows(end->rounding, end->scale, &all);
    }
    if (adds) {
        const int8_t *const other = end->other + at + n;
        const ta_s8_add_rows all = {rows,
                                    count,
                                    end->second ? other : lines,
                                    end->second ? lines : other,
                                    to,
                                    {end->second ? apart : length, end->second ? length : apart, apart}};
        ta_s8_add_all(end->add, &all);
    }
}

#endif
