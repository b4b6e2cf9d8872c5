/* Average pool: the scratch has one sum per channel. Half the count is added away from zero, then division
 * goes towards it. */
#include "arm_nnfunctions.h"
#include "requantize.h"

arm_cmsis_nn_status arm_avgpool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                   const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                   const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                   int8_t *output_data)
{
    const cmsis_nn_pool_params *p = pool_params;
    const cmsis_nn_dims *in = input_dims, *out = output_dims;
    if (in->c != out->c || ctx->buf == NULL || ctx->size < arm_avgpool_s8_get_buffer_size(out->w, in->c))
        return ARM_CMSIS_NN_ARG_ERROR;
    int32_t *sums = ctx->buf;
    for (int32_t at = 0; at < in->n * out->h * out->w; at++) {
        const int32_t top = at / out->w % out->h * p->stride.h - p->padding.h;
        const int32_t left = at % out->w * p->stride.w - p->padding.w;
        const int8_t *image = input_data + at / (out->w * out->h) * in->h * in->w * in->c;
        int32_t count = 0;
        for (int32_t c = 0; c < in->c; c++)
            sums[c] = 0;
        for (int32_t tap = 0; tap < filter_dims->h * filter_dims->w; tap++) {
            const int32_t y = top + tap / filter_dims->w, x = left + tap % filter_dims->w;
            if (y < 0 || y >= in->h || x < 0 || x >= in->w)
                continue;
            for (int32_t c = 0; c < in->c; c++)
                sums[c] += image[(y * in->w + x) * in->c + c];
            count++;
        }
        if (count == 0)
            return ARM_CMSIS_NN_ARG_ERROR;
        for (int32_t c = 0; c < in->c; c++) {
            const int32_t half = sums[c] > 0 ? count / 2 : -(count / 2);
            *output_data++ = clamped((sums[c] + half) / count, &p->activation);
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_avgpool_s8_get_buffer_size(const int dim_dst_width, const int ch_src)
{
    (void)dim_dst_width;
    return ch_src * (int32_t)sizeof(int32_t);
}

int32_t arm_avgpool_s8_get_buffer_size_dsp(const int dim_dst_width, const int ch_src)
{
    return arm_avgpool_s8_get_buffer_size(dim_dst_width, ch_src);
}

int32_t arm_avgpool_s8_get_buffer_size_mve(const int dim_dst_width, const int ch_src)
{
    return arm_avgpool_s8_get_buffer_size(dim_dst_width, ch_src);
}
