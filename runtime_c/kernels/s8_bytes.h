/* How a panel is filled whose cells are of type int8_t: for the layouts that include this file. */
#ifndef TA_KERNELS_S8_BYTES_H
#define TA_KERNELS_S8_BYTES_H

/* Copies `count` values to the panel. */
static inline void ta_s8_fill(int8_t *panel, const int8_t *x, int32_t count)
{
    (void)memcpy(panel, x, (size_t)count);
}

/* Copies `count` values of type uint8, less 128 each, to the panel. */
static inline void ta_s8_fill_unsigned(int8_t *panel, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        panel[k] = (int8_t)(x[k] ^ -128);
    }
}

/* Puts `value` into `count` cells. */
static inline void ta_s8_pad(int8_t *panel, int32_t value, int32_t count)
{
    (void)memset(panel, value & 0xff, (size_t)count);
}

#endif
