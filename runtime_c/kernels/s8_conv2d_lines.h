/* Convolutions whose windows are read from lines: the rows of an image that a row of the output reads are copied once,
 * with what is outside the image as `pad`, and the tile reads each window there. `s8_conv2d.h` includes this file, for
 * layouts that define TA_S8_LINED.
 */
#ifndef TA_KERNELS_S8_CONV2D_LINES_H
#define TA_KERNELS_S8_CONV2D_LINES_H

#ifdef TA_S8_LINED
/* Columns that a row of the output reads. */
static inline int32_t ta_s8_lined_columns(const ta_s8_conv2d *conv)
{
    return (conv->out_width - 1) * conv->stride_x + conv->kernel_width;
}

/* Whether lines fit into a panel, windows are runs that the tile takes, and rows have pixels enough for it. */
static inline int ta_s8_is_lined(const ta_s8_conv2d *conv)
{
    const int32_t run = conv->kernel_width * conv->channels;
    return conv->dilation_x == 1 && conv->kernel_height > 1 && run % TA_S8_DEPTH == 0 && run >= 16 &&
           conv->out_width >= 4 &&
           (int64_t)conv->kernel_height * ta_s8_lined_columns(conv) * conv->channels <= TA_S8_ROWS * TA_S8_PANEL;
}

/* Outputs `begin` to `stop` of row `y` of the output of an image, from its lines. */
static inline void ta_s8_convolve_lined(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *lines,
                                        const int8_t *w, const int32_t *bias, int8_t *out, int64_t first, int32_t begin,
                                        int32_t stop)
{
    int32_t sums[TA_S8_ROWS * TA_S8_OUTPUTS] TA_VECTORS;
    const int32_t run = conv->kernel_width * conv->channels, next = conv->stride_x * conv->channels;
    const ta_s8_runs runs = {conv->kernel_height, run, ta_s8_lined_columns(conv) * conv->channels - run};
    for (int32_t x = 0, rows; x < conv->out_width; x += rows, lines += rows * next) {
        rows = conv->out_width - x < TA_S8_ROWS ? conv->out_width - x : TA_S8_ROWS;
        for (int32_t n = begin; n < stop; n += TA_S8_OUTPUTS) {
            const int32_t count = stop - n < TA_S8_OUTPUTS ? stop - n : TA_S8_OUTPUTS;
            ta_s8_tile_runs(rows, sums, bias + n, lines, next, &runs, w + n * conv->depth, TA_S8_BLOCK * conv->depth,
                            (count + TA_S8_UNIT - 1) / TA_S8_UNIT, conv->narrow);
            ta_s8_finish(end, n, rows, count, sums, TA_S8_OUTPUTS, out, (first + x) * conv->apart, conv->apart);
        }
    }
}

/* Outputs `begin` to `stop` of all pixels. */
static inline void ta_s8_conv2d_lines(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                                      const int32_t *bias, int8_t *out, int32_t begin, int32_t stop)
{
    ta_s8_cell lines[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    int64_t first = 0;
    for (int32_t image = 0; image < conv->batch; ++image) {
        for (int32_t y = 0; y < conv->out_height; ++y, first += conv->out_width) {
            ta_s8_edge_neon(conv, lines, x, image, y * conv->stride_y - conv->top, -conv->left,
                            ta_s8_lined_columns(conv));
            ta_s8_convolve_lined(conv, end, lines, w, bias, out, first, begin, stop);
        }
    }
}
#endif

#endif
