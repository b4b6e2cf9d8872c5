/* Generated from the description of SoC `vta_edge`; edits are lost.
 *
 * The numbers are those that Python uses; code for another description has another
 * VTA_EDGE_ABI_HASH. Addresses are the host's where nothing else is said.
 */
#ifndef VTA_EDGE_SOC_H
#define VTA_EDGE_SOC_H

#include <stdint.h>

#define VTA_EDGE_ABI_HASH UINT64_C(0x5c9369a90a0faecf)

enum vta_edge_target_arch {
    VTA_EDGE_TARGET_ARCH_HOST_CPU = 0,
    VTA_EDGE_TARGET_ARCH_TENSOR = 1,
    VTA_EDGE_TARGET_ARCH_COUNT = 2
};

enum vta_edge_instance {
    VTA_EDGE_INSTANCE_HOST_CPU = 0,
    VTA_EDGE_INSTANCE_TENSOR = 1,
    VTA_EDGE_INSTANCE_COUNT = 2
};

enum vta_edge_memory {
    VTA_EDGE_MEMORY_SHARED = 0,
    VTA_EDGE_MEMORY_SRAM = 1,
    VTA_EDGE_MEMORY_VTA_INP = 2,
    VTA_EDGE_MEMORY_VTA_WGT = 3,
    VTA_EDGE_MEMORY_VTA_ACC = 4,
    VTA_EDGE_MEMORY_COUNT = 5
};

/* One channel of a DMA engine. */
enum vta_edge_channel {
    VTA_EDGE_CHANNEL_COUNT = 0
};

/* What completes in order: DMA channels, then instances. */
enum vta_edge_timeline {
    VTA_EDGE_TIMELINE_HOST_CPU = 0,
    VTA_EDGE_TIMELINE_TENSOR = 1,
    VTA_EDGE_TIMELINE_COUNT = 2
};

/* The pools of memory mode `default`, by purpose, best first. */
enum vta_edge_pool {
    VTA_EDGE_POOL_WORKSPACE_SRAM = 0,
    VTA_EDGE_POOL_WORKSPACE_SHARED = 1,
    VTA_EDGE_POOL_CONSTANTS_SHARED = 2,
    VTA_EDGE_POOL_IO_SRAM = 3,
    VTA_EDGE_POOL_IO_SHARED = 4,
    VTA_EDGE_POOL_COUNT = 5
};

/* How many instances each target_arch has, and the DLDevice of each (dlpack.h). */
#define VTA_EDGE_HOST_CPU_INSTANCES 1
#define VTA_EDGE_HOST_CPU_DEVICE_TYPE 1 /* kDLCPU */
#define VTA_EDGE_HOST_CPU_DEVICE_ID 0
#define VTA_EDGE_TENSOR_INSTANCES 1
#define VTA_EDGE_TENSOR_DEVICE_TYPE 12 /* kDLExtDev */
#define VTA_EDGE_TENSOR_DEVICE_ID 0

/* Size of each memory, and its address for the host and for every other observer. */
#define VTA_EDGE_MEMORY_SHARED_BYTES 16777216u
#define VTA_EDGE_MEMORY_SHARED_BASE UINT64_C(0x10000000)
#define VTA_EDGE_MEMORY_SHARED_BASE_AT_TENSOR UINT64_C(0x10000000)
#define VTA_EDGE_MEMORY_SRAM_BYTES 262144u
#define VTA_EDGE_MEMORY_SRAM_BASE UINT64_C(0x20000000)
#define VTA_EDGE_MEMORY_VTA_INP_BYTES 32768u
#define VTA_EDGE_MEMORY_VTA_INP_BASE_AT_TENSOR UINT64_C(0x0)
#define VTA_EDGE_MEMORY_VTA_WGT_BYTES 65536u
#define VTA_EDGE_MEMORY_VTA_WGT_BASE_AT_TENSOR UINT64_C(0x10000)
#define VTA_EDGE_MEMORY_VTA_ACC_BYTES 131072u
#define VTA_EDGE_MEMORY_VTA_ACC_BASE_AT_TENSOR UINT64_C(0x20000)

/* Fails to compile where the condition is false, in every version of C and C++. */
#define VTA_EDGE_STATIC_ASSERT_JOIN_(a, b) a##b
#define VTA_EDGE_STATIC_ASSERT_JOIN(a, b) VTA_EDGE_STATIC_ASSERT_JOIN_(a, b)
#define VTA_EDGE_STATIC_ASSERT(condition) \
    typedef char VTA_EDGE_STATIC_ASSERT_JOIN(vta_edge_soc_assert_, __LINE__)[(condition) ? 1 : -1]

VTA_EDGE_STATIC_ASSERT((int)VTA_EDGE_TIMELINE_COUNT == (int)VTA_EDGE_CHANNEL_COUNT + (int)VTA_EDGE_INSTANCE_COUNT);
VTA_EDGE_STATIC_ASSERT((int)VTA_EDGE_INSTANCE_COUNT == VTA_EDGE_HOST_CPU_INSTANCES + VTA_EDGE_TENSOR_INSTANCES);
VTA_EDGE_STATIC_ASSERT(VTA_EDGE_MEMORY_SHARED_BASE + VTA_EDGE_MEMORY_SHARED_BYTES <= VTA_EDGE_MEMORY_SRAM_BASE);

#endif
