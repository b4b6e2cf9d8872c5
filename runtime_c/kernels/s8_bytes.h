/* How a panel is filled whose cells are bytes, `ta_s8_cell`: for the layouts that include this file. */
#ifndef TA_KERNELS_S8_BYTES_H
#define TA_KERNELS_S8_BYTES_H

/* Copies `count` values to the panel. */
static inline void ta_s8_fill(ta_s8_cell *panel, const int8_t *x, int32_t count)
{
    (void)memcpy(panel, x, (size_t)count);
}

/* Copies `count` values of type uint8, less 128 each, to the panel. */
static inline void ta_s8_fill_unsigned(ta_s8_cell *panel, const int8_t *x, int32_t count)
{
    for (int32_t k = 0; k < count; ++k) {
        panel[k] = (ta_s8_cell)(x[k] ^ -128);
    }
}

/* Puts `value` into `count` cells. */
static inline void ta_s8_pad(ta_s8_cell *panel, int32_t value, int32_t count)
{
    (void)memset(panel, value & 0xff, (size_t)count);
}

#endif
