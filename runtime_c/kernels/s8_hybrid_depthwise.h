/* Depthwise convolution of float32 images with int8 weights, NHWC, one output for each channel, as TFLite computes it:
 * an image is brought to eight bits as `s8_hybrid.h` does it, and summed as `s8_depthwise.h` does, whose layout the
 * weights have.
 */
#ifndef TA_KERNELS_S8_HYBRID_DEPTHWISE_H
#define TA_KERNELS_S8_HYBRID_DEPTHWISE_H

#include "kernels/s8_depthwise.h"
#include "kernels/s8_hybrid.h"

/* A line of the output, of the channels from `n` on; `out` is its image. */
static inline void ta_s8_hybrid_line(ta_s8_taps *taps, const ta_s8_dw_run *line, const ta_s8_hybrid *layer,
                                     const ta_s8_grid *grid, const ta_s8_weights *of, int32_t n, const int8_t *image,
                                     float *out)
{
    const ta_s8_depthwise *conv = taps->conv;
    const ta_s8_weights own = ta_s8_weights_at(layer, of, n);
    const int32_t next = line->down ? conv->out_width : 1, first = line->at * (line->down ? 1 : conv->out_width);
    int32_t sums[TA_DW_PIXELS * TA_DW_GROUP] TA_VECTORS;
    for (int32_t from = 0, some; from < line->outputs; from += some) {
        some = line->outputs - from < TA_DW_PIXELS ? line->outputs - from : TA_DW_PIXELS;
        ta_s8_dw_run_sums(taps, line, image, from, some, sums);
        for (int32_t pixel = 0; pixel < some; ++pixel) {
            const int64_t at = first + (int64_t)(from + pixel) * next;
            ta_s8_reals(layer, grid, &own, line->count, sums + pixel * TA_DW_GROUP, out + at * conv->apart + n);
        }
    }
}

/* All channels of an image of stored values, which are on `grid`. */
static inline void ta_s8_hybrid_channels(const ta_s8_hybrid *layer, const ta_s8_depthwise *conv,
                                         const ta_s8_weights *of, const ta_s8_grid *grid, const int8_t *stored,
                                         float *out)
{
    static const int32_t zeros[TA_DW_GROUP] = {0};
    const int down = conv->out_height > conv->out_width;
    const int32_t lines = down ? conv->out_width : conv->out_height;
    ta_s8_taps taps;
    ta_s8_dw_taps(&taps, conv, down);
    taps.bias = zeros;
    for (int32_t n = 0, some; n < conv->channels; n += some) {
        some = ta_s8_dw_group(conv, n);
        taps.w = of->w + n / TA_DW_GROUP * taps.taps * TA_DW_GROUP + n % TA_DW_GROUP * 2;
        for (int32_t at = 0; at < lines; ++at) {
            const ta_s8_dw_run line = ta_s8_dw_run_at(conv, down, at, some);
            ta_s8_hybrid_line(&taps, &line, layer, grid, of, n, stored + n, out);
        }
    }
}

/* The whole convolution; `stored` has room for one image in eight bits. The result may be where the image is, if there
 * is one. */
static inline void ta_s8_hybrid_depthwise(const ta_s8_hybrid *layer, const ta_s8_depthwise *sizes,
                                          const ta_s8_weights *of, const float *x, float *out, int8_t *stored)
{
    const int64_t image = (int64_t)sizes->height * sizes->width * sizes->channels;
    ta_s8_depthwise one = *sizes;
    for (int32_t b = 0; b < sizes->batch; ++b, x += image) {
        const ta_s8_grid grid = ta_s8_grid_of(layer, x, image);
        ta_s8_store(layer, &grid, x, image, stored);
        one.pad = grid.zero;
        ta_s8_hybrid_channels(layer, &one, of, &grid, stored, out);
        out += (int64_t)one.out_height * one.out_width * one.apart;
    }
}

#endif
