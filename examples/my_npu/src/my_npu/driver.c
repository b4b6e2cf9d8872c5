/* Starts commands. The registers are laid out as `drivers/engine.h` says (START, STATUS, operands, words), so that its
 * functions do the work; hardware that is different writes and reads its registers here. */
#include "my_npu.h"

#include "drivers/engine.h"

TA_STATIC_ASSERT(MY_NPU_INPUT == TA_ENGINE_ADDRESSES, addresses);
TA_STATIC_ASSERT(MY_NPU_STATUS_DONE == TA_ENGINE_STATUS_DONE, done);

static const ta_engine_layout layout = {MY_NPU_OPERANDS, MY_NPU_OPERANDS, MY_NPU_WORDS};

static ta_status start(const ta_port *port, uint32_t instance, const ta_command *command) {
    return ta_engine_start(port, instance, command, &layout);
}

const ta_driver my_npu_driver = {"my_npu", start, ta_engine_poll};
