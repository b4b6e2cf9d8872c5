/* Depthwise convolution: the scratch has one sum per channel. */
#include "arm_nnfunctions.h"
#include "requantize.h"

static void add_pixel(int32_t *sums, const int8_t *pixel, const int8_t *weights, int32_t channels,
                      int32_t ch_mult, int32_t offset)
{
    if (ch_mult == 1) {
        for (int32_t k = 0; k < channels; k++)
            sums[k] += (int16_t)(pixel[k] + offset) * weights[k];
        return;
    }
    for (int32_t k = 0; k < channels * ch_mult; k++)
        sums[k] += (pixel[k / ch_mult] + offset) * weights[k];
}

arm_cmsis_nn_status arm_depthwise_conv_wrapper_s8(
    const cmsis_nn_context *ctx, const cmsis_nn_dw_conv_params *dw_conv_params,
    const cmsis_nn_per_channel_quant_params *quant_params, const cmsis_nn_dims *input_dims,
    const int8_t *input_data, const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
    const cmsis_nn_dims *bias_dims, const int32_t *bias_data, const cmsis_nn_dims *output_dims,
    int8_t *output_data)
{
    const cmsis_nn_dw_conv_params *p = dw_conv_params;
    const cmsis_nn_dims *in = input_dims, *out = output_dims;
    (void)bias_dims;
    if (out->c != in->c * p->ch_mult || ctx->buf == NULL ||
        ctx->size < arm_depthwise_conv_wrapper_s8_get_buffer_size(p, in, filter_dims, out))
        return ARM_CMSIS_NN_ARG_ERROR;
    int32_t *sums = ctx->buf;
    for (int32_t at = 0; at < out->n * out->h * out->w; at++) {
        const int32_t top = at / out->w % out->h * p->stride.h - p->padding.h;
        const int32_t left = at % out->w * p->stride.w - p->padding.w;
        const int8_t *image = input_data + at / (out->w * out->h) * in->h * in->w * in->c;
        for (int32_t k = 0; k < out->c; k++)
            sums[k] = bias_data == NULL ? 0 : bias_data[k];
        for (int32_t tap = 0; tap < filter_dims->h * filter_dims->w; tap++) {
            const int32_t y = top + tap / filter_dims->w * p->dilation.h;
            const int32_t x = left + tap % filter_dims->w * p->dilation.w;
            if (y < 0 || y >= in->h || x < 0 || x >= in->w)
                continue;
            add_pixel(sums, image + (y * in->w + x) * in->c, filter_data + tap * out->c, in->c, p->ch_mult,
                      p->input_offset);
        }
        for (int32_t k = 0; k < out->c; k++) {
            const int32_t value =
                requantize_twice(sums[k], quant_params->multiplier[k], quant_params->shift[k]);
            *output_data++ = clamped((int64_t)value + p->output_offset, &p->activation);
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size(
    const cmsis_nn_dw_conv_params *dw_conv_params, const cmsis_nn_dims *input_dims,
    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims)
{
    (void)dw_conv_params;
    (void)input_dims;
    (void)filter_dims;
    return output_dims->c * (int32_t)sizeof(int32_t);
}

int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size_dsp(
    const cmsis_nn_dw_conv_params *dw_conv_params, const cmsis_nn_dims *input_dims,
    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims)
{
    return arm_depthwise_conv_wrapper_s8_get_buffer_size(dw_conv_params, input_dims, filter_dims, output_dims);
}

int32_t arm_depthwise_conv_wrapper_s8_get_buffer_size_mve(
    const cmsis_nn_dw_conv_params *dw_conv_params, const cmsis_nn_dims *input_dims,
    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims)
{
    return arm_depthwise_conv_wrapper_s8_get_buffer_size(dw_conv_params, input_dims, filter_dims, output_dims);
}
