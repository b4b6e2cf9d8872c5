/* Max pool: works in its output. */
#include "arm_nnfunctions.h"
#include "requantize.h"

arm_cmsis_nn_status arm_max_pool_s8(const cmsis_nn_context *ctx, const cmsis_nn_pool_params *pool_params,
                                    const cmsis_nn_dims *input_dims, const int8_t *input_data,
                                    const cmsis_nn_dims *filter_dims, const cmsis_nn_dims *output_dims,
                                    int8_t *output_data)
{
    const cmsis_nn_pool_params *p = pool_params;
    const cmsis_nn_dims *in = input_dims, *out = output_dims;
    (void)ctx;
    if (in->c != out->c)
        return ARM_CMSIS_NN_ARG_ERROR;
    for (int32_t at = 0; at < in->n * out->h * out->w; at++, output_data += in->c) {
        const int32_t top = at / out->w % out->h * p->stride.h - p->padding.h;
        const int32_t left = at % out->w * p->stride.w - p->padding.w;
        const int8_t *image = input_data + at / (out->w * out->h) * in->h * in->w * in->c;
        for (int32_t c = 0; c < in->c; c++)
            output_data[c] = INT8_MIN;
        for (int32_t tap = 0; tap < filter_dims->h * filter_dims->w; tap++) {
            const int32_t y = top + tap / filter_dims->w, x = left + tap % filter_dims->w;
            if (y < 0 || y >= in->h || x < 0 || x >= in->w)
                continue;
            for (int32_t c = 0; c < in->c; c++) {
                const int8_t value = image[(y * in->w + x) * in->c + c];
                output_data[c] = value > output_data[c] ? value : output_data[c];
            }
        }
        for (int32_t c = 0; c < in->c; c++)
            output_data[c] = clamped(output_data[c], &p->activation);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
