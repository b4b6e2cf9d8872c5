/* Images of which some rows are there: a kernel that runs several operators a stripe at a time keeps of each tensor
 * between them only the rows that are still needed.
 */
#ifndef TA_KERNELS_ROWS_H
#define TA_KERNELS_ROWS_H

#include <stdint.h>
#include <string.h>

/* Rows `first` to `done` of an image of `rows` rows, `bytes` each; row `first` is at `at`. */
typedef struct {
    const int8_t *at;
    int32_t bytes, rows, first, done;
} ta_rows;

/* The rows of a window: for output row y, `height` rows of the image from stride * y - before on. */
typedef struct {
    int32_t height, stride, before;
} ta_rows_window;

static inline int32_t ta_rows_least(int32_t one, int32_t other)
{
    return one < other ? one : other;
}

/* How many rows of an output can be computed from the first `done` rows of an image. */
static inline int32_t ta_rows_ready(const ta_rows *image, const ta_rows_window *window, const ta_rows *out)
{
    const int32_t more = image->done + window->before - window->height;
    if (image->done == image->rows) {
        return out->rows;
    }
    return more < 0 ? 0 : ta_rows_least(more / window->stride + 1, out->rows);
}

/* The first row of an image that the output still needs. */
static inline int32_t ta_rows_needed(const ta_rows *image, const ta_rows_window *window, const ta_rows *out)
{
    const int32_t first = out->done * window->stride - window->before;
    return out->done == out->rows ? image->rows : first < 0 ? 0 : first;
}

/* Gives up the rows below `first`: the others move to the beginning of `lines`, where the image is. */
static inline void ta_rows_keep(ta_rows *image, int8_t *lines, int32_t first)
{
    const int32_t from = ta_rows_least(first, image->done);
    if (from > image->first) {
        (void)memmove(lines, lines + (from - image->first) * image->bytes, (size_t)((image->done - from) * image->bytes));
        image->first = from;
    }
}

/* The place of a row. */
static inline const int8_t *ta_rows_at(const ta_rows *image, int32_t row)
{
    return image->at + (row - image->first) * image->bytes;
}

/* The same rows without the first `bytes` of each. */
static inline ta_rows ta_rows_behind(const ta_rows *image, int32_t bytes)
{
    const ta_rows behind = {image->at + bytes, image->bytes, image->rows, image->first, image->done};
    return behind;
}

/* Where the next row is to be written, of an image in `lines`. */
static inline int8_t *ta_rows_end(const ta_rows *image, int8_t *lines)
{
    return lines + (image->done - image->first) * image->bytes;
}

#endif
