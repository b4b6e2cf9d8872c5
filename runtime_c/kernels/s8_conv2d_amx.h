/* The driver of `s8_conv2d.h`, which includes this file, for AMX: 16 pixels and 32 outputs at once, in the tiles of
 * `s8_tile_amx.h`.
 *
 * Where weights are not in lines, they are arranged as the first pixels need them: those of as many outputs as there is
 * room for, which are used for all pixels before the next ones. Sums wait in memory until the next ones are on their way: so the processor works on
 * both. Windows of more than half a panel's row are summed eight at once.
 */
#ifndef TA_KERNELS_S8_CONV2D_AMX_H
#define TA_KERNELS_S8_CONV2D_AMX_H

#ifdef TA_S8_WALKS
#define TA_S8_ARRANGED 32 /* times 64 k of 16 outputs that are used for all pixels before the next ones, at most */
#define TA_S8_ENOUGH 16   /* pixels for which it is worth while */
#define TA_S8_DEEP 32     /* products of a sum for which it is */
#define TA_S8_MOST_ROWS 16
#define TA_S8_HALF (TA_S8_PANEL / 2) /* cells of a row where there are so many rows */

/* Sums of `rows` pixels from `first` on, for `count` outputs from `n` on: TA_S8_SUMMED numbers apart. */
typedef struct {
    int32_t first, rows, n, count;
    int32_t *sums;
} ta_s8_some;

/* Makes results of sums of 16 outputs or fewer; `to` is what it needs beside them. */
typedef void ta_s8_take(const void *to, const ta_s8_some *some);

/* What is to be summed: sums of an output begin with `start[each * output]`. */
typedef struct {
    const ta_s8_conv2d *conv;
    const int8_t *x, *w;
    const int32_t *start;
    int32_t each;
} ta_s8_walk;

static inline int ta_s8_is_walked(const ta_s8_conv2d *conv)
{
    return (int64_t)conv->batch * conv->out_height * conv->out_width >= TA_S8_ENOUGH && conv->depth >= TA_S8_DEEP &&
           conv->depth <= 64 * TA_S8_ARRANGED && ta_has_amx();
}

#ifdef TA_S8_ARRANGES
/* Lines of outputs `n` to `stop`, 32 at most; those of 16 outputs are `size` bytes behind those of the 16 before. */
TA_AMX_PART void ta_s8_arrange_some_amx(int8_t *lines, int32_t size, const int8_t *w, int32_t depth, int32_t n,
                                        int32_t stop)
{
    const int32_t apart = TA_S8_BLOCK * depth;
    w += n * depth;
    ta_s8_arrange_amx(lines, w, stop - n > 8 ? w + apart : w, depth);
    if (stop - n > 16) {
        ta_s8_arrange_amx(lines + size, w + 2 * apart, stop - n > 24 ? w + 3 * apart : w + 2 * apart, depth);
    }
}
#endif

/* Takes what waits, 16 outputs at once. */
TA_AMX_PART void ta_s8_take_amx(ta_s8_take *take, const void *to, ta_s8_some waiting)
{
    const int32_t count = waiting.count;
    for (int32_t done = 0; done < count; done += 16, waiting.n += 16, waiting.sums += 16) {
        waiting.count = count - done < 16 ? count - done : 16;
        take(to, &waiting);
    }
}

/* All sums of a layer are made and taken. Where all pixels are summed at once, all weights have one place in turn. */
TA_AMX_PART void ta_s8_walk_amx(const ta_s8_walk *walk, ta_s8_take *take, const void *to)
{
    ta_s8_cell panel[TA_S8_ROWS * TA_S8_PANEL + 64] TA_VECTORS;
#ifdef TA_S8_ARRANGES
    int8_t arranged[TA_S8_ARRANGED * TA_S8_LINES] TA_VECTORS;
#endif
    int32_t sums[2][TA_S8_MOST_ROWS * TA_S8_SUMMED] TA_VECTORS;
    const ta_s8_conv2d *const conv = walk->conv;
    const int32_t depth = (conv->depth + 3) / 4 * 4, size = 16 * depth, outputs = conv->outputs;
    const int32_t pixels = conv->batch * conv->out_height * conv->out_width;
    const int32_t most = depth + 32 <= TA_S8_HALF ? TA_S8_MOST_ROWS : TA_S8_ROWS;
    const int32_t apart = TA_S8_ROWS * TA_S8_PANEL / most;
    const int32_t turn = pixels <= most ? TA_S8_SUMMED : TA_S8_ARRANGED * TA_S8_LINES / size * 16;
    ta_s8_some waiting = {0, 0, 0, 0, sums[0]};
    int which = 0;
    ta_s8_configure_amx(most, depth);
    for (int32_t begin = 0; begin < outputs; begin += turn) {
        const int32_t stop = outputs - begin < turn ? outputs : begin + turn;
        ta_s8_pixel pixel = {0, 0, 0};
        for (int32_t first = 0; first < pixels; first += most) {
            const int32_t rows = pixels - first < most ? pixels - first : most;
            if (begin == 0 || pixels > most) {
                ta_s8_bytes_avx2(conv, panel, walk->x, pixel, rows, apart);
            }
            for (int32_t n = begin; n < stop; n += TA_S8_SUMMED, which ^= 1) {
                const int32_t count = stop - n < TA_S8_SUMMED ? stop - n : TA_S8_SUMMED;
                const ta_s8_some next = {first, rows, n, count, sums[which]};
#ifdef TA_S8_ARRANGES
                int8_t *const lines = arranged + (n - begin) * depth;
                if (first == 0) {
                    ta_s8_arrange_some_amx(lines, size, walk->w, conv->depth, n, stop);
                }
#else
                const int8_t *const lines = walk->w + n * depth;
#endif
                ta_s8_tile_amx(count > 16, next.sums, walk->start + walk->each * n, panel, apart, depth, lines, size);
                ta_s8_take_amx(take, to, waiting);
                waiting = next;
            }
            for (int32_t r = 0; r < rows; ++r) {
                ta_s8_next(conv, &pixel);
            }
        }
    }
    ta_s8_take_amx(take, to, waiting);
    _tile_release();
}

/* Where 8-bit values are made of sums. */
typedef struct {
    const ta_s8_conv2d *conv;
    const ta_s8_end *end;
    int8_t *out;
} ta_s8_to_bytes;

TA_AMX_PART void ta_s8_take_bytes(const void *to, const ta_s8_some *some)
{
    const ta_s8_to_bytes *const own = (const ta_s8_to_bytes *)to;
    ta_s8_finish(own->end, some->n, some->rows, some->count, some->sums, TA_S8_SUMMED, own->out,
                 (int64_t)some->first * own->conv->apart, own->conv->apart);
}

/* The whole convolution. */
TA_AMX static inline void ta_s8_convolve_amx(const ta_s8_conv2d *conv, const ta_s8_end *end, const int8_t *x,
                                             const int8_t *w, const int32_t *bias, int8_t *out)
{
    const ta_s8_walk walk = {conv, x, w, bias, 1};
    const ta_s8_to_bytes to = {conv, end, out};
    ta_s8_walk_amx(&walk, ta_s8_take_bytes, &to);
}
#endif

#endif
