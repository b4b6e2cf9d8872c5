#include "conv2d_engine.h"

#include "engine.h"

TA_STATIC_ASSERT(TA_CONV2D_ENGINE_START == TA_ENGINE_START, conv2d_start);
TA_STATIC_ASSERT(TA_CONV2D_ENGINE_STATUS == TA_ENGINE_STATUS, conv2d_status);
TA_STATIC_ASSERT(TA_CONV2D_ENGINE_INPUT == TA_ENGINE_ADDRESSES, conv2d_addresses);
TA_STATIC_ASSERT(TA_CONV2D_ENGINE_STATUS_DONE == TA_ENGINE_STATUS_DONE, conv2d_done);

static const ta_engine_layout layout = {TA_CONV2D_ENGINE_LEAST_OPERANDS, TA_CONV2D_ENGINE_OPERANDS,
                                        TA_CONV2D_ENGINE_WORDS};

static ta_status start(const ta_port *port, uint32_t instance, const ta_command *command) {
    return ta_engine_start(port, instance, command, &layout);
}

const ta_driver ta_conv2d_engine_driver = {"conv2d_engine", start, ta_engine_poll};
