/* conv2d: x int8[1,6,6,4], out int8[1,4,4,8] */
static void conv2d_eaf5429e(const int8_t *restrict x, const int8_t *restrict w, const int32_t *restrict bias,
    const int32_t *restrict multiplier, const int8_t *restrict shift, int8_t *restrict out)
{
    static const ta_s8_conv2d sizes = {1, 6, 6, 4, 4, 4, 8, 3, 3, 1, 1, 1, 1, 0, 0, 3, 0, 8, 36, 1};
    static const ta_s8_scale scale = {1, 1, -128, 127, 0, 4, 7};
    const ta_s8_end end = {TA_S8_TFLITE, &scale, multiplier, shift, 0, 0, 0};
    ta_s8_convolve(&sizes, &end, x, w, bias, out);
}
