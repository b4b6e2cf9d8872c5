#include "engine.h"

static int fits(const ta_command *command, const ta_engine_layout *layout) {
    uint32_t index;

    if (command->word_count != layout->words || command->operand_count < layout->least_operands ||
        command->operand_count > layout->operands) {
        return 0;
    }
    for (index = 0; index < command->operand_count; ++index) {
        if (command->operands[index] > UINT32_MAX) {
            return 0;
        }
    }
    return 1;
}

static ta_status write_addresses(const ta_port *port, uint32_t instance, const ta_command *command,
                                 const ta_engine_layout *layout) {
    uint32_t index;

    for (index = 0; index < layout->operands; ++index) {
        const uint32_t address = index < command->operand_count ? (uint32_t)command->operands[index] : 0u;
        const ta_status status =
            port->mmio_write32(port, instance, TA_ENGINE_ADDRESSES + 4u * index, address);
        if (status != TA_OK) {
            return status;
        }
    }
    return TA_OK;
}

static ta_status write_words(const ta_port *port, uint32_t instance, const ta_command *command,
                             const ta_engine_layout *layout) {
    const uint32_t first = TA_ENGINE_ADDRESSES + 4u * layout->operands;
    uint32_t index;

    for (index = 0; index < layout->words; ++index) {
        const ta_status status = port->mmio_write32(port, instance, first + 4u * index, command->words[index]);
        if (status != TA_OK) {
            return status;
        }
    }
    return TA_OK;
}

ta_status ta_engine_start(const ta_port *port, uint32_t instance, const ta_command *command,
                          const ta_engine_layout *layout) {
    ta_status status;

    if (port->mmio_write32 == NULL) {
        return TA_ERROR_UNSUPPORTED;
    }
    if (!fits(command, layout)) {
        return TA_ERROR_ARGUMENT;
    }
    /* START is not asked first. The core has settled the command before; and after one that was cancelled, START
     * may show it still, on a port that cannot reset the device alone. */
    status = port->mmio_write32(port, instance, TA_ENGINE_STATUS, TA_ENGINE_STATUS_NONE);
    if (status == TA_OK) {
        status = write_addresses(port, instance, command, layout);
    }
    if (status == TA_OK) {
        status = write_words(port, instance, command, layout);
    }
    if (status == TA_OK) {
        status = port->mmio_write32(port, instance, TA_ENGINE_START, 1u);
    }
    return status;
}

ta_status ta_engine_poll(const ta_port *port, uint32_t instance) {
    uint32_t running = 0;
    uint32_t outcome = 0;
    ta_status status;

    if (port->mmio_read32 == NULL) {
        return TA_ERROR_UNSUPPORTED;
    }
    /* START first: once it reads 0, STATUS no longer changes. */
    status = port->mmio_read32(port, instance, TA_ENGINE_START, &running);
    if (status != TA_OK) {
        return status;
    }
    if (running != 0u) {
        return TA_ERROR_BUSY;
    }
    status = port->mmio_read32(port, instance, TA_ENGINE_STATUS, &outcome);
    if (status != TA_OK) {
        return status;
    }
    if (outcome == TA_ENGINE_STATUS_NONE) {
        return TA_ERROR_STATE;
    }
    return outcome == TA_ENGINE_STATUS_DONE ? TA_OK : TA_ERROR_DEVICE;
}
