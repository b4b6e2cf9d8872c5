/* What becomes of the sums of a convolution: 8-bit values, and where the operator after it is an addition, the sum
 * with another tensor of the same shape. The result may lie where that tensor does.
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

/* `count` outputs (1 to 16) from output `n` on of `rows` pixels: sums `from` numbers apart; pixels are `apart`
 * elements apart in `out` and in `other`, and `first` is the number of the first of them. */
TA_PART void ta_s8_finish(const ta_s8_end *end, int32_t n, int32_t rows, int32_t count, const int32_t *sums,
                                int32_t from, int8_t *out, int64_t first, int32_t apart)
{
    const int32_t *multiplier = end->multiplier + n * end->scale->each;
    const int8_t *shift = end->shift + n * end->scale->each;
    int8_t *to = out + first * apart + n;
    if (end->add == 0) {
        ta_s8_scale_rows(end->rounding, end->scale, multiplier, shift, rows, count, sums, from, to, apart);
        return;
    }
    const int8_t *other = end->other + first * apart + n;
    for (int32_t r = 0; r < rows; ++r) {
        int8_t line[16];
        ta_s8_scale_rows(end->rounding, end->scale, multiplier, shift, 1, count, sums + r * from, from, line, 16);
        if (end->second) {
            ta_s8_add_values(end->add, other + r * apart, line, to + r * apart, count);
        } else {
            ta_s8_add_values(end->add, line, other + r * apart, to + r * apart, count);
        }
    }
}

#endif
