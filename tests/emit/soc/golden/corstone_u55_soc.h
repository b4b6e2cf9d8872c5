/* Generated from the description of SoC `corstone_u55`; edits are lost.
 *
 * The numbers are those that Python uses; code for another description has another
 * CORSTONE_U55_ABI_HASH. Addresses are the host's where nothing else is said.
 */
#ifndef CORSTONE_U55_SOC_H
#define CORSTONE_U55_SOC_H

#include <stdint.h>

#define CORSTONE_U55_ABI_HASH UINT64_C(0xcff7ae7a2ef7597c)

enum corstone_u55_target_arch {
    CORSTONE_U55_TARGET_ARCH_HOST_CPU = 0,
    CORSTONE_U55_TARGET_ARCH_NPU = 1,
    CORSTONE_U55_TARGET_ARCH_COUNT = 2
};

enum corstone_u55_instance {
    CORSTONE_U55_INSTANCE_HOST_CPU = 0,
    CORSTONE_U55_INSTANCE_NPU = 1,
    CORSTONE_U55_INSTANCE_COUNT = 2
};

enum corstone_u55_memory {
    CORSTONE_U55_MEMORY_FLASH = 0,
    CORSTONE_U55_MEMORY_DTCM = 1,
    CORSTONE_U55_MEMORY_SRAM = 2,
    CORSTONE_U55_MEMORY_COUNT = 3
};

/* One channel of a DMA engine. */
enum corstone_u55_channel {
    CORSTONE_U55_CHANNEL_COUNT = 0
};

/* What completes in order: DMA channels, then instances. */
enum corstone_u55_timeline {
    CORSTONE_U55_TIMELINE_HOST_CPU = 0,
    CORSTONE_U55_TIMELINE_NPU = 1,
    CORSTONE_U55_TIMELINE_COUNT = 2
};

/* The pools of memory mode `default`, by purpose, best first. */
enum corstone_u55_pool {
    CORSTONE_U55_POOL_WORKSPACE_SRAM = 0,
    CORSTONE_U55_POOL_WORKSPACE_DTCM = 1,
    CORSTONE_U55_POOL_CONSTANTS_FLASH = 2,
    CORSTONE_U55_POOL_IO_SRAM = 3,
    CORSTONE_U55_POOL_COUNT = 4
};

/* How many instances each target_arch has, and the DLDevice of each (dlpack.h). */
#define CORSTONE_U55_HOST_CPU_INSTANCES 1
#define CORSTONE_U55_HOST_CPU_DEVICE_TYPE 1 /* kDLCPU */
#define CORSTONE_U55_HOST_CPU_DEVICE_ID 0
#define CORSTONE_U55_NPU_INSTANCES 1
#define CORSTONE_U55_NPU_DEVICE_TYPE 12 /* kDLExtDev */
#define CORSTONE_U55_NPU_DEVICE_ID 0

/* Size of each memory, and its address for the host and for every other observer. */
#define CORSTONE_U55_MEMORY_FLASH_BYTES 8388608u
#define CORSTONE_U55_MEMORY_FLASH_BASE UINT64_C(0x28000000)
#define CORSTONE_U55_MEMORY_FLASH_BASE_AT_NPU UINT64_C(0x28000000)
#define CORSTONE_U55_MEMORY_DTCM_BYTES 262144u
#define CORSTONE_U55_MEMORY_DTCM_BASE UINT64_C(0x20000000)
#define CORSTONE_U55_MEMORY_SRAM_BYTES 524288u
#define CORSTONE_U55_MEMORY_SRAM_BASE UINT64_C(0x21000000)
#define CORSTONE_U55_MEMORY_SRAM_BASE_AT_NPU UINT64_C(0x21000000)

/* Fails to compile where the condition is false, in every version of C and C++. */
#define CORSTONE_U55_STATIC_ASSERT_JOIN_(a, b) a##b
#define CORSTONE_U55_STATIC_ASSERT_JOIN(a, b) CORSTONE_U55_STATIC_ASSERT_JOIN_(a, b)
#define CORSTONE_U55_STATIC_ASSERT(condition) \
    typedef char CORSTONE_U55_STATIC_ASSERT_JOIN(corstone_u55_soc_assert_, __LINE__)[(condition) ? 1 : -1]

CORSTONE_U55_STATIC_ASSERT((int)CORSTONE_U55_TIMELINE_COUNT == (int)CORSTONE_U55_CHANNEL_COUNT + (int)CORSTONE_U55_INSTANCE_COUNT);
CORSTONE_U55_STATIC_ASSERT((int)CORSTONE_U55_INSTANCE_COUNT == CORSTONE_U55_HOST_CPU_INSTANCES + CORSTONE_U55_NPU_INSTANCES);
CORSTONE_U55_STATIC_ASSERT(CORSTONE_U55_MEMORY_DTCM_BASE + CORSTONE_U55_MEMORY_DTCM_BYTES <= CORSTONE_U55_MEMORY_SRAM_BASE);
CORSTONE_U55_STATIC_ASSERT(CORSTONE_U55_MEMORY_SRAM_BASE + CORSTONE_U55_MEMORY_SRAM_BYTES <= CORSTONE_U55_MEMORY_FLASH_BASE);

#endif
