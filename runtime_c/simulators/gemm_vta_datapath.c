/* The VTA-class engine's instructions: their effects on buffers and DRAM, and a check that no access is too early. */
#include <string.h>

#include "gemm_vta_state.h"
#include "int8.h"

TA_STATIC_ASSERT(TA_ROUNDING_TFLITE == TA_GEMM_VTA_ROUNDING_TFLITE, tflite);
TA_STATIC_ASSERT(TA_ROUNDING_ONNX == TA_GEMM_VTA_ROUNDING_ONNX, onnx);
TA_STATIC_ASSERT(TA_ROUNDING_TFLITE_SINGLE == TA_GEMM_VTA_ROUNDING_TFLITE_SINGLE, tflite_single);

/* ---- accesses ---- */

static uint32_t read_entry(engine *e, uint32_t module, uint32_t which, uint32_t entry, uint8_t **data) {
    const buffer *b = &e->buffers[which];
    history *past;

    if (entry >= b->entries) {
        return FAULT(ADDRESS);
    }
    past = &b->past[entry];
    if (past->write == 0u || e->now[module].of[past->writer] < past->write) {
        return FAULT(RACE);
    }
    past->read[module] = e->now[module].of[module];
    *data = b->base + (size_t)entry * b->entry_bytes;
    return OK;
}

static uint32_t write_entry(engine *e, uint32_t module, uint32_t which, uint32_t entry, uint8_t **data) {
    const buffer *b = &e->buffers[which];
    history *past;
    uint32_t other;

    if (entry >= b->entries) {
        return FAULT(ADDRESS);
    }
    past = &b->past[entry];
    if (past->write != 0u && e->now[module].of[past->writer] < past->write) {
        return FAULT(RACE);
    }
    for (other = 0; other < MODULES; ++other) {
        if (e->now[module].of[other] < past->read[other]) {
            return FAULT(RACE);
        }
    }
    past->write = e->now[module].of[module];
    past->writer = module;
    *data = b->base + (size_t)entry * b->entry_bytes;
    return OK;
}

static uint8_t *dram(const engine *e, uint32_t which, uint64_t offset, uint64_t bytes) {
    const operand *o = &e->operands[which];

    return offset <= o->bytes && bytes <= o->bytes - offset ? o->base + offset : NULL;
}

/* ---- instructions ---- */

static uint32_t load(engine *e, uint32_t module, const uint32_t *words) {
    const uint32_t which = FIELD(LOAD_BUFFER);
    const uint32_t rows = FIELD(LOAD_ROWS), columns = FIELD(LOAD_COLUMNS), width = FIELD(LOAD_WIDTH);
    const uint32_t top = FIELD(LOAD_TOP), left = FIELD(LOAD_LEFT);
    const uint32_t bottom = FIELD(LOAD_BOTTOM), right = FIELD(LOAD_RIGHT);
    uint32_t row, column;

    if (FIELD(LOAD_OPERAND) >= OUTPUT || width > e->buffers[which].entry_bytes || top + bottom > rows ||
        left + right > columns) {
        return FAULT(INSTRUCTION);
    }
    for (row = 0; row < rows; ++row) {
        for (column = 0; column < columns; ++column) {
            const int inside = row >= top && row < rows - bottom && column >= left && column < columns - right;
            uint8_t *target;
            uint32_t status =
                write_entry(e, module, which, FIELD(LOAD_ENTRY) + row * columns + column, &target);
            if (status != OK) {
                return status;
            }
            memset(target, (int)FIELD(LOAD_FILL), e->buffers[which].entry_bytes);
            if (inside) {
                const uint64_t offset = FIELD(LOAD_OFFSET) + (uint64_t)(row - top) * FIELD(LOAD_ROW_STRIDE) +
                                        (uint64_t)(column - left) * FIELD(LOAD_COLUMN_STRIDE);
                const uint8_t *source = dram(e, FIELD(LOAD_OPERAND), offset, width);
                if (source == NULL) {
                    return FAULT(ADDRESS);
                }
                memcpy(target, source, width);
            }
        }
    }
    return OK;
}

static uint32_t store(engine *e, const uint32_t *words) {
    const uint32_t rows = FIELD(STORE_ROWS), columns = FIELD(STORE_COLUMNS), width = FIELD(STORE_WIDTH);
    uint32_t row, column, lane;

    if (width > LANES) {
        return FAULT(INSTRUCTION);
    }
    for (row = 0; row < rows; ++row) {
        for (column = 0; column < columns; ++column) {
            const uint64_t offset = FIELD(STORE_OFFSET) + (uint64_t)row * FIELD(STORE_ROW_STRIDE) +
                                    (uint64_t)column * FIELD(STORE_COLUMN_STRIDE);
            uint8_t *target = dram(e, OUTPUT, offset, width);
            uint8_t *source;
            const uint32_t status = read_entry(e, STORER, TA_GEMM_VTA_BUFFER_ACC,
                                               FIELD(STORE_ENTRY) + row * columns + column, &source);
            if (status != OK || target == NULL) {
                return status != OK ? status : FAULT(ADDRESS);
            }
            for (lane = 0; lane < width; ++lane) {
                target[lane] = source[4u * lane];
            }
        }
    }
    return OK;
}

static void multiply(uint8_t *acc, const uint8_t *inp, const uint8_t *wgt) {
    uint32_t lane;

    for (lane = 0; lane < LANES; ++lane) {
        const uint32_t sum = (uint32_t)ta_int8_dot(inp, wgt + LANES * lane, LANES, 0);
        ta_int8_store32(acc + 4u * lane, ta_int8_signed((uint32_t)ta_int8_load32(acc + 4u * lane) + sum));
    }
}

static uint32_t product(engine *e, uint32_t reset, uint32_t acc, uint32_t inp, uint32_t wgt) {
    uint8_t *sums, *values, *weights;
    uint32_t status = OK;

    if (reset == 0u) {
        status = read_entry(e, COMPUTER, TA_GEMM_VTA_BUFFER_ACC, acc, &sums);
    }
    if (status == OK) {
        status = write_entry(e, COMPUTER, TA_GEMM_VTA_BUFFER_ACC, acc, &sums);
    }
    if (status != OK) {
        return status;
    }
    if (reset != 0u) {
        memset(sums, 0, 4u * LANES);
        return OK;
    }
    status = read_entry(e, COMPUTER, TA_GEMM_VTA_BUFFER_INP, inp, &values);
    if (status == OK) {
        status = read_entry(e, COMPUTER, TA_GEMM_VTA_BUFFER_WGT, wgt, &weights);
    }
    if (status == OK) {
        multiply(sums, values, weights);
    }
    return status;
}

static uint32_t gemm(engine *e, const uint32_t *words) {
    uint32_t i, j, k;

    for (i = 0; i < FIELD(GEMM_COUNT_0); ++i) {
        for (j = 0; j < FIELD(GEMM_COUNT_1); ++j) {
            for (k = 0; k < FIELD(GEMM_COUNT_2); ++k) {
                const uint32_t acc = FIELD(GEMM_ACC) + i * FIELD(GEMM_ACC_0) + j * FIELD(GEMM_ACC_1) +
                                     k * FIELD(GEMM_ACC_2);
                const uint32_t inp = FIELD(GEMM_INP) + i * FIELD(GEMM_INP_0) + j * FIELD(GEMM_INP_1) +
                                     k * FIELD(GEMM_INP_2);
                const uint32_t wgt = FIELD(GEMM_WGT) + i * FIELD(GEMM_WGT_0) + j * FIELD(GEMM_WGT_1) +
                                     k * FIELD(GEMM_WGT_2);
                const uint32_t status = product(e, FIELD(GEMM_RESET), acc, inp, wgt);
                if (status != OK) {
                    return status;
                }
            }
        }
    }
    return OK;
}

/* One lane; `*value` is the accumulator before and after. */
static uint32_t operate(const uint32_t *words, int32_t *value, int32_t one, int32_t two) {
    int64_t wide;

    switch (FIELD(ALU_OPERATION)) {
    case TA_GEMM_VTA_OPERATION_ADD:
        *value = ta_int8_signed((uint32_t)*value + (uint32_t)one);
        return OK;
    case TA_GEMM_VTA_OPERATION_MAX:
        *value = *value > one ? *value : one;
        return OK;
    case TA_GEMM_VTA_OPERATION_MIN:
        *value = *value < one ? *value : one;
        return OK;
    case TA_GEMM_VTA_OPERATION_SCALE:
        if (!ta_int8_factor_valid(FIELD(ALU_ROUNDING), one, two)) {
            return FAULT(ARITHMETIC);
        }
        wide = ta_int8_scale(FIELD(ALU_ROUNDING), *value, one, two);
        *value = (int32_t)(wide > INT16_MAX ? INT16_MAX : wide < INT16_MIN ? INT16_MIN : wide);
        return OK;
    default:
        return FAULT(INSTRUCTION);
    }
}

static uint32_t vector(engine *e, const uint32_t *words, uint32_t acc, uint32_t one, uint32_t two) {
    const int immediate = FIELD(ALU_USE_IMMEDIATE) != 0u;
    const int scales = FIELD(ALU_OPERATION) == TA_GEMM_VTA_OPERATION_SCALE;
    uint8_t *sums, *first = NULL, *second = NULL;
    uint32_t status = read_entry(e, COMPUTER, TA_GEMM_VTA_BUFFER_ACC, acc, &sums);
    uint32_t lane;

    if (status == OK && !immediate) {
        status = read_entry(e, COMPUTER, TA_GEMM_VTA_BUFFER_ACC, one, &first);
    }
    if (status == OK && scales) {
        status = read_entry(e, COMPUTER, TA_GEMM_VTA_BUFFER_ACC, two, &second);
    }
    if (status == OK) {
        status = write_entry(e, COMPUTER, TA_GEMM_VTA_BUFFER_ACC, acc, &sums);
    }
    for (lane = 0; lane < LANES && status == OK; ++lane) {
        int32_t value = ta_int8_load32(sums + 4u * lane);
        status = operate(words, &value,
                         first == NULL ? ta_int8_signed(FIELD(ALU_IMMEDIATE)) : ta_int8_load32(first + 4u * lane),
                         second == NULL ? 0 : ta_int8_load32(second + 4u * lane));
        ta_int8_store32(sums + 4u * lane, value);
    }
    return status;
}

static uint32_t alu(engine *e, const uint32_t *words) {
    uint32_t i, j;

    if (FIELD(ALU_ROUNDING) > TA_GEMM_VTA_ROUNDING_TFLITE_SINGLE) {
        return FAULT(INSTRUCTION);
    }
    for (i = 0; i < FIELD(ALU_COUNT_0); ++i) {
        for (j = 0; j < FIELD(ALU_COUNT_1); ++j) {
            const uint32_t acc = FIELD(ALU_ACC) + i * FIELD(ALU_ACC_0) + j * FIELD(ALU_ACC_1);
            const uint32_t one = FIELD(ALU_ONE) + i * FIELD(ALU_ONE_0) + j * FIELD(ALU_ONE_1);
            const uint32_t two = FIELD(ALU_TWO) + i * FIELD(ALU_TWO_0) + j * FIELD(ALU_TWO_1);
            const uint32_t status = vector(e, words, acc, one, two);
            if (status != OK) {
                return status;
            }
        }
    }
    return OK;
}

uint32_t ta_gemm_vta_execute(engine *e, uint32_t module, const uint32_t *words) {
    switch (FIELD(OPCODE)) {
    case TA_GEMM_VTA_OPCODE_LOAD:
        return FIELD(LOAD_BUFFER) < BUFFERS ? load(e, module, words) : FAULT(INSTRUCTION);
    case TA_GEMM_VTA_OPCODE_STORE:
        return store(e, words);
    case TA_GEMM_VTA_OPCODE_GEMM:
        return gemm(e, words);
    case TA_GEMM_VTA_OPCODE_ALU:
        return alu(e, words);
    case TA_GEMM_VTA_OPCODE_FINISH:
        e->finished = 1u;
        return OK;
    default:
        return FAULT(INSTRUCTION);
    }
}
