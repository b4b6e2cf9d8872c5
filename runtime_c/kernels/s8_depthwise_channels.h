/* Some channels of a depthwise convolution (`s8_depthwise.h`). */
#ifndef TA_KERNELS_S8_DEPTHWISE_CHANNELS_H
#define TA_KERNELS_S8_DEPTHWISE_CHANNELS_H

#include "kernels/s8_depthwise.h"

/* Channels `from` to `from` + `some`; `from` is a multiple of 16, or of 8 where `some` is at most 8. `x` and `out`
 * begin with the first of them: `x` has no others, pixels of `out` are `apart` elements apart. */
static inline void ta_s8_depthwise_channels(const ta_s8_depthwise *conv, const ta_s8_end *end, const int8_t *x,
                                            const int8_t *w, const int32_t *bias, int8_t *out, int32_t from,
                                            int32_t some, int32_t apart)
{
    const int32_t taps = (conv->kernel_height * conv->kernel_width + 1) / 2 * 2;
    ta_s8_depthwise part = *conv;
    ta_s8_end there = *end;
    part.channels = some;
    part.apart = apart;
    there.multiplier += from * end->scale->each;
    there.shift += from * end->scale->each;
    w += from / TA_DW_GROUP * taps * TA_DW_GROUP + from % TA_DW_GROUP * 2;
    ta_s8_convolve_depthwise(&part, &there, x, w, bias + from, out);
}

#endif
