#include "int8.h"

int32_t ta_int8_signed(uint32_t value) {
    return value <= (uint32_t)INT32_MAX ? (int32_t)value : -(int32_t)(UINT32_MAX - value) - 1;
}

int32_t ta_int8_load32(const uint8_t *bytes) {
    return ta_int8_signed((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                          (uint32_t)bytes[3] << 24);
}

void ta_int8_store32(uint8_t *bytes, int32_t value) {
    const uint32_t word = (uint32_t)value;

    bytes[0] = (uint8_t)(word & 0xffu);
    bytes[1] = (uint8_t)(word >> 8 & 0xffu);
    bytes[2] = (uint8_t)(word >> 16 & 0xffu);
    bytes[3] = (uint8_t)(word >> 24 & 0xffu);
}

ta_int8_scaling ta_int8_scaling_of(const uint32_t *registers) {
    ta_int8_scaling scaling;

    scaling.input_zero_point = ta_int8_signed(registers[0]);
    scaling.output_zero_point = ta_int8_signed(registers[1]);
    scaling.least = ta_int8_signed(registers[2]);
    scaling.greatest = ta_int8_signed(registers[3]);
    scaling.rounding = registers[4];
    return scaling;
}

static int is_int8(int32_t value) { return value >= INT8_MIN && value <= INT8_MAX; }

int ta_int8_scaling_valid(const ta_int8_scaling *scaling) {
    return is_int8(scaling->input_zero_point) && is_int8(scaling->output_zero_point) &&
           is_int8(scaling->least) && is_int8(scaling->greatest) && scaling->least <= scaling->greatest &&
           scaling->rounding <= TA_ROUNDING_TFLITE_SINGLE;
}

int ta_int8_factor_valid(uint32_t rounding, int32_t multiplier, int32_t shift) {
    const int32_t least = rounding == TA_ROUNDING_ONNX ? 0 : -31;
    const int32_t greatest = rounding == TA_ROUNDING_ONNX ? 62 : 30;

    return multiplier >= 0 && shift >= least && shift <= greatest;
}

int ta_int8_parameters_valid(const uint8_t *parameters, uint32_t channels, uint32_t rounding) {
    uint32_t channel;

    for (channel = 0; channel < channels; ++channel) {
        const uint8_t *each = parameters + TA_INT8_PARAMETER_BYTES * channel;
        if (!ta_int8_factor_valid(rounding, ta_int8_load32(each + 4), ta_int8_load32(each + 8))) {
            return 0;
        }
    }
    return 1;
}

/* Floor of value / 2^count; C99 leaves the right shift of a negative value to the implementation. */
static int64_t floor_shift(int64_t value, int32_t count) {
    return value < 0 ? ~(~value >> count) : value >> count;
}

static int64_t scale_tflite(int32_t value, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = shift < 0 ? -shift : 0;
    int64_t wide = (int64_t)value * ((int64_t)1 << left);
    int64_t high;

    wide = wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : wide;
    high = floor_shift(wide * multiplier + ((int64_t)1 << 30), 31);
    if (right == 0) {
        return high;
    }
    return floor_shift(high + ((int64_t)1 << (right - 1)) - (high < 0 ? 1 : 0), right);
}

static int64_t scale_tflite_single(int32_t value, int32_t multiplier, int32_t shift) {
    return floor_shift((int64_t)value * multiplier + ((int64_t)1 << (30 - shift)), 31 - shift);
}

static int64_t scale_onnx(int32_t value, int32_t multiplier, int32_t shift) {
    const int64_t exact = (int64_t)value * multiplier;
    const int64_t below = floor_shift(exact, shift);
    const int64_t rest = exact - below * ((int64_t)1 << shift);
    const int64_t half = shift > 0 ? (int64_t)1 << (shift - 1) : 0;

    if (shift == 0 || rest < half || (rest == half && below % 2 == 0)) {
        return below;
    }
    return below + 1;
}

int64_t ta_int8_scale(uint32_t rounding, int32_t value, int32_t multiplier, int32_t shift) {
    switch (rounding) {
    case TA_ROUNDING_TFLITE:
        return scale_tflite(value, multiplier, shift);
    case TA_ROUNDING_TFLITE_SINGLE:
        return scale_tflite_single(value, multiplier, shift);
    default:
        return scale_onnx(value, multiplier, shift);
    }
}

uint8_t ta_int8_result(int32_t accumulator, const uint8_t *parameters, const ta_int8_scaling *scaling) {
    const int32_t bias = ta_int8_load32(parameters);
    const int32_t multiplier = ta_int8_load32(parameters + 4);
    const int32_t shift = ta_int8_load32(parameters + 8);
    const int32_t sum = ta_int8_signed((uint32_t)accumulator + (uint32_t)bias);
    int64_t value = ta_int8_scale(scaling->rounding, sum, multiplier, shift) + scaling->output_zero_point;

    value = value > scaling->greatest ? scaling->greatest : value < scaling->least ? scaling->least : value;
    return (uint8_t)(value & 0xff);
}

/* So many products of at most 255 x 128 stay within 32 bits. */
#define CHUNK 65536u

int32_t ta_int8_dot(const uint8_t *values, const uint8_t *weights, uint32_t count, int32_t zero_point) {
    const int8_t *x = (const int8_t *)values;
    const int8_t *w = (const int8_t *)weights;
    uint32_t sum = 0;
    uint32_t first, index;

    for (first = 0; first < count; first += index) {
        const uint32_t most = count - first < CHUNK ? count - first : CHUNK;
        int32_t part = 0;
        for (index = 0; index < most; ++index) {
            part += (x[first + index] - zero_point) * w[first + index];
        }
        sum += (uint32_t)part;
    }
    return ta_int8_signed(sum);
}
