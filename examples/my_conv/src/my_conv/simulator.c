/* What the accelerator does with a command, bit by bit. It sees its registers and its own memory, nothing else. */
#include "my_conv.h"
#include "ports/host/simulator.h"
#include "simulators/int8.h"

#define REGISTER(name) registers[MY_CONV_##name / 4u]
#define FIELD(name) field(c, MY_CONV_##name)
#define MOST 4096 /* of every size, so that no product of sizes overflows 64 bits */

typedef struct command {
    const uint8_t *layer;
    const uint8_t *input;
    const uint8_t *residual; /* NULL where the command does not add */
    uint8_t *output;
    int convolves;
    ta_int8_scaling scaling;
} command;

static int32_t field(const command *c, int index) { return ta_int8_load32(c->layer + 4 * index); }

static int64_t elements(const command *c, int first) { /* of the tensor with the three sizes from `first` on */
    return (int64_t)field(c, first) * field(c, first + 1) * field(c, first + 2);
}

static int64_t taps(const command *c) {
    return (int64_t)FIELD(KERNEL_HEIGHT) * FIELD(KERNEL_WIDTH) * FIELD(IN_CHANNELS);
}

static const uint8_t *parameters(const command *c) { return c->layer + 4 * MY_CONV_FIELDS; }

static const uint8_t *weights(const command *c) {
    return parameters(c) + (int64_t)TA_INT8_PARAMETER_BYTES * FIELD(OUT_CHANNELS);
}

/* The sizes of a layer are sizes, and it lies whole in the memory. */
static int is_layer(const command *c, uint32_t address, const ta_window *windows, uint32_t window_count) {
    uint64_t bytes = 4u * MY_CONV_FIELDS;
    int index;

    for (index = MY_CONV_IN_HEIGHT; index <= MY_CONV_STRIDE_WIDTH; ++index) {
        if (field(c, index) < 1 || field(c, index) > MOST) {
            return 0;
        }
    }
    if (c->convolves) {
        bytes += (uint64_t)FIELD(OUT_CHANNELS) * (TA_INT8_PARAMETER_BYTES + (uint64_t)taps(c));
    }
    return ta_window_at(windows, window_count, address, bytes) != NULL;
}

/* One element of the convolution. Taps on padding count as the zero point, so they add nothing. */
static int32_t convolved(const command *c, int32_t row, int32_t column, int32_t channel) {
    const int32_t channels = FIELD(IN_CHANNELS);
    const uint8_t *filter = weights(c) + channel * taps(c);
    uint32_t sum = 0;
    int32_t y, x;

    for (y = 0; y < FIELD(KERNEL_HEIGHT); ++y) {
        const int32_t from_row = row * FIELD(STRIDE_HEIGHT) - FIELD(PAD_TOP) + y;
        for (x = 0; x < FIELD(KERNEL_WIDTH); ++x, filter += channels) {
            const int32_t from = column * FIELD(STRIDE_WIDTH) - FIELD(PAD_LEFT) + x;
            if (from_row >= 0 && from_row < FIELD(IN_HEIGHT) && from >= 0 && from < FIELD(IN_WIDTH)) {
                const uint8_t *pixel = c->input + ((int64_t)from_row * FIELD(IN_WIDTH) + from) * channels;
                sum += (uint32_t)ta_int8_dot(pixel, filter, (uint32_t)channels, c->scaling.input_zero_point);
            }
        }
    }
    return (int8_t)ta_int8_result(ta_int8_signed(sum), parameters(c) + TA_INT8_PARAMETER_BYTES * channel, &c->scaling);
}

static int32_t sum_field(const command *c, int index) { return field(c, MY_CONV_SUM + index); }

static int64_t multiplier(const command *c, int side) {
    const int index = MY_CONV_SUM_MULTIPLIER + 2 * side;
    return (int64_t)sum_field(c, index + 1) * ((int64_t)1 << 32) + (uint32_t)sum_field(c, index);
}

/* A sum of exact products, shifted right and rounded half to even. */
static int64_t rounded(int64_t sum, int32_t shift) {
    const int64_t unit = (int64_t)1 << shift;
    const int64_t floor = sum / unit - (sum % unit < 0 ? 1 : 0);
    const int64_t rest = sum - floor * unit;

    return floor + (2 * rest > unit || (2 * rest == unit && floor % 2 != 0) ? 1 : 0);
}

static int64_t total(const command *c, const int32_t *values) {
    int64_t sum = 0;
    int side;

    for (side = 0; side < 2; ++side) {
        const int32_t value = values[side] - sum_field(c, MY_CONV_SUM_ZERO + side);
        if (c->scaling.rounding == TA_ROUNDING_TFLITE) {
            sum += ta_int8_scale(TA_ROUNDING_TFLITE, value * (1 << sum_field(c, MY_CONV_SUM_LEFT)),
                                 (int32_t)multiplier(c, side), sum_field(c, MY_CONV_SUM_SHIFT + side));
        } else {
            sum += value * multiplier(c, side);
        }
    }
    if (c->scaling.rounding == TA_ROUNDING_TFLITE) {
        return ta_int8_scale(TA_ROUNDING_TFLITE, (int32_t)sum, sum_field(c, MY_CONV_SUM_RESULT_MULTIPLIER),
                             sum_field(c, MY_CONV_SUM_RESULT_SHIFT));
    }
    return rounded(sum, sum_field(c, MY_CONV_SUM_RESULT_SHIFT));
}

static int32_t added(const command *c, int32_t value, int32_t residual) {
    const int32_t values[2] = {value, residual};
    const int64_t sum = total(c, values) + sum_field(c, MY_CONV_SUM_RESULT_ZERO);
    const int32_t least = sum_field(c, MY_CONV_SUM_LEAST), greatest = sum_field(c, MY_CONV_SUM_GREATEST);

    return sum < least ? least : sum > greatest ? greatest : (int32_t)sum;
}

static void execute(const command *c) {
    const int32_t height = FIELD(OUT_HEIGHT), width = FIELD(OUT_WIDTH), channels = FIELD(OUT_CHANNELS);
    const int8_t *residual = (const int8_t *)c->residual;
    int64_t at = 0;
    int32_t row, column, channel;

    for (row = 0; row < height; ++row) {
        for (column = 0; column < width; ++column) {
            for (channel = 0; channel < channels; ++channel, ++at) {
                int32_t value = c->convolves ? convolved(c, row, column, channel) : (int8_t)c->input[at];
                value = residual != NULL ? added(c, value, residual[at]) : value;
                c->output[at] = (uint8_t)value;
            }
        }
    }
}

static uint32_t ended(const uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    const uint32_t stages = REGISTER(STAGES);
    command c = {NULL, NULL, NULL, NULL, 0, {0, 0, 0, 0, 0}};
    uint32_t words[5], index;
    uint64_t bytes;

    c.layer = ta_window_at(windows, window_count, REGISTER(LAYER), 4u * MY_CONV_FIELDS);
    c.convolves = (stages & MY_CONV_CONVOLVE) != 0u;
    if (c.layer == NULL || stages == 0u || !is_layer(&c, REGISTER(LAYER), windows, window_count)) {
        return MY_CONV_STATUS_FAULT;
    }
    for (index = 0; index < 5u; ++index) {
        words[index] = (uint32_t)field(&c, MY_CONV_SCALING + (int)index);
    }
    c.scaling = ta_int8_scaling_of(words);
    bytes = (uint64_t)elements(&c, MY_CONV_OUT_HEIGHT);
    c.input = ta_window_at(windows, window_count, REGISTER(INPUT), (uint64_t)elements(&c, MY_CONV_IN_HEIGHT));
    c.output = ta_window_at(windows, window_count, REGISTER(OUTPUT), bytes);
    if (stages & MY_CONV_ADD) {
        c.residual = ta_window_at(windows, window_count, REGISTER(RESIDUAL), bytes);
    }
    if (c.input == NULL || c.output == NULL || (c.residual == NULL && (stages & MY_CONV_ADD) != 0u)) {
        return MY_CONV_STATUS_FAULT;
    }
    execute(&c);
    return MY_CONV_STATUS_DONE;
}

static ta_status run(uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    if (REGISTER(START) == 1u) {
        REGISTER(STATUS) = ended(registers, windows, window_count);
    }
    REGISTER(START) = 0u;
    return TA_OK;
}

const ta_simulator my_conv_simulator = {"my_conv", MY_CONV_REGISTERS, MY_CONV_START, run};
