/* Shared by the two halves of the VTA-class engine's simulator: its state, and the fields of an instruction. */
#ifndef TARGET_ARCH_SIMULATORS_GEMM_VTA_STATE_H
#define TARGET_ARCH_SIMULATORS_GEMM_VTA_STATE_H

#include "../drivers/gemm_vta.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FIELD(name) TA_GEMM_VTA_FIELD(words, TA_GEMM_VTA_AT_##name)
#define LANES TA_GEMM_VTA_LANES
#define FAULT(name) TA_GEMM_VTA_STATUS_FAULT_##name
#define OK TA_GEMM_VTA_STATUS_NONE

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

/* Execute one instruction in a module that may: its tokens are popped, its clock went on. Returns OK or a fault. */
uint32_t ta_gemm_vta_execute(engine *e, uint32_t module, const uint32_t *words);

#ifdef __cplusplus
}
#endif

#endif
