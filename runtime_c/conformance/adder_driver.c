/* Driver of the suite's accelerator: one word, the count of bytes; operands a, b, out. Registers as in
 * conformance.h. */
#include "conformance/conformance.h"

static ta_status write_all(const ta_port *port, uint32_t instance, const uint32_t *values)
{
    for (uint32_t i = ADDER_REGISTERS; i-- > 0;) { /* the control register, which starts, comes last */
        const ta_status status = port->mmio_write32(port, instance, 4u * i, values[i]);
        if (status != TA_OK)
            return status;
    }
    return TA_OK;
}

static ta_status adder_start(const ta_port *port, uint32_t instance, const ta_command *command)
{
    if (command->word_count != 1 || command->operand_count != 3)
        return TA_ERROR_ARGUMENT;
    uint32_t values[ADDER_REGISTERS] = {1, 0, command->words[0], 0, 0, 0};
    for (uint32_t i = 0; i < 3; i++) {
        if (command->operands[i] > 0xffffffffu)
            return TA_ERROR_ARGUMENT;
        values[ADDER_A + i] = (uint32_t)command->operands[i];
    }
    return write_all(port, instance, values);
}

static ta_status adder_poll(const ta_port *port, uint32_t instance)
{
    uint32_t value = 0;
    const ta_status status = port->mmio_read32(port, instance, 4u * ADDER_STATUS, &value);
    if (status != TA_OK)
        return status;
    if ((value & ADDER_FAULT) != 0)
        return TA_ERROR_DEVICE;
    return (value & ADDER_DONE) != 0 ? TA_OK : TA_ERROR_BUSY;
}

const ta_driver conformance_adder_driver = {"adder", adder_start, adder_poll};
