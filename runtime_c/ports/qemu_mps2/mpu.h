/* What a kernel may write, for the memory protection units of Armv7-M and Armv8-M.
 *
 * Both functions only compute register values, from runs of bytes that may be written; all else may be read and
 * executed, and nothing there can be written. Nothing here blocks.
 */
#ifndef TARGET_ARCH_PORT_QEMU_MPS2_MPU_H
#define TARGET_ARCH_PORT_QEMU_MPS2_MPU_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that may be written: from `start` up to `end`, not included. */
typedef struct ta_mpu_run {
    uint32_t start;
    uint32_t end;
} ta_mpu_run;

/* RBAR and RASR of Armv7-M, RBAR and RLAR of Armv8-M, of one region. */
typedef struct ta_mpu_region {
    uint32_t base;
    uint32_t attributes;
} ta_mpu_region;

/* Armv7-M: region 0 is everything, read-only; then a region for each run, whose number counts more. A region is a power
 * of two, from 32 bytes on, and from 256 on has eight parts that may be left out: up to an eighth of it beside the run
 * can be written, too. How many regions there are; 0 where `most` are too few. */
uint32_t ta_mpu_v7m(const ta_mpu_run *runs, uint32_t count, ta_mpu_region *regions, uint32_t most);

/* Armv8-M: a region for each run, in whole blocks of 32 bytes, and read-only ones between them, since regions may not
 * overlap. `runs` are sorted by address and apart. How many regions there are; 0 where `most` are too few. */
uint32_t ta_mpu_v8m(const ta_mpu_run *runs, uint32_t count, ta_mpu_region *regions, uint32_t most);

#ifdef __cplusplus
}
#endif

#endif
