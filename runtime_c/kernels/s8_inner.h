/* Which windows are inside an image. */
#ifndef TA_KERNELS_S8_INNER_H
#define TA_KERNELS_S8_INNER_H

#include <stdint.h>

/* Neighbours of an output, along rows or columns, whose windows have the same taps between the borders at both ends:
 * from `begin` to `end`. */
static inline void ta_s8_inner_outputs(int32_t size, int32_t outputs, int32_t reach, int32_t before,
                                       int32_t stride, int32_t *begin, int32_t *end)
{
    const int32_t room = size - 1 - reach + before;
    *begin = (before + stride - 1) / stride;
    *end = room < 0 ? 0 : room / stride + 1;
    *end = *end < outputs ? *end : outputs;
    *begin = *begin < *end ? *begin : *end;
}

#endif
