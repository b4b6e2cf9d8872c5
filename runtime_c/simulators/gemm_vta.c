/* The VTA-class engine's behaviour: three modules that run one instruction stream side by side, exactly.
 *
 * Modules take turns here, but never rely on it: every module has a vector clock, tokens carry clocks, and every entry
 * of a buffer remembers the clock of its last write and of the last read of each module. An access that no token
 * orders after the one before it is a fault, whatever the turn was. So is a read of an entry that was not written.
 */
#include <string.h>

#include "../drivers/gemm_vta.h"
#include "../ports/host/simulator.h"
#include "int8.h"

#define REGISTER(name) registers[TA_GEMM_VTA_##name / 4u]
#define FIELD(name) TA_GEMM_VTA_FIELD(words, TA_GEMM_VTA_AT_##name)
#define LANES TA_GEMM_VTA_LANES
#define WORDS (TA_GEMM_VTA_INSTRUCTION_BYTES / 4u)
#define FAULT(name) TA_GEMM_VTA_STATUS_FAULT_##name
#define OK TA_GEMM_VTA_STATUS_NONE

TA_STATIC_ASSERT(TA_ROUNDING_TFLITE == TA_GEMM_VTA_ROUNDING_TFLITE, tflite);
TA_STATIC_ASSERT(TA_ROUNDING_ONNX == TA_GEMM_VTA_ROUNDING_ONNX, onnx);
TA_STATIC_ASSERT(TA_ROUNDING_TFLITE_SINGLE == TA_GEMM_VTA_ROUNDING_TFLITE_SINGLE, tflite_single);
TA_STATIC_ASSERT(TA_GEMM_VTA_WORDS == 10u, words_from_count_on);

enum { LOADER, COMPUTER, STORER, MODULES };
enum { BUFFERS = 3, OPERANDS = 6, OUTPUT = OPERANDS - 1 };

typedef struct clock {
    uint32_t of[MODULES];
} clock;

typedef struct history {
    uint32_t write;         /* clock of the last write, 0: none */
    uint32_t writer;        /* the module of it */
    uint32_t read[MODULES]; /* clock of each module's last read, 0: none */
} history;

typedef struct queue {
    clock tokens[TA_GEMM_VTA_TOKENS];
    uint32_t first, count;
} queue;

typedef struct buffer {
    uint8_t *base;
    uint32_t entries, entry_bytes;
    history *past;
} buffer;

typedef struct operand {
    uint8_t *base;
    uint64_t bytes;
} operand;

typedef struct engine {
    const uint8_t *stream;
    uint32_t count;
    uint32_t next[MODULES]; /* the instruction that each module runs next, `count` at the end */
    clock now[MODULES];
    queue forward[MODULES - 1], backward[MODULES - 1]; /* [m]: from m to m + 1, and from m + 1 to m */
    operand operands[OPERANDS];
    buffer buffers[BUFFERS];
    uint32_t finished;
} engine;

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

/* ---- modules ---- */

static void fetch(const engine *e, uint32_t index, uint32_t *words) {
    uint32_t word;

    for (word = 0; word < WORDS; ++word) {
        words[word] =
            (uint32_t)ta_int8_load32(e->stream + (size_t)TA_GEMM_VTA_INSTRUCTION_BYTES * index + 4u * word);
    }
}

static uint32_t module_of(const uint32_t *words) {
    switch (FIELD(OPCODE)) {
    case TA_GEMM_VTA_OPCODE_LOAD:
        return FIELD(LOAD_BUFFER) == TA_GEMM_VTA_BUFFER_ACC ? COMPUTER : LOADER;
    case TA_GEMM_VTA_OPCODE_STORE:
        return STORER;
    default:
        return COMPUTER;
    }
}

/* Moves a module on to its next instruction at or after `index`. */
static void seek(engine *e, uint32_t module, uint32_t index) {
    uint32_t words[WORDS];

    for (; index < e->count; ++index) {
        fetch(e, index, words);
        if (module_of(words) == module) {
            break;
        }
    }
    e->next[module] = index;
}

static uint32_t execute(engine *e, uint32_t module, const uint32_t *words) {
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

static void pop(queue *from, clock *now) {
    const clock *token = &from->tokens[from->first];
    uint32_t module;

    for (module = 0; module < MODULES; ++module) {
        now->of[module] = now->of[module] > token->of[module] ? now->of[module] : token->of[module];
    }
    from->first = (from->first + 1u) % TA_GEMM_VTA_TOKENS;
    --from->count;
}

static void push(queue *to, const clock *now) {
    to->tokens[(to->first + to->count) % TA_GEMM_VTA_TOKENS] = *now;
    ++to->count;
}

/* Runs the next instruction of a module. `*moved` is 0 where it has none, or has to wait. */
static uint32_t step(engine *e, uint32_t module, int *moved) {
    uint32_t words[WORDS];
    queue *from_prev, *from_next, *to_prev, *to_next;
    uint32_t status;

    *moved = 0;
    if (e->next[module] == e->count || e->finished != 0u) {
        return OK;
    }
    fetch(e, e->next[module], words);
    from_prev = FIELD(POP_PREV) != 0u && module > 0u ? &e->forward[module - 1u] : NULL;
    to_prev = FIELD(PUSH_PREV) != 0u && module > 0u ? &e->backward[module - 1u] : NULL;
    from_next = FIELD(POP_NEXT) != 0u && module + 1u < MODULES ? &e->backward[module] : NULL;
    to_next = FIELD(PUSH_NEXT) != 0u && module + 1u < MODULES ? &e->forward[module] : NULL;
    if ((module == 0u && (FIELD(POP_PREV) | FIELD(PUSH_PREV)) != 0u) ||
        (module + 1u == MODULES && (FIELD(POP_NEXT) | FIELD(PUSH_NEXT)) != 0u)) {
        return FAULT(INSTRUCTION);
    }
    if ((from_prev != NULL && from_prev->count == 0u) || (from_next != NULL && from_next->count == 0u) ||
        (to_prev != NULL && to_prev->count == TA_GEMM_VTA_TOKENS) ||
        (to_next != NULL && to_next->count == TA_GEMM_VTA_TOKENS)) {
        return OK;
    }
    if (from_prev != NULL) {
        pop(from_prev, &e->now[module]);
    }
    if (from_next != NULL) {
        pop(from_next, &e->now[module]);
    }
    ++e->now[module].of[module];
    status = execute(e, module, words);
    if (to_prev != NULL) {
        push(to_prev, &e->now[module]);
    }
    if (to_next != NULL) {
        push(to_next, &e->now[module]);
    }
    seek(e, module, e->next[module] + 1u);
    *moved = 1;
    return status;
}

static uint32_t run_stream(engine *e) {
    uint32_t module, status, left = 0;
    int moved, any;

    do {
        any = 0;
        for (module = 0; module < MODULES; ++module) {
            do {
                status = step(e, module, &moved);
                any |= moved;
            } while (status == OK && moved != 0);
            if (status != OK) {
                return status;
            }
        }
    } while (any != 0);
    for (module = 0; module < MODULES; ++module) {
        left += e->count - e->next[module];
    }
    if (e->finished == 0u) {
        return left != 0u ? FAULT(DEADLOCK) : FAULT(TOKENS);
    }
    for (module = 0; module + 1u < MODULES; ++module) {
        left += e->forward[module].count + e->backward[module].count;
    }
    return left != 0u ? FAULT(TOKENS) : TA_GEMM_VTA_STATUS_DONE;
}

/* ---- the command ---- */

static int buffers(engine *e, const uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    static const uint32_t entry_bytes[BUFFERS] = {LANES, LANES * LANES, 4u * LANES};
    static const uint32_t most[BUFFERS] = {TA_GEMM_VTA_INP_MOST, TA_GEMM_VTA_WGT_MOST, TA_GEMM_VTA_ACC_MOST};
    uint32_t index;

    for (index = 0; index < BUFFERS; ++index) {
        buffer *b = &e->buffers[index];
        b->entry_bytes = entry_bytes[index];
        b->entries = registers[TA_GEMM_VTA_INP_ENTRIES / 4u + index];
        if (b->entries > most[index]) {
            return 0;
        }
        b->base = ta_window_at(windows, window_count, registers[TA_GEMM_VTA_INP / 4u + index],
                               (uint64_t)b->entries * b->entry_bytes);
        if (b->base == NULL) {
            return 0;
        }
    }
    return 1;
}

static int operands(engine *e, const uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    uint32_t index;

    for (index = 0; index < OPERANDS; ++index) {
        operand *o = &e->operands[index];
        o->bytes = registers[TA_GEMM_VTA_INPUT_BYTES / 4u + index];
        o->base = ta_window_at(windows, window_count, registers[TA_GEMM_VTA_INPUT / 4u + index], o->bytes);
        if (o->base == NULL) {
            return 0;
        }
    }
    return 1;
}

static uint32_t command(const uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    history inp[TA_GEMM_VTA_INP_MOST], wgt[TA_GEMM_VTA_WGT_MOST], acc[TA_GEMM_VTA_ACC_MOST];
    engine e;
    uint32_t module;

    memset(&e, 0, sizeof e);
    memset(inp, 0, sizeof inp);
    memset(wgt, 0, sizeof wgt);
    memset(acc, 0, sizeof acc);
    e.buffers[TA_GEMM_VTA_BUFFER_INP].past = inp;
    e.buffers[TA_GEMM_VTA_BUFFER_WGT].past = wgt;
    e.buffers[TA_GEMM_VTA_BUFFER_ACC].past = acc;
    e.count = REGISTER(COUNT);
    e.stream = ta_window_at(windows, window_count, REGISTER(INSTRUCTIONS),
                            (uint64_t)TA_GEMM_VTA_INSTRUCTION_BYTES * e.count);
    if (e.stream == NULL || !operands(&e, registers, windows, window_count) ||
        !buffers(&e, registers, windows, window_count)) {
        return FAULT(ADDRESS);
    }
    for (module = 0; module < MODULES; ++module) {
        seek(&e, module, 0);
    }
    return run_stream(&e);
}

static ta_status run(uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    if (REGISTER(START) == 1u) {
        REGISTER(STATUS) = command(registers, windows, window_count);
    }
    REGISTER(START) = 0u;
    return TA_OK;
}

const ta_simulator ta_gemm_vta_simulator = {"gemm_vta", TA_GEMM_VTA_REGISTERS, TA_GEMM_VTA_START, run};
