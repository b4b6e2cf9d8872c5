/* conv2d: x int8[1,6,6,4], w int8[8,3,3,4], bias int32[8], multiplier int32[8], shift int8[8], out
 * int8[1,4,4,8] */
void conv2d_66df3e1e(const int8_t *restrict x, const int8_t *restrict w, const int32_t *restrict bias,
                     const int32_t *restrict multiplier, const int8_t *restrict shift, int8_t *restrict out)
{
    for (int32_t oy = 0; oy < 4; ++oy) {
        for (int32_t ox = 0; ox < 4; ++ox) {
            for (int32_t k = 0; k < 8; ++k) {
                int32_t acc = 0;
                for (int32_t kh = 0; kh < 3; ++kh) {
                    for (int32_t kw = 0; kw < 3; ++kw) {
                        for (int32_t c = 0; c < 4; ++c) {
                            acc = acc + (int32_t)(int16_t)((int16_t)x[oy * 24 + kh * 24 + ox * 4 + kw * 4 + c] - 3) * (int32_t)(int16_t)w[k * 36 + kh * 12 + kw * 4 + c];
                        }
                    }
                }
                const int64_t product = (((int64_t)acc + (int64_t)bias[k]) * (int64_t)multiplier[k] + 1073741824) >> 31;
                const int64_t value = ((product + ((int64_t)1 << ((int64_t)shift[k] - 1)) - (int64_t)(product < 0)) >> (int64_t)shift[k]) + 1;
                const int64_t value_2 = value < 127 ? value : 127;
                out[oy * 32 + ox * 8 + k] = (int8_t)(value_2 > -128 ? value_2 : -128);
            }
        }
    }
}
