/* Shared by the simulators of int8 engines: exact requantization, and little-endian words in device memory.
 *
 * The two requantizers are those of target_arch/plan/arithmetic.py, to the bit.
 */
#ifndef TARGET_ARCH_SIMULATORS_INT8_H
#define TARGET_ARCH_SIMULATORS_INT8_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TA_ROUNDING_TFLITE = 0, TA_ROUNDING_ONNX = 1, TA_ROUNDING_TFLITE_SINGLE = 2 };

#define TA_INT8_PARAMETER_BYTES 12u /* bias, multiplier, shift of one channel */

/* The parameters that all channels of a command share. */
typedef struct ta_int8_scaling {
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t least;
    int32_t greatest;
    uint32_t rounding;
} ta_int8_scaling;

/* The scaling that five consecutive registers hold: zero points of input and output, bounds, rounding. */
ta_int8_scaling ta_int8_scaling_of(const uint32_t *registers);

/* 1 where zero points and bounds are int8 and the rounding is known. */
int ta_int8_scaling_valid(const ta_int8_scaling *scaling);

/* 1 where the multipliers and shifts of all channels are in the range of the rounding. */
int ta_int8_parameters_valid(const uint8_t *parameters, uint32_t channels, uint32_t rounding);

/* 1 where a multiplier and a shift are in the range of the rounding. */
int ta_int8_factor_valid(uint32_t rounding, int32_t multiplier, int32_t shift);

/* A value requantized, neither offset nor clamped. The factor must be valid. */
int64_t ta_int8_scale(uint32_t rounding, int32_t value, int32_t multiplier, int32_t shift);

/* The int8 result of an accumulator without bias. The sum with the bias wraps at 32 bits. */
uint8_t ta_int8_result(int32_t accumulator, const uint8_t *parameters, const ta_int8_scaling *scaling);

/* A 32-bit value as two's complement. */
int32_t ta_int8_signed(uint32_t value);

/* The sum of products over `count` values, less the zero point of the input; wraps at 32 bits. */
int32_t ta_int8_dot(const uint8_t *values, const uint8_t *weights, uint32_t count, int32_t zero_point);

int32_t ta_int8_load32(const uint8_t *bytes);
void ta_int8_store32(uint8_t *bytes, int32_t value);

#ifdef __cplusplus
}
#endif

#endif
