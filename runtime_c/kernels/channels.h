/* Images of which some channels are there: a kernel that runs several operators some channels at a time keeps of each
 * tensor between them only these.
 */
#ifndef TA_KERNELS_CHANNELS_H
#define TA_KERNELS_CHANNELS_H

#include <stdint.h>
#include <string.h>

static inline int32_t ta_channels_least(int32_t one, int32_t other)
{
    return one < other ? one : other;
}

/* Copies channels `from` to `from` + `some` of an image of `channels`, one pixel after the other. */
static inline void ta_channels_copy(const int8_t *x, int32_t pixels, int32_t channels, int32_t from, int32_t some,
                                    int8_t *copy)
{
    if (some == 8) {
        for (int32_t pixel = 0; pixel < pixels; ++pixel) {
            (void)memcpy(copy + pixel * 8, x + pixel * channels + from, 8);
        }
        return;
    }
    for (int32_t pixel = 0; pixel < pixels; ++pixel) {
        (void)memcpy(copy + pixel * some, x + pixel * channels + from, (size_t)some);
    }
}

#endif
