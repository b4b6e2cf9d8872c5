/* The matrix engine's behaviour: one block, exactly, from and to the scratchpads it observes. */
#include "../drivers/gemm_npu.h"
#include "../ports/host/simulator.h"
#include "int8.h"

#define REGISTER(name) registers[TA_GEMM_NPU_##name / 4u]

/* Greatest count of rows, columns or depth; keeps every product of two within 64 bits. */
#define MOST 0xffffffu

TA_STATIC_ASSERT(TA_ROUNDING_TFLITE == TA_GEMM_NPU_ROUNDING_TFLITE, tflite);
TA_STATIC_ASSERT(TA_ROUNDING_ONNX == TA_GEMM_NPU_ROUNDING_ONNX, onnx);
TA_STATIC_ASSERT(TA_ROUNDING_TFLITE_SINGLE == TA_GEMM_NPU_ROUNDING_TFLITE_SINGLE, tflite_single);
TA_STATIC_ASSERT(TA_GEMM_NPU_ROUNDING == TA_GEMM_NPU_INPUT_ZERO_POINT + 16u, scaling);

typedef struct block {
    uint32_t rows, depth, columns, flags;
    const uint8_t *input;
    const uint8_t *weights;
    uint8_t *accumulators;
    const uint8_t *parameters; /* only in a command with FLAG_LAST, as output */
    uint8_t *output;
    ta_int8_scaling scaling;
} block;

static int geometry(const uint32_t *registers, block *b) {
    const uint32_t known = TA_GEMM_NPU_FLAG_FIRST | TA_GEMM_NPU_FLAG_LAST;

    b->rows = REGISTER(ROWS);
    b->depth = REGISTER(DEPTH);
    b->columns = REGISTER(COLUMNS);
    b->flags = REGISTER(FLAGS);
    return b->rows != 0u && b->rows <= MOST && b->depth != 0u && b->depth <= MOST && b->columns != 0u &&
           b->columns <= MOST && (b->flags & ~known) == 0u;
}

static int operands(const uint32_t *registers, const ta_window *windows, uint32_t count, block *b) {
    const uint64_t results = (uint64_t)b->rows * b->columns;

    b->input = ta_window_at(windows, count, REGISTER(INPUT), (uint64_t)b->rows * b->depth);
    b->weights = ta_window_at(windows, count, REGISTER(WEIGHTS), (uint64_t)b->columns * b->depth);
    b->accumulators = ta_window_at(windows, count, REGISTER(ACCUMULATORS), 4u * results);
    if (b->input == NULL || b->weights == NULL || b->accumulators == NULL || REGISTER(ACCUMULATORS) % 4u != 0u) {
        return 0;
    }
    if ((b->flags & TA_GEMM_NPU_FLAG_LAST) == 0u) {
        return 1;
    }
    b->parameters = ta_window_at(windows, count, REGISTER(PARAMETERS),
                                 (uint64_t)TA_INT8_PARAMETER_BYTES * b->columns);
    b->output = ta_window_at(windows, count, REGISTER(OUTPUT), results);
    return b->parameters != NULL && b->output != NULL;
}

static int arithmetic(const block *b) {
    if (!ta_int8_scaling_valid(&b->scaling)) {
        return 0;
    }
    return (b->flags & TA_GEMM_NPU_FLAG_LAST) == 0u ||
           ta_int8_parameters_valid(b->parameters, b->columns, b->scaling.rounding);
}

static void multiply(const block *b) {
    uint32_t row, column;

    for (row = 0; row < b->rows; ++row) {
        for (column = 0; column < b->columns; ++column) {
            const uint64_t index = (uint64_t)row * b->columns + column;
            uint8_t *accumulator = b->accumulators + 4u * index;
            uint32_t sum = (b->flags & TA_GEMM_NPU_FLAG_FIRST) != 0u ? 0u : (uint32_t)ta_int8_load32(accumulator);
            sum += (uint32_t)ta_int8_dot(b->input + (uint64_t)row * b->depth, b->weights + (uint64_t)column * b->depth,
                                         b->depth, b->scaling.input_zero_point);
            ta_int8_store32(accumulator, ta_int8_signed(sum));
        }
    }
}

static void finish(const block *b) {
    uint32_t row, column;

    for (row = 0; row < b->rows; ++row) {
        for (column = 0; column < b->columns; ++column) {
            const uint64_t index = (uint64_t)row * b->columns + column;
            b->output[index] = ta_int8_result(ta_int8_load32(b->accumulators + 4u * index),
                                              b->parameters + TA_INT8_PARAMETER_BYTES * column, &b->scaling);
        }
    }
}

static uint32_t execute(const uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    block b = {0};

    if (!geometry(registers, &b)) {
        return TA_GEMM_NPU_STATUS_FAULT_GEOMETRY;
    }
    if (!operands(registers, windows, window_count, &b)) {
        return TA_GEMM_NPU_STATUS_FAULT_ADDRESS;
    }
    b.scaling = ta_int8_scaling_of(&REGISTER(INPUT_ZERO_POINT));
    if (!arithmetic(&b)) {
        return TA_GEMM_NPU_STATUS_FAULT_ARITHMETIC;
    }
    multiply(&b);
    if ((b.flags & TA_GEMM_NPU_FLAG_LAST) != 0u) {
        finish(&b);
    }
    return TA_GEMM_NPU_STATUS_DONE;
}

static ta_status run(uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    if (REGISTER(START) == 1u) {
        REGISTER(STATUS) = execute(registers, windows, window_count);
    }
    REGISTER(START) = 0u;
    return TA_OK;
}

const ta_simulator ta_gemm_npu_simulator = {"gemm_npu", TA_GEMM_NPU_REGISTERS, TA_GEMM_NPU_START, run};
