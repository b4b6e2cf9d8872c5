#include "ethos_u.h"

/* Product and multipliers of CONFIG: what a stream is compiled for. */
#define SHAPE 0xf000000fu

static int fits(const ta_command *command) {
    uint32_t index;

    if (command->word_count != TA_ETHOS_U_WORDS || command->operand_count < TA_ETHOS_U_LEAST_OPERANDS ||
        command->operand_count > 3u + TA_ETHOS_U_REGIONS - TA_ETHOS_U_FIRST_REGION) {
        return 0;
    }
    for (index = 0; index < command->operand_count; ++index) {
        if (command->operands[index] % 16u != 0u) {
            return 0;
        }
    }
    return 1;
}

/* TA_ERROR_IMAGE: the stream is for a unit of another shape. The simulator, which has none, reads 0. */
static ta_status compare(const ta_port *port, uint32_t instance, uint32_t expected) {
    uint32_t config = 0;
    const ta_status status = port->mmio_read32(port, instance, TA_ETHOS_U_CONFIG, &config);

    if (status != TA_OK) {
        return status;
    }
    return config == 0u || ((config ^ expected) & SHAPE) == 0u ? TA_OK : TA_ERROR_IMAGE;
}

static ta_status write_address(const ta_port *port, uint32_t instance, uint32_t offset, ta_address address) {
    const ta_status status = port->mmio_write32(port, instance, offset, (uint32_t)(address & 0xffffffffu));

    return status == TA_OK ? port->mmio_write32(port, instance, offset + 4u, (uint32_t)(address >> 32)) : status;
}

/* Operands after the stream: weights and scratch in regions 0 and 1, the others from the first one on. */
static ta_status write_bases(const ta_port *port, uint32_t instance, const ta_command *command) {
    uint32_t index;

    for (index = 1; index < command->operand_count; ++index) {
        const uint32_t region = index < 3u ? index - 1u : TA_ETHOS_U_FIRST_REGION + index - 3u;
        const ta_status status =
            write_address(port, instance, TA_ETHOS_U_BASEP0 + 8u * region, command->operands[index]);
        if (status != TA_OK) {
            return status;
        }
    }
    return TA_OK;
}

static ta_status write_queue(const ta_port *port, uint32_t instance, const ta_command *command) {
    ta_status status = write_address(port, instance, TA_ETHOS_U_QBASE0, command->operands[0]);

    if (status == TA_OK) {
        status = port->mmio_write32(port, instance, TA_ETHOS_U_QSIZE, command->words[TA_ETHOS_U_WORD_QSIZE]);
    }
    if (status == TA_OK) {
        status = port->mmio_write32(port, instance, TA_ETHOS_U_QCONFIG, command->words[TA_ETHOS_U_WORD_QCONFIG]);
    }
    if (status == TA_OK) {
        status =
            port->mmio_write32(port, instance, TA_ETHOS_U_REGIONCFG, command->words[TA_ETHOS_U_WORD_REGIONCFG]);
    }
    return status;
}

static ta_status start(const ta_port *port, uint32_t instance, const ta_command *command) {
    uint32_t power = 0;
    ta_status status;

    if (port->mmio_write32 == NULL || port->mmio_read32 == NULL) {
        return TA_ERROR_UNSUPPORTED;
    }
    if (!fits(command)) {
        return TA_ERROR_ARGUMENT;
    }
    status = compare(port, instance, command->words[TA_ETHOS_U_WORD_CONFIG]);
    if (status == TA_OK) {
        status = write_queue(port, instance, command);
    }
    if (status == TA_OK) {
        status = write_bases(port, instance, command);
    }
    if (status == TA_OK) {
        status = port->mmio_read32(port, instance, TA_ETHOS_U_CMD, &power);
    }
    if (status == TA_OK) {
        /* One write: where no interrupt handler took back the interrupt of the stream before, this does. */
        const uint32_t go = TA_ETHOS_U_CMD_RUN | TA_ETHOS_U_CMD_CLEAR_IRQ | (power & TA_ETHOS_U_CMD_POWER);
        status = port->mmio_write32(port, instance, TA_ETHOS_U_CMD, go);
    }
    return status;
}

static ta_status poll(const ta_port *port, uint32_t instance) {
    const uint32_t faults = TA_ETHOS_U_STATUS_BUS_ERROR | TA_ETHOS_U_STATUS_PARSE_ERROR | TA_ETHOS_U_STATUS_ECC_FAULT;
    uint32_t state = 0;
    ta_status status;

    if (port->mmio_read32 == NULL) {
        return TA_ERROR_UNSUPPORTED;
    }
    status = port->mmio_read32(port, instance, TA_ETHOS_U_STATUS, &state);
    if (status != TA_OK) {
        return status;
    }
    if ((state & faults) != 0u) {
        return TA_ERROR_DEVICE;
    }
    if ((state & (TA_ETHOS_U_STATUS_RUNNING | TA_ETHOS_U_STATUS_RESETTING)) != 0u) {
        return TA_ERROR_BUSY;
    }
    return (state & TA_ETHOS_U_STATUS_END) != 0u ? TA_OK : TA_ERROR_STATE;
}

const ta_driver ta_ethos_u_driver = {"ethos_u", start, poll};
