/* The conv2d engine's behaviour: one tile, exactly, from and to the memories it observes. */
#include "../drivers/conv2d_engine.h"
#include "../ports/host/simulator.h"
#include "int8.h"

#define REGISTER(name) registers[TA_CONV2D_ENGINE_##name / 4u]

/* A side of a tile or kernel is at most this, so that every product of four sides fits 64 bits. */
#define MOST 0xffffu

TA_STATIC_ASSERT(TA_ROUNDING_TFLITE == TA_CONV2D_ENGINE_ROUNDING_TFLITE, tflite);
TA_STATIC_ASSERT(TA_ROUNDING_ONNX == TA_CONV2D_ENGINE_ROUNDING_ONNX, onnx);
TA_STATIC_ASSERT(TA_ROUNDING_TFLITE_SINGLE == TA_CONV2D_ENGINE_ROUNDING_TFLITE_SINGLE, tflite_single);
TA_STATIC_ASSERT(TA_CONV2D_ENGINE_ROUNDING == TA_CONV2D_ENGINE_INPUT_ZERO_POINT + 16u, scaling);

typedef struct tile {
    uint32_t in_height, in_width, in_channels;
    uint32_t out_height, out_width, out_channels;
    uint32_t kernel_height, kernel_width;
    uint32_t stride_height, stride_width;
    uint32_t pad_top, pad_left;
    const uint8_t *input;
    const uint8_t *weights;
    const uint8_t *parameters;
    uint8_t *output;
    ta_int8_scaling scaling;
} tile;

static int geometry(const uint32_t *registers, tile *t) {
    const uint32_t *sizes[] = {&t->in_height,     &t->in_width,     &t->in_channels,   &t->out_height,
                               &t->out_width,     &t->out_channels, &t->kernel_height, &t->kernel_width,
                               &t->stride_height, &t->stride_width};
    uint32_t index;

    t->in_height = REGISTER(IN_HEIGHT);
    t->in_width = REGISTER(IN_WIDTH);
    t->in_channels = REGISTER(IN_CHANNELS);
    t->out_height = REGISTER(OUT_HEIGHT);
    t->out_width = REGISTER(OUT_WIDTH);
    t->out_channels = REGISTER(OUT_CHANNELS);
    t->kernel_height = REGISTER(KERNEL_HEIGHT);
    t->kernel_width = REGISTER(KERNEL_WIDTH);
    t->stride_height = REGISTER(STRIDE_HEIGHT);
    t->stride_width = REGISTER(STRIDE_WIDTH);
    t->pad_top = REGISTER(PAD_TOP);
    t->pad_left = REGISTER(PAD_LEFT);
    for (index = 0; index < sizeof sizes / sizeof *sizes; ++index) {
        if (*sizes[index] == 0u || *sizes[index] > MOST) {
            return 0;
        }
    }
    return t->pad_top < t->kernel_height && t->pad_left < t->kernel_width;
}

static int operands(const uint32_t *registers, const ta_window *windows, uint32_t count, tile *t) {
    const uint64_t taps = (uint64_t)t->kernel_height * t->kernel_width * t->in_channels;
    const uint64_t input = (uint64_t)t->in_height * t->in_width * t->in_channels;
    const uint64_t output = (uint64_t)t->out_height * t->out_width * t->out_channels;

    t->input = ta_window_at(windows, count, REGISTER(INPUT), input);
    t->weights = ta_window_at(windows, count, REGISTER(WEIGHTS), taps * t->out_channels);
    t->parameters = ta_window_at(windows, count, REGISTER(PARAMETERS),
                                 (uint64_t)TA_INT8_PARAMETER_BYTES * t->out_channels);
    t->output = ta_window_at(windows, count, REGISTER(OUTPUT), output);
    return t->input != NULL && t->weights != NULL && t->parameters != NULL && t->output != NULL;
}

/* One output before its bias. Taps on padding count as the zero point, so they add nothing. */
static int32_t convolve(const tile *t, uint32_t row, uint32_t column, uint32_t channel) {
    const int64_t top = (int64_t)row * t->stride_height - t->pad_top;
    const int64_t left = (int64_t)column * t->stride_width - t->pad_left;
    const int64_t before = left < 0 ? -left : 0;
    const int64_t past = left + t->kernel_width > t->in_width ? left + t->kernel_width - t->in_width : 0;
    const int64_t taps = (int64_t)t->kernel_width - before - past;
    uint32_t sum = 0;
    uint32_t y;

    for (y = 0; y < t->kernel_height && taps > 0; ++y) {
        const int64_t source = top + y;
        const uint64_t tap = (((uint64_t)channel * t->kernel_height + y) * t->kernel_width + (uint64_t)before) *
                             t->in_channels;
        if (source >= 0 && source < t->in_height) {
            const uint64_t pixel = (uint64_t)(source * t->in_width + left + before) * t->in_channels;
            sum += (uint32_t)ta_int8_dot(t->input + pixel, t->weights + tap, (uint32_t)taps * t->in_channels,
                                         t->scaling.input_zero_point);
        }
    }
    return ta_int8_signed(sum);
}

static uint32_t execute(const uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    tile t;
    uint8_t *out;
    uint32_t row, column, channel;

    if (!geometry(registers, &t)) {
        return TA_CONV2D_ENGINE_STATUS_FAULT_GEOMETRY;
    }
    if (!operands(registers, windows, window_count, &t)) {
        return TA_CONV2D_ENGINE_STATUS_FAULT_ADDRESS;
    }
    t.scaling = ta_int8_scaling_of(&REGISTER(INPUT_ZERO_POINT));
    if (!ta_int8_scaling_valid(&t.scaling) ||
        !ta_int8_parameters_valid(t.parameters, t.out_channels, t.scaling.rounding)) {
        return TA_CONV2D_ENGINE_STATUS_FAULT_ARITHMETIC;
    }
    out = t.output;
    for (row = 0; row < t.out_height; ++row) {
        for (column = 0; column < t.out_width; ++column) {
            for (channel = 0; channel < t.out_channels; ++channel) {
                *out++ = ta_int8_result(convolve(&t, row, column, channel),
                                        t.parameters + TA_INT8_PARAMETER_BYTES * channel, &t.scaling);
            }
        }
    }
    return TA_CONV2D_ENGINE_STATUS_DONE;
}

static ta_status run(uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    if (REGISTER(START) == 1u) {
        REGISTER(STATUS) = execute(registers, windows, window_count);
    }
    REGISTER(START) = 0u;
    return TA_OK;
}

const ta_simulator ta_conv2d_engine_simulator = {"conv2d_engine", TA_CONV2D_ENGINE_REGISTERS,
                                                 TA_CONV2D_ENGINE_START, run};
