/* Windows of a convolution for NEON, copied 16 bytes at once; `s8_conv2d.h` includes this file, for layouts whose
 * cells are bytes. A window is written from its beginning to its end, so that what is copied too much is overwritten;
 * the last row of a panel has TA_S8_MORE bytes behind it.
 */
#ifndef TA_KERNELS_S8_WINDOWS_NEON_H
#define TA_KERNELS_S8_WINDOWS_NEON_H

#if defined(TA_KERNELS_NEON) && TA_S8_MORE >= 16
#define TA_S8_SIXTEENS

/* Columns that are before the image, in it and after it, in bytes. */
typedef struct {
    int32_t before, inside, after;
} ta_s8_columns;

static inline ta_s8_columns ta_s8_columns_at(const ta_s8_conv2d *conv, int32_t left, int32_t count)
{
    const int32_t over = left + count - conv->width;
    const int32_t before = left >= 0 ? 0 : -left < count ? -left : count;
    const int32_t after = over <= 0 ? 0 : over < count - before ? over : count - before;
    const ta_s8_columns columns = {before * conv->channels, (count - before - after) * conv->channels,
                                   after * conv->channels};
    return columns;
}

/* Copies `count` values, 16 at once, and says where the next ones belong. Compilers that knew it as a copy would call
 * memcpy. */
TA_NEON_PART int8_t *ta_s8_copied_neon(int8_t *to, const int8_t *from, int32_t count, int is_unsigned)
{
    int8_t *const end = to + count;
    for (; !is_unsigned && end - to >= 64; to += 64, from += 64) {
        vst1q_s8_x4(to, vld1q_s8_x4(from));
    }
    for (; to < end; to += 16, from += 16) {
        int8x16_t values = vld1q_s8(from);
        __asm__("" : "+w"(values));
        vst1q_s8(to, is_unsigned ? veorq_s8(values, vdupq_n_s8(-128)) : values);
    }
    return end;
}

TA_NEON_PART int8_t *ta_s8_padded_neon(int8_t *to, int8x16_t pad, int32_t count)
{
    for (int32_t k = 0; k < count; k += 16) {
        vst1q_s8(to + k, pad);
    }
    return to + count;
}

/* A window inside the image; with `small` 1 its runs are not longer than 16. */
TA_NEON_PART void ta_s8_inside_neon(const ta_s8_conv2d *conv, int8_t *to, const int8_t *from, int is_unsigned,
                                    int small)
{
    const int32_t run = conv->kernel_width * conv->channels, step = conv->dilation_y * conv->width * conv->channels;
    for (int32_t ky = conv->kernel_height; ky > 0; --ky, from += step) {
        to = ta_s8_copied_neon(to, from, small ? 1 : run, is_unsigned) + (small ? run - 1 : 0);
    }
    vst1q_s8(to, vdupq_n_s8(0));
}

/* Rows and columns of an image: rows are `apart` rows apart, and columns in bytes. */
typedef struct {
    int32_t y, rows, apart, left;
    ta_s8_columns columns;
} ta_s8_part;

/* A part of an image, which may leave it. */
TA_NEON_PART int8_t *ta_s8_border_neon(const ta_s8_conv2d *conv, int8_t *to, const int8_t *image,
                                       const ta_s8_part *part, int is_unsigned)
{
    const int8x16_t pad = vdupq_n_s8((int8_t)conv->pad);
    const ta_s8_columns *const columns = &part->columns;
    const int32_t run = columns->before + columns->inside + columns->after;
    const int32_t begin = part->left * conv->channels + columns->before;
    for (int32_t k = 0, y = part->y; k < part->rows; ++k, y += part->apart) {
        if (y < 0 || y >= conv->height) {
            to = ta_s8_padded_neon(to, pad, run);
            continue;
        }
        to = ta_s8_padded_neon(to, pad, columns->before);
        to = ta_s8_copied_neon(to, image + y * conv->width * conv->channels + begin, columns->inside, is_unsigned);
        to = ta_s8_padded_neon(to, pad, columns->after);
    }
    return to;
}

/* The same without a byte too much. */
static inline int8_t *ta_s8_exactly(const ta_s8_conv2d *conv, int8_t *to, const int8_t *image, const ta_s8_part *part)
{
    const int32_t run = part->columns.before + part->columns.inside + part->columns.after;
    const int32_t length = conv->width * conv->channels;
    for (int32_t k = 0, y = part->y; k < part->rows; ++k, y += part->apart, to += run) {
        if (y < 0 || y >= conv->height) {
            ta_s8_pad(to, conv->pad, run);
        } else {
            ta_s8_run(conv, to, image + y * length, length, part->left * conv->channels, 0, run);
        }
    }
    return to;
}

/* A part of image `number`, which may leave it. */
static inline void ta_s8_part_neon(const ta_s8_conv2d *conv, int8_t *panel, const int8_t *x, int32_t number,
                                   const ta_s8_part *part)
{
    const int32_t length = conv->width * conv->channels, last = part->y + (part->rows - 1) * part->apart;
    const int32_t below = last < conv->height ? last : conv->height - 1;
    const int64_t size = (int64_t)conv->height * length, image = number * size;
    const int64_t end = image + below * length + part->left * conv->channels + part->columns.before +
                        part->columns.inside;
    if (end + 15 > conv->batch * size) { /* 16 at once would read behind the last image */
        panel = ta_s8_exactly(conv, panel, x + image, part);
    } else if (conv->is_unsigned) {
        panel = ta_s8_border_neon(conv, panel, x + image, part, 1);
    } else {
        panel = ta_s8_border_neon(conv, panel, x + image, part, 0);
    }
    vst1q_s8(panel, vdupq_n_s8(0));
}

/* The window that begins at row `y` and at column `left` of image `number`, which may leave it. */
TA_NEON_CALL void ta_s8_edge_neon(const ta_s8_conv2d *conv, int8_t *panel, const int8_t *x, int32_t number, int32_t y,
                                  int32_t left)
{
    const ta_s8_part part = {y, conv->kernel_height, conv->dilation_y, left,
                             ta_s8_columns_at(conv, left, conv->kernel_width)};
    ta_s8_part_neon(conv, panel, x, number, &part);
}

/* `rows` rows of image `number` from row `y` on, which may leave it, with `columns` columns that outputs read. */
TA_NEON_CALL void ta_s8_rows_of(const ta_s8_conv2d *conv, int8_t *panel, const int8_t *x, int32_t number, int32_t y,
                                int32_t rows, int32_t columns)
{
    const ta_s8_part part = {y, rows, 1, -conv->left, ta_s8_columns_at(conv, -conv->left, columns)};
    ta_s8_part_neon(conv, panel, x, number, &part);
}

/* Windows whose rows have fewer than 16 bytes. Products of those of at most 4 rows are found in a table of these rows:
 * number `at` of 64 bytes. */
static inline int ta_s8_is_small(const ta_s8_conv2d *conv)
{
    return conv->kernel_width * conv->channels < 16 && conv->depth <= 512;
}

static inline int ta_s8_is_in_table(const ta_s8_conv2d *conv)
{
    return conv->kernel_height <= 4;
}

static inline void ta_s8_small_of(const ta_s8_conv2d *conv, uint8_t *at)
{
    const int32_t run = conv->kernel_width * conv->channels;
    for (int32_t k = 0; k < 64; ++k) {
        at[k] = (uint8_t)(k < conv->kernel_height * run ? k / run * 16 + k % run : 255);
    }
}

/* Bytes from a small window to the next. */
static inline int32_t ta_s8_small_size(const ta_s8_conv2d *conv)
{
    return !ta_s8_is_in_table(conv) ? conv->depth : conv->depth <= 32 ? 32 : 64;
}

/* `count` windows of lines, whose rows are `gap` bytes apart. */
TA_NEON_PART void ta_s8_small_as_neon(int size, int8_t *to, const int8_t *from, int32_t step, int32_t rows, int64_t gap,
                                      int32_t count, const uint8_t *at)
{
    const uint8x16_t a = vld1q_u8(at), b = vld1q_u8(at + 16), c = vld1q_u8(at + 32), d = vld1q_u8(at + 48);
    const int64_t second = rows > 1 ? gap : 0, third = rows > 2 ? 2 * gap : 0, fourth = rows > 3 ? 3 * gap : 0;
    for (; count > 0; --count, from += step, to += size) {
        const int8x16x4_t window = {
            {vld1q_s8(from), vld1q_s8(from + second), vld1q_s8(from + third), vld1q_s8(from + fourth)}};
        vst1q_s8(to, vqtbl4q_s8(window, a));
        vst1q_s8(to + 16, vqtbl4q_s8(window, b));
        if (size == 64) {
            vst1q_s8(to + 32, vqtbl4q_s8(window, c));
            vst1q_s8(to + 48, vqtbl4q_s8(window, d));
        }
    }
}

/* The same with any number of rows, which are copied one after the other: what is copied too much is overwritten. */
TA_NEON_PART void ta_s8_small_rows_neon(int32_t size, int8_t *to, const int8_t *from, int32_t step, int32_t rows,
                                        int64_t gap, int32_t run, int32_t count)
{
    for (; count > 0; --count, from += step, to += size) {
        const int8_t *row = from;
        int8_t *next = to;
        int32_t left = rows;
        for (; left >= 2; left -= 2, row += 2 * gap, next += 2 * run) {
            vst1q_s8(next, vld1q_s8(row));
            vst1q_s8(next + run, vld1q_s8(row + gap));
        }
        if (left > 0) {
            vst1q_s8(next, vld1q_s8(row));
            next += run;
        }
        vst1q_s8(next, vdupq_n_s8(0));
    }
}

TA_NEON_CALL void ta_s8_small_neon(const ta_s8_conv2d *conv, int8_t *to, const int8_t *from, int64_t gap, int32_t count,
                                   const uint8_t *at)
{
    const int32_t step = conv->stride_x * conv->channels, rows = conv->kernel_height;
    if (!ta_s8_is_in_table(conv)) {
        ta_s8_small_rows_neon(conv->depth, to, from, step, rows, gap, conv->kernel_width * conv->channels, count);
    } else if (ta_s8_small_size(conv) == 32) {
        ta_s8_small_as_neon(32, to, from, step, rows, gap, count, at);
    } else {
        ta_s8_small_as_neon(64, to, from, step, rows, gap, count, at);
    }
}

/* Where windows are inside the image: rows `top` to `below` of the output, and columns `begin` to `end`. */
typedef struct {
    int32_t top, below, begin, end;
} ta_s8_interior;

static inline ta_s8_interior ta_s8_interior_of(const ta_s8_conv2d *conv)
{
    ta_s8_interior inside;
    ta_s8_inner_outputs(conv->height, conv->out_height, (conv->kernel_height - 1) * conv->dilation_y, conv->top,
                        conv->stride_y, &inside.top, &inside.below);
    ta_s8_inner_outputs(conv->width, conv->out_width, conv->kernel_width - 1, conv->left, conv->stride_x,
                        &inside.begin, &inside.end);
    return inside;
}

/* Whole windows of `rows` pixels, of images in one type. Those of a row of the output that are inside the image are
 * copied one after the other. */
TA_NEON_PART void ta_s8_windows_as_neon(const ta_s8_conv2d *conv, int8_t *panel, const int8_t *x, ta_s8_pixel pixel,
                                        int32_t rows, int is_unsigned, int small)
{
    const int32_t length = conv->width * conv->channels, step = conv->stride_x * conv->channels;
    const int32_t reach = (conv->kernel_height - 1) * conv->dilation_y * length + conv->kernel_width * conv->channels;
    const int64_t size = (int64_t)conv->height * length, most = conv->batch * size - reach - 15;
    const ta_s8_interior inside = ta_s8_interior_of(conv);
    while (rows > 0) {
        const int32_t y = pixel.y * conv->stride_y - conv->top, left = pixel.x * conv->stride_x - conv->left;
        const int64_t at = pixel.image * size + y * length + left * conv->channels;
        const int32_t some = inside.end - pixel.x < rows ? inside.end - pixel.x : rows;
        if (pixel.y < inside.top || pixel.y >= inside.below || pixel.x < inside.begin || some <= 0 ||
            at + (some - 1) * step > most) {
            ta_s8_edge_neon(conv, panel, x, pixel.image, y, left);
            panel += TA_S8_PANEL, --rows;
            ta_s8_next(conv, &pixel);
            continue;
        }
        const int8_t *from = x + at;
        for (int32_t r = 0; r < some; ++r, panel += TA_S8_PANEL, from += step) {
            ta_s8_inside_neon(conv, panel, from, is_unsigned, small);
        }
        rows -= some;
        pixel.x += some - 1;
        ta_s8_next(conv, &pixel);
    }
}

/* Whether windows are copied here: those whose columns are adjacent. */
static inline int ta_s8_is_copied_neon(const ta_s8_conv2d *conv)
{
    return conv->dilation_x == 1 || conv->kernel_width == 1;
}

static inline void ta_s8_windows_neon(const ta_s8_conv2d *conv, int8_t *panel, const int8_t *x, ta_s8_pixel pixel,
                                      int32_t rows)
{
    if (conv->is_unsigned) {
        ta_s8_windows_as_neon(conv, panel, x, pixel, rows, 1, 0);
    } else if (conv->kernel_width * conv->channels <= 16) {
        ta_s8_windows_as_neon(conv, panel, x, pixel, rows, 0, 1);
    } else {
        ta_s8_windows_as_neon(conv, panel, x, pixel, rows, 0, 0);
    }
}
#endif

#endif
