/* The VTA-class engine's behaviour: three modules that run one instruction stream side by side, exactly.
 *
 * Modules take turns here, but never rely on it: every module has a vector clock, tokens carry clocks, and every entry
 * of a buffer remembers the clock of its last write and of the last read of each module. An access that no token
 * orders after the one before it is a fault, whatever the turn was. So is a read of an entry that was not written.
 */
#include <string.h>

#include "../ports/host/simulator.h"
#include "gemm_vta_state.h"
#include "int8.h"

#define REGISTER(name) registers[TA_GEMM_VTA_##name / 4u]
#define WORDS (TA_GEMM_VTA_INSTRUCTION_BYTES / 4u)

TA_STATIC_ASSERT(TA_GEMM_VTA_WORDS == 10u, words_from_count_on);

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
    status = ta_gemm_vta_execute(e, module, words);
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
