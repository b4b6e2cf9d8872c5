/* Fully connected layers: what the input's offset and the bias make of a row of weights comes precomputed. */
#include "arm_nnfunctions.h"
#include "requantize.h"

arm_cmsis_nn_status arm_fully_connected_s8(
    const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
    const cmsis_nn_per_tensor_quant_params *quant_params, const cmsis_nn_dims *input_dims,
    const int8_t *input_data, const cmsis_nn_dims *filter_dims, const int8_t *filter_data,
    const cmsis_nn_dims *bias_dims, const int32_t *bias_data, const cmsis_nn_dims *output_dims,
    int8_t *output_data)
{
    const int32_t length = filter_dims->n;
    const int32_t *kernel_sums = ctx->buf;
    (void)bias_dims;
    (void)bias_data;
    if (fc_params->filter_offset != 0 || output_dims->c != filter_dims->c || kernel_sums == NULL ||
        ctx->size < arm_fully_connected_s8_get_buffer_size(filter_dims))
        return ARM_CMSIS_NN_ARG_ERROR;
    for (int32_t n = 0; n < input_dims->n; n++, input_data += length)
        for (int32_t k = 0; k < output_dims->c; k++) {
            const int8_t *weights = filter_data + k * length;
            int32_t sum = kernel_sums[k];
            for (int32_t i = 0; i < length; i++)
                sum += input_data[i] * weights[i];
            sum = requantize_once(sum, quant_params->multiplier, quant_params->shift);
            *output_data++ = clamped((int64_t)sum + fc_params->output_offset, &fc_params->activation);
        }
    return ARM_CMSIS_NN_SUCCESS;
}

int32_t arm_fully_connected_s8_get_buffer_size(const cmsis_nn_dims *filter_dims)
{
    return filter_dims->c * (int32_t)sizeof(int32_t);
}

int32_t arm_fully_connected_s8_get_buffer_size_dsp(const cmsis_nn_dims *filter_dims)
{
    return arm_fully_connected_s8_get_buffer_size(filter_dims);
}

int32_t arm_fully_connected_s8_get_buffer_size_mve(const cmsis_nn_dims *filter_dims)
{
    return arm_fully_connected_s8_get_buffer_size(filter_dims);
}
