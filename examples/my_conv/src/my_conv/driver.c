/* Starts commands. The registers are laid out as `drivers/engine.h` says (START, STATUS, operands, words), so that its
 * functions do the work; hardware that is different writes and reads its registers here. */
#include "my_conv.h"

#include "drivers/engine.h"

TA_STATIC_ASSERT(MY_CONV_INPUT == TA_ENGINE_ADDRESSES, addresses);
TA_STATIC_ASSERT(MY_CONV_STATUS_DONE == TA_ENGINE_STATUS_DONE, done);

static const ta_engine_layout layout = {MY_CONV_LEAST_OPERANDS, MY_CONV_OPERANDS, MY_CONV_WORDS};

static ta_status start(const ta_port *port, uint32_t instance, const ta_command *command) {
    return ta_engine_start(port, instance, command, &layout);
}

const ta_driver my_conv_driver = {"my_conv", start, ta_engine_poll};
