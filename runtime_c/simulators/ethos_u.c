/* A stand-in for Ethos-U: it does what a command stream is for, not what it says.
 *
 * The stream is looked up by its checksum among the bundle's stand-ins, which are the same operators in plain C.
 * So this shows that stream and weights are where the unit reads them, that every base address has the bytes
 * behind it that the plan gave it, and that nothing else lives in the scratch meanwhile: all of it is
 * overwritten first. Whether Vela's stream computes the same on silicon it cannot show.
 */
#include <string.h>

#include "../drivers/ethos_u.h"
#include "../ports/host/simulator.h"

#define REGISTER(name) registers[TA_ETHOS_U_##name / 4u]
#define POISON 0x5a
#define MOST_OPERANDS (2u + TA_ETHOS_U_REGIONS - TA_ETHOS_U_FIRST_REGION)

static uint32_t crc32(const uint8_t *bytes, uint32_t count) {
    uint32_t crc = 0xffffffffu;
    uint32_t index, bit;

    for (index = 0; index < count; ++index) {
        crc ^= bytes[index];
        for (bit = 0; bit < 8u; ++bit) {
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

static const ta_stand_in *stand_in(uint32_t key) {
    uint32_t index;

    for (index = 0; index < ta_host_stand_ins.count; ++index) {
        if (ta_host_stand_ins.entries[index].key == key) {
            return &ta_host_stand_ins.entries[index];
        }
    }
    return NULL;
}

static ta_address address(const uint32_t *registers, uint32_t offset) {
    return (ta_address)registers[offset / 4u] | (ta_address)registers[offset / 4u + 1u] << 32;
}

/* Weights and scratch in regions 0 and 1, the others from the first one on. NULL: not there, or not aligned. */
static uint8_t *operand(const uint32_t *registers, const ta_window *windows, uint32_t count, uint32_t index,
                        uint32_t bytes) {
    const uint32_t region = index < 2u ? index : TA_ETHOS_U_FIRST_REGION + index - 2u;
    const ta_address base = address(registers, TA_ETHOS_U_BASEP0 + 8u * region);

    return base % 16u == 0u ? ta_window_at(windows, count, base, bytes) : NULL;
}

static uint32_t execute(const uint32_t *registers, const ta_window *windows, uint32_t count) {
    const ta_address queue = address(registers, TA_ETHOS_U_QBASE0);
    const uint8_t *stream = ta_window_at(windows, count, queue, REGISTER(QSIZE));
    void *operands[MOST_OPERANDS];
    const ta_stand_in *found;
    uint32_t index;

    if (stream == NULL || queue % 16u != 0u) {
        return TA_ETHOS_U_STATUS_BUS_ERROR;
    }
    found = stand_in(crc32(stream, REGISTER(QSIZE)));
    if (found == NULL || found->operand_count < 2u || found->operand_count > MOST_OPERANDS) {
        return TA_ETHOS_U_STATUS_PARSE_ERROR;
    }
    for (index = 0; index < found->operand_count; ++index) {
        operands[index] = operand(registers, windows, count, index, found->operand_bytes[index]);
        if (operands[index] == NULL) {
            return TA_ETHOS_U_STATUS_BUS_ERROR;
        }
    }
    memset(operands[TA_ETHOS_U_SCRATCH_REGION], POISON, found->operand_bytes[TA_ETHOS_U_SCRATCH_REGION]);
    return found->function(operands) == TA_OK ? TA_ETHOS_U_STATUS_END : TA_ETHOS_U_STATUS_ECC_FAULT;
}

static ta_status run(uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    if ((REGISTER(CMD) & TA_ETHOS_U_CMD_RUN) != 0u) {
        REGISTER(STATUS) = execute(registers, windows, window_count) | TA_ETHOS_U_STATUS_IRQ;
        REGISTER(QREAD) = REGISTER(QSIZE);
    }
    REGISTER(CMD) &= TA_ETHOS_U_CMD_POWER;
    return TA_OK;
}

const ta_simulator ta_ethos_u_simulator = {"ethos_u", TA_ETHOS_U_REGISTER_COUNT, TA_ETHOS_U_CMD, run};
