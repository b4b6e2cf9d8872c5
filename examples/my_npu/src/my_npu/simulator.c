/* What the accelerator does with a command, bit by bit. It sees its registers and its own memory, nothing else. */
#include "my_npu.h"
#include "ports/host/simulator.h"

#define REGISTER(name) registers[MY_NPU_##name / 4u]

static uint32_t relu(const uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    const uint32_t count = REGISTER(COUNT);
    const uint64_t bytes = sizeof(float) * (uint64_t)count;
    const uint8_t *from = ta_window_at(windows, window_count, REGISTER(INPUT), bytes);
    uint8_t *to = ta_window_at(windows, window_count, REGISTER(OUTPUT), bytes);
    const float *x = (const void *)from;
    float *y = (void *)to;
    uint32_t i;

    if (from == NULL || to == NULL || REGISTER(INPUT) % 16u != 0u || REGISTER(OUTPUT) % 16u != 0u) {
        return MY_NPU_STATUS_FAULT;
    }
    for (i = 0; i < count; ++i) {
        y[i] = x[i] > 0.0f ? x[i] : 0.0f;
    }
    return MY_NPU_STATUS_DONE;
}

static ta_status run(uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    if (REGISTER(START) == 1u) {
        REGISTER(STATUS) = relu(registers, windows, window_count);
    }
    REGISTER(START) = 0u;
    return TA_OK;
}

const ta_simulator my_npu_simulator = {"my_npu", MY_NPU_REGISTERS, MY_NPU_START, run};
