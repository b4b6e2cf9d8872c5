/* From a 32-bit sum to an 8-bit output, as TFLite's reference kernels do it. */
#ifndef EXAMPLE_REQUANTIZE_H
#define EXAMPLE_REQUANTIZE_H

#include "arm_nn_types.h"

/* Two roundings: the doubled high half of the product, half up, then a right shift, half away from zero. */
static inline int32_t requantize_twice(int32_t sum, int32_t multiplier, int32_t shift)
{
    const int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    int64_t scaled = (int64_t)sum * ((int64_t)1 << left);
    scaled = scaled > INT32_MAX ? INT32_MAX : scaled < INT32_MIN ? INT32_MIN : scaled;
    const int64_t high = (scaled * multiplier + ((int64_t)1 << 30)) >> 31;
    if (right == 0)
        return (int32_t)high;
    return (int32_t)((high + ((int64_t)1 << (right - 1)) - (high < 0)) >> right);
}

/* One rounding of the whole product, half up: what fully connected layers do. */
static inline int32_t requantize_once(int32_t sum, int32_t multiplier, int32_t shift)
{
    return (int32_t)(((int64_t)sum * multiplier + ((int64_t)1 << (30 - shift))) >> (31 - shift));
}

static inline int8_t clamped(int64_t value, const cmsis_nn_activation *to)
{
    return (int8_t)(value < to->min ? to->min : value > to->max ? to->max : value);
}

#endif
