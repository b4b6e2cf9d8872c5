/* Convolutions whose sums are scaled in the registers where they were added: the driver of layouts that define
 * TA_S8_FUSED, which `s8_conv2d.h` includes. Windows are read where they are, in the image or in lines: rows of the
 * image that were copied with what is outside of it as `pad`. Others are gathered. Sums that are scaled in other ways
 * than in registers are stored first.
 */
#ifndef TA_KERNELS_S8_CONV2D_FUSED_H
#define TA_KERNELS_S8_CONV2D_FUSED_H

#ifdef TA_S8_FUSED
#ifdef TA_KERNELS_I8MM
#define TA_S8_SOME 256 /* pixels whose results are kept before they are added to another tensor, or are copied */
#else
#define TA_S8_SOME 64
#endif

/* Pixels of the output that are adjacent: `lines` of `rows` pixels each. Their windows are `runs` of cells, and begin
 * `next` cells apart, those of a line `below` cells behind those of the line before. The first pixel has number
 * `first`. */
typedef struct {
    const ta_s8_cell *cells;
    int32_t lines, rows, below, next;
    ta_s8_runs runs;
    int64_t first;
} ta_s8_line;

static inline const ta_s8_cell *ta_s8_line_at(const ta_s8_line *line, int32_t number, int32_t row)
{
    return line->cells + (int64_t)number * line->below + (int64_t)row * line->next;
}

/* Outputs `begin` to `stop`, a multiple of 8, of the first line, as bytes `apart` bytes apart, those of `begin` at
 * `out`. */
TA_NEON_PART void ta_s8_line_as_neon(int how, const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                     const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out,
                                     int64_t apart)
{
    const int32_t clamps = ta_s8_clamps(end->scale);
    for (int32_t n = begin; n < stop; n += 16, out += 16) {
        const int32_t own = n * end->scale->each;
        ta_s8_sixteen scale;
        ta_s8_sixteen_of(&scale, how, clamps, end->scale, end->multiplier + own, end->shift + own);
        const ta_s8_sink sink = {NULL, out, apart, &scale};
        ta_s8_tile_neon(1, how, line->rows, &sink, bias + n, 0, line->cells, line->next, &line->runs,
                        w + n * conv->depth, TA_S8_BLOCK * conv->depth, stop - n > 8 ? 2 : 1, conv->narrow, NULL);
    }
}

TA_NEON_CALL void ta_s8_line_right_neon(const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                        const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out,
                                        int64_t apart)
{
    ta_s8_line_as_neon(TA_SCALE_RIGHT, conv, end, line, w, bias, begin, stop, out, apart);
}

TA_NEON_CALL void ta_s8_line_high_neon(const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                       const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out,
                                       int64_t apart)
{
    ta_s8_line_as_neon(TA_SCALE_HIGH, conv, end, line, w, bias, begin, stop, out, apart);
}

static inline void ta_s8_line_neon(int how, const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                   const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out,
                                   int64_t apart)
{
    if (how == TA_SCALE_HIGH) {
        ta_s8_line_high_neon(conv, end, line, w, bias, begin, stop, out, apart);
    } else {
        ta_s8_line_right_neon(conv, end, line, w, bias, begin, stop, out, apart);
    }
}

#ifdef TA_KERNELS_I8MM
/* The same outputs of all lines, with weights that are arranged for them. */
TA_NEON_PART void ta_s8_lines_as_i8mm(int how, const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                      const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out,
                                      int64_t apart)
{
    const int32_t clamps = ta_s8_clamps(end->scale);
    for (int32_t n = begin; n < stop; n += 16, out += 16) {
        const int32_t own = n * end->scale->each, next = TA_S8_BLOCK * conv->depth, blocks = stop - n > 8 ? 2 : 1;
        const int8_t *const from = w + n * conv->depth;
        ta_s8_sixteen scale;
        ta_s8_eights eights;
        ta_s8_sixteen_of(&scale, how, clamps, end->scale, end->multiplier + own, end->shift + own);
        ta_s8_eights_of(&eights, bias + n, &line->runs, from, next, blocks);
        ta_s8_eights_scaled(&eights, &scale);
        for (int32_t k = 0; k < line->lines; ++k) {
            const ta_s8_sink sink = {NULL, out + k * line->rows * apart, apart, &scale};
            ta_s8_tile_neon(1, how, line->rows, &sink, bias + n, 0, ta_s8_line_at(line, k, 0), line->next, &line->runs,
                            from, next, blocks, conv->narrow, &eights);
        }
    }
}

TA_NEON_CALL void ta_s8_lines_right_i8mm(const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                         const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop,
                                         int8_t *out, int64_t apart)
{
    ta_s8_lines_as_i8mm(TA_SCALE_RIGHT, conv, end, line, w, bias, begin, stop, out, apart);
}

TA_NEON_CALL void ta_s8_lines_high_i8mm(const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                        const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out,
                                        int64_t apart)
{
    ta_s8_lines_as_i8mm(TA_SCALE_HIGH, conv, end, line, w, bias, begin, stop, out, apart);
}
#endif

/* The same outputs of all lines, one after the other. */
TA_NEON_CALL void ta_s8_each_line_neon(int how, const ta_s8_conv2d *conv, const ta_s8_end *end,
                                       const ta_s8_line *lines, const int8_t *w, const int32_t *bias, int32_t begin,
                                       int32_t stop, int8_t *out, int64_t apart)
{
    ta_s8_line line = *lines;
    for (; line.lines > 0; --line.lines, line.cells += line.below, out += line.rows * apart) {
        ta_s8_line_neon(how, conv, end, &line, w, bias, begin, stop, out, apart);
    }
}

/* The same outputs of all lines. */
static inline void ta_s8_lines_neon(int how, const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *lines,
                                    const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out,
                                    int64_t apart)
{
#ifdef TA_KERNELS_I8MM
    if (ta_s8_are_eights(lines->lines, lines->rows, &lines->runs)) {
        if (how == TA_SCALE_HIGH) {
            ta_s8_lines_high_i8mm(conv, end, lines, w, bias, begin, stop, out, apart);
        } else {
            ta_s8_lines_right_i8mm(conv, end, lines, w, bias, begin, stop, out, apart);
        }
        return;
    }
#endif
    if (lines->lines == 1) {
        ta_s8_line_neon(how, conv, end, lines, w, bias, begin, stop, out, apart);
    } else {
        ta_s8_each_line_neon(how, conv, end, lines, w, bias, begin, stop, out, apart);
    }
}

/* `count` outputs (1 to 16) from output `n` on: they are bytes of their own before they are added, or where the bytes
 * behind them are those of other outputs. */
static inline void ta_s8_line_kept(int how, const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                   const int8_t *w, const int32_t *bias, int32_t n, int32_t count, int8_t *out)
{
    const int32_t rows = line->rows, most = rows < TA_S8_SOME ? TA_S8_SOME / rows : 1;
    int8_t bytes[TA_S8_SOME * 16];
    ta_s8_line part = *line;
    for (int32_t done = 0, pixels; done < line->lines * rows; done += pixels) {
        const int64_t at = (line->first + done) * conv->apart + n;
        const int32_t lines = line->lines - done / rows, left = rows - done % rows;
        part.lines = lines < most ? lines : most;
        part.rows = left < TA_S8_SOME ? left : TA_S8_SOME;
        part.cells = ta_s8_line_at(line, done / rows, done % rows);
        pixels = part.lines * part.rows;
        ta_s8_lines_neon(how, conv, end, &part, w, bias, n, n + (count + 7) / 8 * 8, bytes, 16);
#ifndef TA_S8_WITHOUT_ADD
        if (end->add != NULL) {
            const int8_t *const other = end->other + at;
            const ta_s8_add_rows all = {pixels,
                                        count,
                                        end->second ? other : bytes,
                                        end->second ? bytes : other,
                                        out + at,
                                        {end->second ? conv->apart : 16, end->second ? 16 : conv->apart, conv->apart}};
            ta_s8_add_all(end->add, &all);
            continue;
        }
#endif
        for (int32_t r = 0; r < pixels; ++r) {
            (void)memcpy(out + at + r * conv->apart, bytes + r * 16, (size_t)count);
        }
    }
}

/* Outputs of lines whose sums are stored. */
static inline void ta_s8_line_stored(const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                     const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out)
{
    int32_t sums[TA_S8_ROWS * TA_S8_OUTPUTS] TA_VECTORS;
    const ta_s8_sink sink = {sums, NULL, 0, NULL};
    const int32_t next = TA_S8_BLOCK * conv->depth, pixels = line->lines * line->rows;
    for (int32_t n = begin; n < stop; n += TA_S8_OUTPUTS) {
        const int32_t count = stop - n < TA_S8_OUTPUTS ? stop - n : TA_S8_OUTPUTS, blocks = count > 8 ? 2 : 1;
        const int8_t *const from = w + n * conv->depth;
        const ta_s8_eights *eights = NULL;
#ifdef TA_KERNELS_I8MM
        ta_s8_eights room;
        if (ta_s8_are_eights(line->lines, line->rows, &line->runs)) {
            ta_s8_eights_of(&room, bias + n, &line->runs, from, next, blocks);
            eights = &room;
        }
#endif
        for (int32_t done = 0, rows; done < pixels; done += rows) {
            const int32_t left = line->rows - done % line->rows;
            rows = left < TA_S8_ROWS ? left : TA_S8_ROWS;
            ta_s8_tile_neon(1, TA_SCALE_NOT, rows, &sink, bias + n, 0,
                            ta_s8_line_at(line, done / line->rows, done % line->rows), line->next, &line->runs, from,
                            next, blocks, conv->narrow, eights);
            ta_s8_finish(end, n, rows, count, sums, TA_S8_OUTPUTS, out, (line->first + done) * conv->apart,
                         conv->apart);
        }
    }
}

/* Outputs `begin` to `stop` of a line. */
TA_NEON_CALL void ta_s8_line_of(const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                const int8_t *w, const int32_t *bias, int32_t begin, int32_t stop, int8_t *out)
{
    const int how = ta_s8_how_neon(ta_s8_rounding(end->rounding), end->scale);
    if (how != TA_SCALE_RIGHT && how != TA_SCALE_HIGH) {
        ta_s8_line_stored(conv, end, line, w, bias, begin, stop, out);
        return;
    }
    int32_t whole = end->add != NULL ? begin : (stop - begin) % 8 == 0 ? stop : begin + (stop - begin) / 16 * 16;
    if (whole > begin) {
        ta_s8_lines_neon(how, conv, end, line, w, bias, begin, whole, out + line->first * conv->apart + begin,
                        conv->apart);
    }
    for (; whole < stop; whole += 16) {
        ta_s8_line_kept(how, conv, end, line, w, bias, whole, stop - whole < 16 ? stop - whole : 16, out);
    }
}

/* Columns that a row of the output reads, and rows that `some` rows of it read. */
static inline int32_t ta_s8_lined_columns(const ta_s8_conv2d *conv)
{
    return (conv->out_width - 1) * conv->stride_x + conv->kernel_width;
}

static inline int32_t ta_s8_lined_rows(const ta_s8_conv2d *conv, int32_t some)
{
    return (some - 1) * conv->stride_y + (conv->kernel_height - 1) * conv->dilation_y + 1;
}

/* Bytes for lines: half a panel where its other half has windows. */
static inline int32_t ta_s8_lined_room(const ta_s8_conv2d *conv)
{
    const int32_t room = TA_S8_ROWS * TA_S8_PANEL;
    return ta_s8_is_small(conv) ? room / 2 - 16 : room;
}

/* Whether lines fit, windows are small or runs that the tile takes, and rows have pixels enough for it. */
static inline int ta_s8_is_lined(const ta_s8_conv2d *conv)
{
    const int32_t run = conv->kernel_width * conv->channels;
    return conv->dilation_x == 1 && conv->kernel_height > 1 && conv->out_width >= 4 &&
           (ta_s8_is_small(conv) || (run % TA_S8_DEPTH == 0 && run >= 16)) &&
           (int64_t)ta_s8_lined_rows(conv, 1) * ta_s8_lined_columns(conv) * conv->channels <= ta_s8_lined_room(conv);
}

/* Rows of the output from lines of `length` bytes, whose small windows are copied to `windows`: as many as there is
 * room for. */
static inline void ta_s8_fused_small(const ta_s8_conv2d *conv, const ta_s8_end *end, const ta_s8_line *line,
                                     int32_t length, const int8_t *w, const int32_t *bias, int8_t *out, int32_t begin,
                                     int32_t stop, ta_s8_cell *windows, const uint8_t *at)
{
    const int32_t size = ta_s8_small_size(conv), most = TA_S8_ROWS * TA_S8_PANEL / 2 / size;
    const int64_t gap = (int64_t)conv->dilation_y * length;
    ta_s8_line part = {windows, 1, 0, 0, size, {1, conv->depth, 0}, line->first};
    for (int32_t number = 0; number < line->lines; ++number) {
        for (int32_t done = 0, some; done < line->rows; done += some) {
            const int32_t left = line->rows - done;
            some = left < most - part.rows ? left : most - part.rows;
            ta_s8_small_neon(conv, windows + part.rows * size, ta_s8_line_at(line, number, done), gap, some, at);
            part.rows += some;
            if (part.rows == most || (some == left && number + 1 == line->lines)) {
                ta_s8_line_of(conv, end, &part, w, bias, begin, stop, out);
                part.first += part.rows;
                part.rows = 0;
            }
        }
    }
}

/* All pixels, from lines in `cells`, which hold as many rows as fit. */
static inline void ta_s8_fused_lines(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                                     const int32_t *bias, int8_t *out, int32_t begin, int32_t stop, ta_s8_cell *cells)
{
    const int32_t columns = ta_s8_lined_columns(conv), length = columns * conv->channels;
    const int32_t run = conv->kernel_width * conv->channels, room = ta_s8_lined_room(conv) / length;
    const int32_t most = (room - ta_s8_lined_rows(conv, 1)) / conv->stride_y + 1;
    uint8_t at[64];
    ta_s8_line line = {cells, 0, conv->out_width, conv->stride_y * length, conv->stride_x * conv->channels,
                       {conv->kernel_height, run, conv->dilation_y * length - run}, 0};
    if (ta_s8_is_small(conv) && ta_s8_is_in_table(conv)) {
        ta_s8_small_of(conv, at);
    }
    for (int32_t image = 0; image < conv->batch; ++image) {
        for (int32_t y = 0; y < conv->out_height; y += line.lines, line.first += line.lines * line.rows) {
            line.lines = conv->out_height - y < most ? conv->out_height - y : most;
            ta_s8_rows_of(conv, cells, x, image, y * conv->stride_y - conv->top, ta_s8_lined_rows(conv, line.lines),
                          columns);
            if (ta_s8_is_small(conv)) {
                ta_s8_fused_small(conv, end, &line, length, w, bias, out, begin, stop,
                                  cells + TA_S8_ROWS * TA_S8_PANEL / 2, at);
            } else {
                ta_s8_line_of(conv, end, &line, w, bias, begin, stop, out);
            }
        }
    }
}

/* Pixels from `pixel` on, number `first`: their windows are gathered. */
static inline void ta_s8_fused_panels(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                                      const int32_t *bias, int8_t *out, int32_t begin, int32_t stop, ta_s8_cell *cells,
                                      ta_s8_pixel pixel, int64_t first)
{
    const int64_t pixels = (int64_t)conv->batch * conv->out_height * conv->out_width;
    ta_s8_line line = {cells, 1, TA_S8_ROWS, 0, TA_S8_PANEL, {1, conv->depth, 0}, first};
    for (; line.first < pixels; line.first += line.rows) {
        line.rows = pixels - line.first < TA_S8_ROWS ? (int32_t)(pixels - line.first) : TA_S8_ROWS;
        ta_s8_gather(conv, cells, x, pixel, line.rows, 0, conv->depth);
        ta_s8_line_of(conv, end, &line, w, bias, begin, stop, out);
        for (int32_t r = 0; r < line.rows; ++r) {
            ta_s8_next(conv, &pixel);
        }
    }
}

/* Pixels that are their own windows, where they are: some at once, so that they stay in a cache. The last ones are
 * gathered where the tile would read behind the image. */
static inline void ta_s8_fused_pixels(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                                      const int32_t *bias, int8_t *out, int32_t begin, int32_t stop, ta_s8_cell *cells)
{
    const int32_t channels = conv->channels, most = TA_S8_ROWS * TA_S8_PANEL / channels / 4 * 4 + 4;
    const int64_t pixels = (int64_t)conv->batch * conv->height * conv->width;
    const int64_t fewer = pixels * channels < conv->depth ? 0 : (pixels * channels - conv->depth) / channels + 1;
    ta_s8_line line = {x, 1, most, 0, channels, {1, conv->depth, 0}, 0};
    for (; line.first < fewer; line.first += line.rows) {
        line.rows = fewer - line.first < most ? (int32_t)(fewer - line.first) : most;
        line.cells = x + line.first * channels;
        ta_s8_line_of(conv, end, &line, w, bias, begin, stop, out);
    }
    const int32_t width = conv->width, height = conv->height;
    const ta_s8_pixel pixel = {(int32_t)(fewer / width / height), (int32_t)(fewer / width % height),
                               (int32_t)(fewer % width)};
    ta_s8_fused_panels(conv, end, x, w, bias, out, begin, stop, cells, pixel, fewer);
}

/* Whether windows are single pixels of the image with others between them, which the tile reads where they are. */
static inline int ta_s8_is_strided(const ta_s8_conv2d *conv)
{
    return conv->kernel_height == 1 && conv->kernel_width == 1 && conv->top == 0 && conv->left == 0 &&
           conv->channels % TA_S8_DEPTH == 0 && (conv->out_height - 1) * conv->stride_y < conv->height &&
           (conv->out_width - 1) * conv->stride_x < conv->width;
}

/* All of these pixels: as many lines at once as stay in a cache. */
static inline void ta_s8_fused_strided(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x,
                                       const int8_t *w, const int32_t *bias, int8_t *out, int32_t begin, int32_t stop)
{
    const int32_t below = conv->stride_y * conv->width * conv->channels;
    const int32_t most = TA_S8_ROWS * TA_S8_PANEL / (conv->out_width * conv->channels) + 1;
    ta_s8_line line = {x, 0, conv->out_width, below, conv->stride_x * conv->channels, {1, conv->depth, 0}, 0};
    for (int32_t image = 0; image < conv->batch; ++image, x += conv->height * conv->width * conv->channels) {
        for (int32_t y = 0; y < conv->out_height; y += line.lines, line.first += line.lines * line.rows) {
            line.lines = conv->out_height - y < most ? conv->out_height - y : most;
            line.cells = x + y * below;
            ta_s8_line_of(conv, end, &line, w, bias, begin, stop, out);
        }
    }
}

/* Whether this driver takes a convolution: not where windows are too large to be gathered at once. */
static inline int ta_s8_is_fused(const ta_s8_conv2d *conv)
{
    return conv->depth <= TA_S8_PANEL || ta_s8_is_lined(conv);
}

/* Outputs `begin` to `stop` of all pixels. */
static inline void ta_s8_conv2d_fused(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x, const int8_t *w,
                                      const int32_t *bias, int8_t *out, int32_t begin, int32_t stop)
{
    ta_s8_cell cells[TA_S8_ROWS * TA_S8_PANEL + TA_S8_MORE];
    const ta_s8_pixel pixel = {0, 0, 0};
    if (ta_s8_is_lined(conv)) {
        ta_s8_fused_lines(conv, end, x, w, bias, out, begin, stop, cells);
    } else if (ta_s8_are_pixels(conv) && !conv->is_unsigned) {
        ta_s8_fused_pixels(conv, end, x, w, bias, out, begin, stop, cells);
    } else if (ta_s8_is_strided(conv) && !conv->is_unsigned) {
        ta_s8_fused_strided(conv, end, x, w, bias, out, begin, stop);
    } else {
        ta_s8_fused_panels(conv, end, x, w, bias, out, begin, stop, cells, pixel, 0);
    }
}
#endif

#endif
