/* Generated from the description of SoC `mcu_m55`; edits are lost.
 *
 * The numbers are those that Python uses; code for another description has another
 * MCU_M55_ABI_HASH. Addresses are the host's where nothing else is said.
 */
#ifndef MCU_M55_SOC_H
#define MCU_M55_SOC_H

#include <stdint.h>

#define MCU_M55_ABI_HASH UINT64_C(0xe9a5cf6047e77ae7)

enum mcu_m55_target_arch {
    MCU_M55_TARGET_ARCH_HOST_CPU = 0,
    MCU_M55_TARGET_ARCH_COUNT = 1
};

enum mcu_m55_instance {
    MCU_M55_INSTANCE_HOST_CPU = 0,
    MCU_M55_INSTANCE_COUNT = 1
};

enum mcu_m55_memory {
    MCU_M55_MEMORY_FLASH = 0,
    MCU_M55_MEMORY_ITCM = 1,
    MCU_M55_MEMORY_TCM = 2,
    MCU_M55_MEMORY_SRAM = 3,
    MCU_M55_MEMORY_COUNT = 4
};

/* One channel of a DMA engine. */
enum mcu_m55_channel {
    MCU_M55_CHANNEL_COUNT = 0
};

/* What completes in order: DMA channels, then instances. */
enum mcu_m55_timeline {
    MCU_M55_TIMELINE_HOST_CPU = 0,
    MCU_M55_TIMELINE_COUNT = 1
};

/* The pools of memory mode `default`, by purpose, best first. */
enum mcu_m55_pool {
    MCU_M55_POOL_WORKSPACE_TCM = 0,
    MCU_M55_POOL_WORKSPACE_SRAM = 1,
    MCU_M55_POOL_CONSTANTS_FLASH = 2,
    MCU_M55_POOL_IO_TCM = 3,
    MCU_M55_POOL_IO_SRAM = 4,
    MCU_M55_POOL_COUNT = 5
};

/* How many instances each target_arch has, and the DLDevice of each (dlpack.h). */
#define MCU_M55_HOST_CPU_INSTANCES 1
#define MCU_M55_HOST_CPU_DEVICE_TYPE 1 /* kDLCPU */
#define MCU_M55_HOST_CPU_DEVICE_ID 0

/* Size of each memory, and its address for the host and for every other observer. */
#define MCU_M55_MEMORY_FLASH_BYTES 2097152u
#define MCU_M55_MEMORY_FLASH_BASE UINT64_C(0x28000000)
#define MCU_M55_MEMORY_ITCM_BYTES 524288u
#define MCU_M55_MEMORY_ITCM_BASE UINT64_C(0x0)
#define MCU_M55_MEMORY_TCM_BYTES 262144u
#define MCU_M55_MEMORY_TCM_BASE UINT64_C(0x20000000)
#define MCU_M55_MEMORY_SRAM_BYTES 524288u
#define MCU_M55_MEMORY_SRAM_BASE UINT64_C(0x21000000)

/* Fails to compile where the condition is false, in every version of C and C++. */
#define MCU_M55_STATIC_ASSERT_JOIN_(a, b) a##b
#define MCU_M55_STATIC_ASSERT_JOIN(a, b) MCU_M55_STATIC_ASSERT_JOIN_(a, b)
#define MCU_M55_STATIC_ASSERT(condition) \
    typedef char MCU_M55_STATIC_ASSERT_JOIN(mcu_m55_soc_assert_, __LINE__)[(condition) ? 1 : -1]

MCU_M55_STATIC_ASSERT((int)MCU_M55_TIMELINE_COUNT == (int)MCU_M55_CHANNEL_COUNT + (int)MCU_M55_INSTANCE_COUNT);
MCU_M55_STATIC_ASSERT((int)MCU_M55_INSTANCE_COUNT == MCU_M55_HOST_CPU_INSTANCES);
MCU_M55_STATIC_ASSERT(MCU_M55_MEMORY_ITCM_BASE + MCU_M55_MEMORY_ITCM_BYTES <= MCU_M55_MEMORY_TCM_BASE);
MCU_M55_STATIC_ASSERT(MCU_M55_MEMORY_TCM_BASE + MCU_M55_MEMORY_TCM_BYTES <= MCU_M55_MEMORY_SRAM_BASE);
MCU_M55_STATIC_ASSERT(MCU_M55_MEMORY_SRAM_BASE + MCU_M55_MEMORY_SRAM_BYTES <= MCU_M55_MEMORY_FLASH_BASE);

#endif
