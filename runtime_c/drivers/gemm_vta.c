#include "gemm_vta.h"

#include "engine.h"

TA_STATIC_ASSERT(TA_GEMM_VTA_START == TA_ENGINE_START, vta_start);
TA_STATIC_ASSERT(TA_GEMM_VTA_STATUS == TA_ENGINE_STATUS, vta_status);
TA_STATIC_ASSERT(TA_GEMM_VTA_INSTRUCTIONS == TA_ENGINE_ADDRESSES, vta_addresses);
TA_STATIC_ASSERT(TA_GEMM_VTA_STATUS_DONE == TA_ENGINE_STATUS_DONE, vta_done);

static const ta_engine_layout layout = {TA_GEMM_VTA_LEAST_OPERANDS, TA_GEMM_VTA_OPERANDS,
                                        TA_GEMM_VTA_WORDS};

static ta_status start(const ta_port *port, uint32_t instance, const ta_command *command) {
    return ta_engine_start(port, instance, command, &layout);
}

const ta_driver ta_gemm_vta_driver = {"gemm_vta", start, ta_engine_poll};
