/* The functions of the CUDA port for a bundle's kernels.
 *
 * The image of an instance is a module: CUDA C, PTX or a cubin. CUDA C (recognised by "__global__") is
 * compiled, when it is loaded, for the device that is there. The driver and the compiler are libraries that
 * are opened when the port is, so that a bundle builds where neither is installed. The environment's
 * TA_CUDA_DRIVER and TA_CUDA_COMPILER name other libraries than the usual ones.
 *
 * There is one instance beside the host, CUDA device 0. Memories that the host does not see are its memory.
 */
#ifndef TARGET_ARCH_PORT_CUDA_H
#define TARGET_ARCH_PORT_CUDA_H

#include "target_arch/port.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const ta_port ta_port_cuda;

/* Queue a kernel of the instance's module, with `count` device pointers as parameters. To be called by the
 * function of a dispatch, and only there. Does not block.
 * TA_ERROR_STATE: no dispatch is under way. TA_ERROR_IMAGE: the module has no such kernel.
 * TA_ERROR_DEVICE: the driver refuses it. */
ta_status ta_cuda_launch(const char *kernel, uint32_t blocks, uint32_t threads, void *const *pointers,
                         uint32_t count);

/* The last message of the driver or the compiler about a refusal, "" for none. Static. */
const char *ta_cuda_complaint(void);

#ifdef __cplusplus
}
#endif

#endif
