/* Generated from the description of SoC `mcu_m7`; edits are lost.
 *
 * The numbers are those that Python uses; code for another description has another
 * MCU_M7_ABI_HASH. Addresses are the host's where nothing else is said.
 */
#ifndef MCU_M7_SOC_H
#define MCU_M7_SOC_H

#include <stdint.h>

#define MCU_M7_ABI_HASH UINT64_C(0x2762f554e87aec17)

enum mcu_m7_target_arch {
    MCU_M7_TARGET_ARCH_HOST_CPU = 0,
    MCU_M7_TARGET_ARCH_COUNT = 1
};

enum mcu_m7_instance {
    MCU_M7_INSTANCE_HOST_CPU = 0,
    MCU_M7_INSTANCE_COUNT = 1
};

enum mcu_m7_memory {
    MCU_M7_MEMORY_FLASH = 0,
    MCU_M7_MEMORY_SRAM = 1,
    MCU_M7_MEMORY_COUNT = 2
};

/* One channel of a DMA engine. */
enum mcu_m7_channel {
    MCU_M7_CHANNEL_COUNT = 0
};

/* What completes in order: DMA channels, then instances. */
enum mcu_m7_timeline {
    MCU_M7_TIMELINE_HOST_CPU = 0,
    MCU_M7_TIMELINE_COUNT = 1
};

/* The pools of memory mode `default`, by purpose, best first. */
enum mcu_m7_pool {
    MCU_M7_POOL_WORKSPACE_SRAM = 0,
    MCU_M7_POOL_CONSTANTS_FLASH = 1,
    MCU_M7_POOL_IO_SRAM = 2,
    MCU_M7_POOL_COUNT = 3
};

/* How many instances each target_arch has, and the DLDevice of each (dlpack.h). */
#define MCU_M7_HOST_CPU_INSTANCES 1
#define MCU_M7_HOST_CPU_DEVICE_TYPE 1 /* kDLCPU */
#define MCU_M7_HOST_CPU_DEVICE_ID 0

/* Size of each memory, and its address for the host and for every other observer. */
#define MCU_M7_MEMORY_FLASH_BYTES 1048576u
#define MCU_M7_MEMORY_FLASH_BASE UINT64_C(0x0)
#define MCU_M7_MEMORY_SRAM_BYTES 524288u
#define MCU_M7_MEMORY_SRAM_BASE UINT64_C(0x20000000)

/* Fails to compile where the condition is false, in every version of C and C++. */
#define MCU_M7_STATIC_ASSERT_JOIN_(a, b) a##b
#define MCU_M7_STATIC_ASSERT_JOIN(a, b) MCU_M7_STATIC_ASSERT_JOIN_(a, b)
#define MCU_M7_STATIC_ASSERT(condition) \
    typedef char MCU_M7_STATIC_ASSERT_JOIN(mcu_m7_soc_assert_, __LINE__)[(condition) ? 1 : -1]

MCU_M7_STATIC_ASSERT((int)MCU_M7_TIMELINE_COUNT == (int)MCU_M7_CHANNEL_COUNT + (int)MCU_M7_INSTANCE_COUNT);
MCU_M7_STATIC_ASSERT((int)MCU_M7_INSTANCE_COUNT == MCU_M7_HOST_CPU_INSTANCES);
MCU_M7_STATIC_ASSERT(MCU_M7_MEMORY_FLASH_BASE + MCU_M7_MEMORY_FLASH_BYTES <= MCU_M7_MEMORY_SRAM_BASE);

#endif
