/* Lines of a depthwise convolution whose sums are scaled in the registers where they were added; `s8_depthwise.h`
 * includes this file.
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_FUSED_H
#define TA_KERNELS_S8_DEPTHWISE_FUSED_H

#include "kernels/s8_depthwise_dot.h"

#ifdef TA_KERNELS_NEON
/* The results of a line, `apart` bytes apart: 16 channels from channel `n` on, or with `both` 0 8. */
TA_NEON_PART void ta_s8_dw_line_as_neon(int how, int both, ta_s8_taps *taps, const ta_s8_end *end,
                                        const ta_s8_dw_run *line, const int8_t *image, int32_t n, int8_t *out,
                                        int64_t apart)
{
    const ta_s8_depthwise *conv = taps->conv;
    const int32_t own = n * end->scale->each;
    ta_s8_sixteen scale;
    ta_s8_sink sink = {NULL, out, apart, &scale};
    ta_s8_sixteen_of(&scale, how, ta_s8_clamps(end->scale), end->scale, end->multiplier + own, end->shift + own);
    for (int32_t at = 0, pixels; at < line->outputs; at += pixels) {
        const int32_t left = line->stop - at, y = line->down ? at : line->at, x = line->down ? line->at : at;
        pixels = at >= line->begin && left >= TA_DW_AT_ONCE ? left : 1;
        ta_s8_dw_place(taps, image, y * conv->stride_y - conv->top, x * conv->stride_x - conv->left);
        ta_s8_dw_fours_neon(how, both, taps, &sink, pixels);
        ta_s8_sink_behind(how, &sink, pixels);
    }
}

#ifdef TA_KERNELS_DOT
TA_NEON_CALL void ta_s8_dw_line_right_dot(ta_s8_taps *taps, const ta_s8_end *end, const ta_s8_dw_run *line,
                                          const int8_t *image, int32_t n, int8_t *out, int64_t apart)
{
    if (line->count == 16) {
        ta_s8_dw_line_as_dot(TA_SCALE_RIGHT, 1, taps, end, line, image, n, out, apart);
    } else {
        ta_s8_dw_line_as_dot(TA_SCALE_RIGHT, 0, taps, end, line, image, n, out, apart);
    }
}
#endif

TA_NEON_CALL void ta_s8_dw_line_right_neon(ta_s8_taps *taps, const ta_s8_end *end, const ta_s8_dw_run *line,
                                           const int8_t *image, int32_t n, int8_t *out, int64_t apart)
{
    if (line->count == 16) {
        ta_s8_dw_line_as_neon(TA_SCALE_RIGHT, 1, taps, end, line, image, n, out, apart);
    } else {
        ta_s8_dw_line_as_neon(TA_SCALE_RIGHT, 0, taps, end, line, image, n, out, apart);
    }
}

/* Whether a line is scaled here: multiples of 8 channels, most roundings of TFLite. */
static inline int ta_s8_dw_is_fused(const ta_s8_taps *taps, const ta_s8_end *end, int32_t count)
{
    return count % 8 == 0 && end->add == NULL && ta_s8_dw_is_narrow(taps) &&
           ta_s8_how_neon(ta_s8_rounding(end->rounding), end->scale) == TA_SCALE_RIGHT;
}
#endif

#endif
