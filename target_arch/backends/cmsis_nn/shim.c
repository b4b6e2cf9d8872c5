/* Compiled with the library for the computer that compiles models: asks for sizes of scratch, makes constants,
 * and finds out how the library rounds. That it compiles is the proof that the library has the convention.
 *
 * `v` describes an operator: stride w h, padding w h, dilation w h, channel multiplier, then n h w c of input,
 * weights and output. `core` is 0 for this computer, 1 for DSP extensions, 2 for MVE.
 */
#include <stddef.h>
#include <stdint.h>

#include <arm_nnfunctions.h>

#ifdef TA_CORES
#define SIZE(function, core, ...) \
    ((core) == 2   ? function##_get_buffer_size_mve(__VA_ARGS__) \
     : (core) == 1 ? function##_get_buffer_size_dsp(__VA_ARGS__) \
                   : function##_get_buffer_size(__VA_ARGS__))
#else
#define SIZE(function, core, ...) ((void)(core), function##_get_buffer_size(__VA_ARGS__))
#endif

static cmsis_nn_tile tile(const int32_t *v)
{
    const cmsis_nn_tile found = {v[0], v[1]};
    return found;
}

static cmsis_nn_dims dims(const int32_t *v)
{
    const cmsis_nn_dims found = {v[0], v[1], v[2], v[3]};
    return found;
}

int32_t ta_conv2d_bytes(const int32_t *v, int32_t core)
{
    const cmsis_nn_conv_params p = {0, 0, tile(v), tile(v + 2), tile(v + 4), {-128, 127}};
    const cmsis_nn_dims in = dims(v + 7), filter = dims(v + 11), out = dims(v + 15);
    return SIZE(arm_convolve_wrapper_s8, core, &p, &in, &filter, &out);
}

int32_t ta_depthwise_conv2d_bytes(const int32_t *v, int32_t core)
{
    const cmsis_nn_dw_conv_params p = {0, 0, v[6], tile(v), tile(v + 2), tile(v + 4), {-128, 127}};
    const cmsis_nn_dims in = dims(v + 7), filter = dims(v + 11), out = dims(v + 15);
    return SIZE(arm_depthwise_conv_wrapper_s8, core, &p, &in, &filter, &out);
}

int32_t ta_dense_bytes(const int32_t *v, int32_t core)
{
    const cmsis_nn_dims filter = dims(v + 11);
    return SIZE(arm_fully_connected_s8, core, &filter);
}

int32_t ta_avg_pool2d_bytes(const int32_t *v, int32_t core)
{
    return SIZE(arm_avgpool_s8, core, v[17], v[10]);
}

int32_t ta_max_pool2d_bytes(const int32_t *v, int32_t core)
{
    (void)v;
    (void)core;
    return 0;
}

#ifdef TA_WIDE
int32_t ta_conv2d_s16_bytes(const int32_t *v, int32_t core)
{
    const cmsis_nn_conv_params p = {0, 0, tile(v), tile(v + 2), tile(v + 4), {-32768, 32767}};
    const cmsis_nn_dims in = dims(v + 7), filter = dims(v + 11), out = dims(v + 15);
    return SIZE(arm_convolve_wrapper_s16, core, &p, &in, &filter, &out);
}

int32_t ta_depthwise_conv2d_s16_bytes(const int32_t *v, int32_t core)
{
    const cmsis_nn_dw_conv_params p = {0, 0, v[6], tile(v), tile(v + 2), tile(v + 4), {-32768, 32767}};
    const cmsis_nn_dims in = dims(v + 7), filter = dims(v + 11), out = dims(v + 15);
    return SIZE(arm_depthwise_conv_wrapper_s16, core, &p, &in, &filter, &out);
}

int32_t ta_dense_s16_bytes(const int32_t *v, int32_t core)
{
    const cmsis_nn_dims filter = dims(v + 11);
    return SIZE(arm_fully_connected_s16, core, &filter);
}

int32_t ta_avg_pool2d_s16_bytes(const int32_t *v, int32_t core)
{
    return SIZE(arm_avgpool_s16, core, v[17], v[10]);
}

int32_t ta_max_pool2d_s16_bytes(const int32_t *v, int32_t core)
{
    (void)v;
    (void)core;
    return 0;
}

/* Never called: they are here to be looked for, with their parameters. */
int32_t ta_wide(const cmsis_nn_context *context, const cmsis_nn_conv_params *conv,
                const cmsis_nn_dw_conv_params *depthwise, const cmsis_nn_fc_params *dense,
                const cmsis_nn_per_channel_quant_params *scales, const cmsis_nn_per_tensor_quant_params *scale,
                const cmsis_nn_pool_params *pool, const cmsis_nn_dims *d, const int16_t *in, const int8_t *w,
                const int64_t *bias, int16_t *out)
{
    const cmsis_nn_bias_data biases = {bias, 0};
    return arm_convolve_wrapper_s16(context, conv, scales, d, in, d, w, d, &biases, d, out) +
           arm_depthwise_conv_wrapper_s16(context, depthwise, scales, d, in, d, w, d, bias, d, out) +
           arm_fully_connected_s16(context, dense, scale, d, in, d, w, d, bias, d, out) +
           arm_avgpool_s16(context, pool, d, in, d, d, out) + arm_max_pool_s16(context, pool, d, in, d, d, out);
}
#endif

#ifdef TA_MATRICES
/* Never called, either. */
int32_t ta_matrices(const cmsis_nn_context *context, const cmsis_nn_bmm_params *p,
                    const cmsis_nn_per_tensor_quant_params *scale, const cmsis_nn_dims *d, const int8_t *in, int8_t *out)
{
    return arm_batch_matmul_s8(context, p, scale, d, in, d, in, d, out);
}
#endif

int32_t ta_sums(int32_t *sums, int32_t columns, int32_t rows, const int8_t *weights, int32_t offset,
                const int32_t *bias)
{
    return arm_vector_sum_s8(sums, columns, rows, weights, offset, 0, bias);
}

/* 1 * 1, scaled by a quarter: 1 where two roundings are made, 0 where it is one. Negative: it failed. */
static int32_t workspace[4096];
static const int8_t one = 1;
static const int32_t no_bias = 0;
static int32_t half = 1 << 30, right = -1;
static const cmsis_nn_dims unit = {1, 1, 1, 1};

int32_t ta_conv2d_rounding(void)
{
    const cmsis_nn_conv_params p = {0, 0, {1, 1}, {0, 0}, {1, 1}, {-128, 127}};
    const cmsis_nn_per_channel_quant_params scale = {&half, &right};
    const cmsis_nn_context context = {workspace, (int32_t)sizeof workspace};
    int8_t out = 0;
    if (arm_convolve_wrapper_s8(&context, &p, &scale, &unit, &one, &unit, &one, &unit, &no_bias, &unit, &out))
        return -1;
    return out;
}

int32_t ta_depthwise_conv2d_rounding(void)
{
    const cmsis_nn_dw_conv_params p = {0, 0, 1, {1, 1}, {0, 0}, {1, 1}, {-128, 127}};
    const cmsis_nn_per_channel_quant_params scale = {&half, &right};
    const cmsis_nn_context context = {workspace, (int32_t)sizeof workspace};
    int8_t out = 0;
    if (arm_depthwise_conv_wrapper_s8(&context, &p, &scale, &unit, &one, &unit, &one, &unit, &no_bias, &unit,
                                      &out))
        return -1;
    return out;
}

int32_t ta_dense_rounding(void)
{
    const cmsis_nn_fc_params p = {0, 0, 0, {-128, 127}};
    const cmsis_nn_per_tensor_quant_params scale = {1 << 30, -1};
    const cmsis_nn_context context = {workspace, (int32_t)sizeof workspace};
    int8_t out = 0;
    if (arm_vector_sum_s8(workspace, 1, 1, &one, 0, 0, &no_bias))
        return -1;
    if (arm_fully_connected_s8(&context, &p, &scale, &unit, &one, &unit, &one, &unit, &no_bias, &unit, &out))
        return -1;
    return out;
}

/* Never called: pools have no rounding to find out. They are here to be looked for. */
int32_t ta_pools(const cmsis_nn_context *context, const cmsis_nn_pool_params *p, const int8_t *in, int8_t *out)
{
    return arm_avgpool_s8(context, p, &unit, in, &unit, &unit, out) +
           arm_max_pool_s8(context, p, &unit, in, &unit, &unit, out);
}
