/* conv2d: x [1, 7, 9, 3], out [1, 4, 5, 5] */
int library_conv2d_e0933ed6(const int8_t *x, const int8_t *w, const int32_t *bias,
                                   const int32_t *multiplier, const int32_t *shift, int8_t *out,
                                   uint8_t *scratch)
{
    const cmsis_nn_context context = {scratch, 36};
    const cmsis_nn_per_channel_quant_params scaling = {(int32_t *)multiplier, (int32_t *)shift};
    const cmsis_nn_conv_params parameters = {
        .input_offset = 7,
        .output_offset = 3,
        .stride = {2, 2},
        .padding = {0, 1},
        .dilation = {1, 1},
        .activation = {-128, 127},
    };
    const cmsis_nn_dims input = {1, 7, 9, 3};
    const cmsis_nn_dims filter = {5, 3, 2, 3};
    const cmsis_nn_dims output = {1, 4, 5, 5};
    const cmsis_nn_dims biases = {1, 1, 1, 5};
    return arm_convolve_wrapper_s8(&context, &parameters, &scaling, &input, x, &filter, w, &biases, bias,
        &output, out);
}
