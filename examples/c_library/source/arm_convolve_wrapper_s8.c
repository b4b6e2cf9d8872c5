/* Convolution: the pixels under the window become one row of int16 in the scratch, then a product with every
 * row of the weights. */
#include "arm_nnfunctions.h"
#include "requantize.h"

static void gather(const cmsis_nn_conv_params *p, const cmsis_nn_dims *in, const int8_t *image,
                   const cmsis_nn_dims *filter, int32_t top, int32_t left, int16_t *row)
{
    for (int32_t i = 0; i < filter->h; i++) {
        const int32_t y = top + i * p->dilation.h;
        for (int32_t j = 0; j < filter->w; j++) {
            const int32_t x = left + j * p->dilation.w;
            const int inside = y >= 0 && y < in->h && x >= 0 && x < in->w;
            for (int32_t c = 0; c < in->c; c++)
                *row++ = inside ? (int16_t)(image[(y * in->w + x) * in->c + c] + p->input_offset) : 0;
        }
    }
}

arm_cmsis_nn_status arm_convolve_wrapper_s8(
    const cmsis_nn_context *ctx, const cmsis_nn_conv_params *conv_params,
    const cmsis_nn_per_channel_quant_params *quant_params, const cmsis_nn_dims *input_dims,
    const int8_t *input_data, const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
    const cmsis_nn_dims *bias_dims, const int32_t *bias_data, const cmsis_nn_dims *output_dims,
    int8_t *output_data)
{
    const cmsis_nn_conv_params *p = conv_params;
    const int32_t length = filter_dims->h * filter_dims->w * input_dims->c;
    (void)bias_dims;
    if (filter_dims->c != input_dims->c || ctx->buf == NULL ||
        ctx->size < arm_convolve_wrapper_s8_get_buffer_size(p, input_dims, filter_dims, output_dims))
        return ARM_CMSIS_NN_ARG_ERROR;
    int16_t *row = ctx->buf;
    for (int32_t n = 0; n < input_dims->n; n++) {
        const int8_t *image = input_data + n * input_dims->h * input_dims->w * input_dims->c;
        for (int32_t at = 0; at < output_dims->h * output_dims->w; at++) {
            const int32_t y = at / output_dims->w * p->stride.h - p->padding.h;
            const int32_t x = at % output_dims->w * p->stride.w - p->padding.w;
            gather(p, input_dims, image, filter_dims, y, x, row);
            for (int32_t k = 0; k < output_dims->c; k++) {
                const int8_t *weights = filter_data + k * length;
                int32_t sum = bias_data == NULL ? 0 : bias_data[k];
                for (int32_t i = 0; i < length; i++)
                    sum += row[i] * weights[i];
                sum = requantize_twice(sum, quant_params->multiplier[k], quant_params->shift[k]);
                *output_data++ = clamped((int64_t)sum + p->output_offset, &p->activation);
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_convolve_wrapper_s8_get_buffer_size(
    const cmsis_nn_conv_params *conv_params, const cmsis_nn_dims *input_dims,
    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims)
{
    (void)conv_params;
    (void)output_dims;
    return filter_dims->h * filter_dims->w * input_dims->c * (int32_t)sizeof(int16_t);
}

int32_t arm_convolve_wrapper_s8_get_buffer_size_dsp(
    const cmsis_nn_conv_params *conv_params, const cmsis_nn_dims *input_dims,
    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims)
{
    return arm_convolve_wrapper_s8_get_buffer_size(conv_params, input_dims, filter_dims, output_dims);
}

int32_t arm_convolve_wrapper_s8_get_buffer_size_mve(
    const cmsis_nn_conv_params *conv_params, const cmsis_nn_dims *input_dims,
    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims)
{
    return arm_convolve_wrapper_s8_get_buffer_size(conv_params, input_dims, filter_dims, output_dims);
}
