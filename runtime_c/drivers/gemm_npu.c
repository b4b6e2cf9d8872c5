#include "gemm_npu.h"

#include "engine.h"

TA_STATIC_ASSERT(TA_GEMM_NPU_START == TA_ENGINE_START, npu_start);
TA_STATIC_ASSERT(TA_GEMM_NPU_STATUS == TA_ENGINE_STATUS, npu_status);
TA_STATIC_ASSERT(TA_GEMM_NPU_INPUT == TA_ENGINE_ADDRESSES, npu_addresses);
TA_STATIC_ASSERT(TA_GEMM_NPU_STATUS_DONE == TA_ENGINE_STATUS_DONE, npu_done);

static const ta_engine_layout layout = {TA_GEMM_NPU_LEAST_OPERANDS, TA_GEMM_NPU_OPERANDS,
                                        TA_GEMM_NPU_WORDS};

static ta_status start(const ta_port *port, uint32_t instance, const ta_command *command) {
    return ta_engine_start(port, instance, command, &layout);
}

const ta_driver ta_gemm_npu_driver = {"gemm_npu", start, ta_engine_poll};
