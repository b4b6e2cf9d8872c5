/* Lines of a depthwise convolution with a kernel of 3x3 for the dot product of NEON; `s8_depthwise_fused.h` includes
 * this file.
 *
 * Three taps across a line are a place: those of a channel are brought together, with a zero, once for all windows that
 * have the place. What is outside the image is a place like any other, so that all windows are summed in the same way.
 */
#ifndef TA_KERNELS_S8_DEPTHWISE_DOT_H
#define TA_KERNELS_S8_DEPTHWISE_DOT_H

#ifdef TA_KERNELS_DOT
#define TA_DW_PLACES 66 /* that are kept at once */

/* A line: its windows begin `stride` places apart, the first of them `before` places before the image, which has
 * `extent`. */
typedef struct {
    const int8_t *across[3]; /* the first place, or `pad` */
    int64_t steps[3];        /* 0 for `pad` */
    int32_t stride, before, extent;
} ta_s8_dw_across;

static inline ta_s8_dw_across ta_s8_dw_across_of(const ta_s8_taps *taps, const ta_s8_dw_run *line, const int8_t *image)
{
    const ta_s8_depthwise *const conv = taps->conv;
    const int32_t below = conv->width * conv->channels, stride = line->down ? conv->stride_x : conv->stride_y;
    const int32_t first = line->at * stride - (line->down ? conv->left : conv->top);
    const int32_t most = line->down ? conv->width : conv->height, apart = line->down ? conv->channels : below;
    ta_s8_dw_across all = {{taps->pad, taps->pad, taps->pad}, {0, 0, 0}, conv->stride_x, conv->left, conv->width};
    if (line->down) {
        all.stride = conv->stride_y, all.before = conv->top, all.extent = conv->height;
    }
    for (int32_t k = 0; k < 3; ++k) {
        if (first + k >= 0 && first + k < most) {
            all.across[k] = image + (first + k) * apart;
            all.steps[k] = line->down ? below : conv->channels;
        }
    }
    return all;
}

/* Bytes of two vectors in turn, of their first halves or their second ones, and pairs of bytes. */
#define TA_DW_ZIP(half, a, b) vreinterpretq_s16_s8(half##q_s8(a, b))
#define TA_DW_ZIP_PAIRS(half, a, b) vreinterpretq_s8_s16(half##q_s16(a, b))

/* A place of 16 channels, or with `both` 0 of 8, from three taps and what is to be in the fourth byte. */
TA_NEON_PART void ta_s8_dw_place_as(int both, int8_t *to, int8x16_t a, int8x16_t b, int8x16_t c, int8x16_t fourth)
{
    const int16x8_t one = TA_DW_ZIP(vzip1, a, b), two = TA_DW_ZIP(vzip1, c, fourth);
    vst1q_s8(to, TA_DW_ZIP_PAIRS(vzip1, one, two));
    vst1q_s8(to + 16, TA_DW_ZIP_PAIRS(vzip2, one, two));
    if (both) {
        const int16x8_t three = TA_DW_ZIP(vzip2, a, b), four = TA_DW_ZIP(vzip2, c, fourth);
        vst1q_s8(to + 32, TA_DW_ZIP_PAIRS(vzip1, three, four));
        vst1q_s8(to + 48, TA_DW_ZIP_PAIRS(vzip2, three, four));
    }
}

/* The weights of three places. */
TA_NEON_PART void ta_s8_dw_weights_as(int down, const int8_t *w, ta_s8_dw_place_of *to)
{
    const int8x16_t zero = vdupq_n_s8(0);
    const int8x16x2_t a = vld2q_s8(w), b = vld2q_s8(w + 32), c = vld2q_s8(w + 64), d = vld2q_s8(w + 96);
    const int8x16_t last = vld2q_s8(w + 128).val[0];
    ta_s8_dw_place_as(1, to[0].of, a.val[0], down ? a.val[1] : b.val[1], down ? b.val[0] : d.val[0], zero);
    ta_s8_dw_place_as(1, to[1].of, down ? b.val[1] : a.val[1], c.val[0], down ? c.val[1] : d.val[1], zero);
    ta_s8_dw_place_as(1, to[2].of, down ? d.val[0] : b.val[0], down ? d.val[1] : c.val[1], last, zero);
}

TA_NEON_CALL void ta_s8_dw_weights_dot(ta_s8_taps *taps, int down)
{
    taps->placed = taps->w;
    if (down) {
        ta_s8_dw_weights_as(1, taps->w, taps->places);
    } else {
        ta_s8_dw_weights_as(0, taps->w, taps->places);
    }
}

TA_NEON_PART ta_s8_dw_place_of *ta_s8_dw_padded_dot(ta_s8_dw_place_of *to, int8_t pad, int32_t count)
{
    const int8x16_t values = vdupq_n_s8(pad);
    for (; count > 0; --count, ++to) {
        vst1q_s8(to->of, values);
        vst1q_s8(to->of + 16, values);
        vst1q_s8(to->of + 32, values);
        vst1q_s8(to->of + 48, values);
    }
    return to;
}

/* Places `from` to `from + count` of a line: 16 channels, or with `both` 0 8. */
TA_NEON_PART void ta_s8_dw_places_dot(int both, const ta_s8_dw_across *all, int8_t pad, int32_t from, int32_t count,
                                      ta_s8_dw_place_of *to)
{
    const int64_t step0 = all->steps[0], step1 = all->steps[1], step2 = all->steps[2];
    const int32_t first = from < 0 ? 0 : from < all->extent ? from : all->extent, end = from + count;
    const int32_t last = end < first ? first : end < all->extent ? end : all->extent;
    const int32_t before = first - from < 0 ? 0 : first - from < count ? first - from : count;
    const int8_t *p0 = all->across[0] + first * step0, *p1 = all->across[1] + first * step1;
    const int8_t *p2 = all->across[2] + first * step2;
    to = ta_s8_dw_padded_dot(to, pad, before);
    for (int32_t k = last - first; k > 0; --k, ++to) {
        const int8x16_t a = ta_s8_dw_next_neon(both, &p0, step0), b = ta_s8_dw_next_neon(both, &p1, step1);
        const int8x16_t c = ta_s8_dw_next_neon(both, &p2, step2);
        ta_s8_dw_place_as(both, to->of, a, b, c, c);
    }
    (void)ta_s8_dw_padded_dot(to, pad, count - before - (last - first));
}

/* The sums of a window before its places, and a place added to them. */
#define TA_DW_BEGIN(r)                                              \
    int32x4_t a##r = vld1q_s32(bias), b##r = vld1q_s32(bias + 4);   \
    int32x4_t c##r = both ? vld1q_s32(bias + 8) : a##r;             \
    int32x4_t d##r = both ? vld1q_s32(bias + 12) : b##r;            \
    bias = ta_s8_start_behind(bias, 0)
#define TA_DW_DOT(r)                                                \
    do {                                                            \
        const int8x16x4_t place_ = vld1q_s8_x4(p##r->of);           \
        ++p##r;                                                     \
        a##r = vdotq_s32(a##r, place_.val[0], w.val[0]);            \
        b##r = vdotq_s32(b##r, place_.val[1], w.val[1]);            \
        c##r = both ? vdotq_s32(c##r, place_.val[2], w.val[2]) : c##r; \
        d##r = both ? vdotq_s32(d##r, place_.val[3], w.val[3]) : d##r; \
        __asm__("" : "+r"(p##r), "+w"(a##r), "+w"(b##r), "+w"(c##r), "+w"(d##r)); \
    } while (0)

#define TA_DW_PLACE(k)                                              \
    do {                                                            \
        const int8x16x4_t w = vld1q_s8_x4(weights[k].of);           \
        TA_DW_DOT(0);                                               \
        TA_DW_DOT(1);                                               \
        TA_DW_DOT(2);                                               \
        TA_DW_DOT(3);                                               \
    } while (0)

/* Four windows, whose places begin `stride` places apart. */
TA_NEON_PART void ta_s8_dw_4_dot(int how, int both, const int32_t *bias, const ta_s8_dw_place_of *weights,
                                 const ta_s8_dw_place_of *places, int32_t stride, const ta_s8_sink *sink)
{
    const ta_s8_dw_place_of *p0 = places, *p1 = p0 + stride, *p2 = p1 + stride, *p3 = p2 + stride;
    TA_DW_BEGIN(0);
    TA_DW_BEGIN(1);
    TA_DW_BEGIN(2);
    TA_DW_BEGIN(3);
    TA_DW_PLACE(0);
    TA_DW_PLACE(1);
    TA_DW_PLACE(2);
    const ta_s8_sixteen scale = ta_s8_scale_behind(sink);
    ta_s8_put_4_neon(both, sink, &scale, 0, ta_s8_bytes_neon(how, both, &scale, a0, b0, c0, d0),
                     ta_s8_bytes_neon(how, both, &scale, a1, b1, c1, d1),
                     ta_s8_bytes_neon(how, both, &scale, a2, b2, c2, d2),
                     ta_s8_bytes_neon(how, both, &scale, a3, b3, c3, d3));
}

/* Whether a line is summed here. */
static inline int ta_s8_dw_is_dot(const ta_s8_depthwise *conv, int down, int32_t outputs)
{
    const int32_t stride = down ? conv->stride_y : conv->stride_x;
    return conv->kernel_height == 3 && conv->kernel_width == 3 && conv->dilation_y == 1 && conv->dilation_x == 1 &&
           outputs >= 4 && stride <= 4;
}

/* The results of a line as `ta_s8_dw_line_as_neon` has them: as many windows at once as there are places for. The last
 * ones may be some of those before. */
TA_NEON_PART void ta_s8_dw_line_as_dot(int how, int both, ta_s8_taps *taps, const ta_s8_end *end,
                                       const ta_s8_dw_run *line, const int8_t *image, int32_t n, int8_t *out,
                                       int64_t apart)
{
    const ta_s8_dw_across all = ta_s8_dw_across_of(taps, line, image);
    const int32_t own = n * end->scale->each, stride = all.stride, most = (TA_DW_PLACES - 3) / stride + 1;
    ta_s8_dw_place_of places[TA_DW_PLACES];
    ta_s8_sixteen scale;
    ta_s8_sixteen_of(&scale, how, ta_s8_clamps(end->scale), end->scale, end->multiplier + own, end->shift + own);
    if (taps->placed != taps->w) {
        ta_s8_dw_weights_dot(taps, line->down);
    }
    for (int32_t done = 0, some; done < line->outputs; done += some) {
        const int32_t left = line->outputs - done, begin = left < 4 ? line->outputs - 4 : done;
        some = line->outputs - begin < most ? line->outputs - begin : most;
        ta_s8_dw_places_dot(both, &all, taps->pad[0], begin * stride - all.before, (some - 1) * stride + 3, places);
        for (int32_t k = 0; k < some; k += 4) {
            const int32_t at = k + 4 > some ? some - 4 : k;
            const ta_s8_sink sink = {NULL, out + (begin + at) * apart, apart, &scale};
            ta_s8_dw_4_dot(how, both, taps->bias, taps->places, places + at * stride, stride, &sink);
        }
        some -= done - begin;
    }
}
#endif

#endif
