/* What the slope unit does with a command. */
#include <string.h>

#include "ports/host/simulator.h"
#include "slope_unit.h"

#define REGISTER(name) registers[SLOPE_UNIT_##name / 4u]

static uint32_t compute(const uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    const uint64_t bytes = 4u * (uint64_t)REGISTER(COUNT);
    const uint8_t *x = ta_window_at(windows, window_count, REGISTER(INPUT), bytes);
    uint8_t *y = ta_window_at(windows, window_count, REGISTER(OUTPUT), bytes);
    uint64_t at;
    float slope, value;

    if (x == NULL || y == NULL) {
        return 2u; /* a fault */
    }
    memcpy(&slope, &REGISTER(SLOPE), sizeof slope);
    for (at = 0; at < bytes; at += 4u) {
        memcpy(&value, x + at, sizeof value);
        value = value > 0.0f ? value : slope * value;
        memcpy(y + at, &value, sizeof value);
    }
    return 1u; /* done */
}

static ta_status run(uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    REGISTER(STATUS) = compute(registers, windows, window_count);
    REGISTER(START) = 0u;
    return TA_OK;
}

const ta_simulator slope_unit_simulator = {"slope_unit", SLOPE_UNIT_REGISTERS, SLOPE_UNIT_START, run};
