/* Generated from the description of SoC `orin_like`; edits are lost.
 *
 * The numbers are those that Python uses; code for another description has another
 * ORIN_LIKE_ABI_HASH. Addresses are the host's where nothing else is said.
 */
#ifndef ORIN_LIKE_SOC_H
#define ORIN_LIKE_SOC_H

#include <stdint.h>

#define ORIN_LIKE_ABI_HASH UINT64_C(0x8fede7d99bce91c1)

enum orin_like_target_arch {
    ORIN_LIKE_TARGET_ARCH_HOST_CPU = 0,
    ORIN_LIKE_TARGET_ARCH_CUDA = 1,
    ORIN_LIKE_TARGET_ARCH_COUNT = 2
};

enum orin_like_instance {
    ORIN_LIKE_INSTANCE_HOST_CPU = 0,
    ORIN_LIKE_INSTANCE_CUDA = 1,
    ORIN_LIKE_INSTANCE_COUNT = 2
};

enum orin_like_memory {
    ORIN_LIKE_MEMORY_DRAM = 0,
    ORIN_LIKE_MEMORY_VRAM = 1,
    ORIN_LIKE_MEMORY_COUNT = 2
};

/* One channel of a DMA engine. */
enum orin_like_channel {
    ORIN_LIKE_CHANNEL_COPY_ENGINE_0 = 0,
    ORIN_LIKE_CHANNEL_COPY_ENGINE_1 = 1,
    ORIN_LIKE_CHANNEL_COUNT = 2
};

/* What completes in order: DMA channels, then instances. */
enum orin_like_timeline {
    ORIN_LIKE_TIMELINE_COPY_ENGINE_0 = 0,
    ORIN_LIKE_TIMELINE_COPY_ENGINE_1 = 1,
    ORIN_LIKE_TIMELINE_HOST_CPU = 2,
    ORIN_LIKE_TIMELINE_CUDA = 3,
    ORIN_LIKE_TIMELINE_COUNT = 4
};

/* The pools of memory mode `default`, by purpose, best first. */
enum orin_like_pool {
    ORIN_LIKE_POOL_WORKSPACE_DRAM = 0,
    ORIN_LIKE_POOL_CONSTANTS_DRAM = 1,
    ORIN_LIKE_POOL_IO_DRAM = 2,
    ORIN_LIKE_POOL_COUNT = 3
};

/* How many instances each target_arch has, and the DLDevice of each (dlpack.h). */
#define ORIN_LIKE_HOST_CPU_INSTANCES 1
#define ORIN_LIKE_HOST_CPU_DEVICE_TYPE 1 /* kDLCPU */
#define ORIN_LIKE_HOST_CPU_DEVICE_ID 0
#define ORIN_LIKE_CUDA_INSTANCES 1
#define ORIN_LIKE_CUDA_DEVICE_TYPE 2 /* kDLCUDA */
#define ORIN_LIKE_CUDA_DEVICE_ID 0

/* Size of each memory, and its address for the host and for every other observer. */
#define ORIN_LIKE_MEMORY_DRAM_BYTES UINT64_C(4294967296)
#define ORIN_LIKE_MEMORY_DRAM_BASE UINT64_C(0x80000000)
#define ORIN_LIKE_MEMORY_VRAM_BYTES UINT64_C(4294967296)
#define ORIN_LIKE_MEMORY_VRAM_BASE_AT_CUDA UINT64_C(0x0)

/* Fails to compile where the condition is false, in every version of C and C++. */
#define ORIN_LIKE_STATIC_ASSERT_JOIN_(a, b) a##b
#define ORIN_LIKE_STATIC_ASSERT_JOIN(a, b) ORIN_LIKE_STATIC_ASSERT_JOIN_(a, b)
#define ORIN_LIKE_STATIC_ASSERT(condition) \
    typedef char ORIN_LIKE_STATIC_ASSERT_JOIN(orin_like_soc_assert_, __LINE__)[(condition) ? 1 : -1]

ORIN_LIKE_STATIC_ASSERT((int)ORIN_LIKE_TIMELINE_COUNT == (int)ORIN_LIKE_CHANNEL_COUNT + (int)ORIN_LIKE_INSTANCE_COUNT);
ORIN_LIKE_STATIC_ASSERT((int)ORIN_LIKE_INSTANCE_COUNT == ORIN_LIKE_HOST_CPU_INSTANCES + ORIN_LIKE_CUDA_INSTANCES);

#endif
