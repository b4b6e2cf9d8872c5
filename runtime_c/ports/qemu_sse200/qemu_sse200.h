/* What the port of the dual Cortex-M33 has beside the services of ports/qemu_mps2/qemu_mps2.h. */
#ifndef TARGET_ARCH_PORT_QEMU_SSE200_H
#define TARGET_ARCH_PORT_QEMU_SSE200_H

#include "ports/qemu_mps2/qemu_mps2.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const ta_port ta_port_qemu_sse200;

/* Bytes of the second core's stack that were ever written to; 0 before it was started. */
uint32_t ta_sse200_stack_used(void);

#ifdef __cplusplus
}
#endif

#endif
