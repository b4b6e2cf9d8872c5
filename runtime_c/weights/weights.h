/* Constants that are bytes, not C: bundles that were compiled with `--constants section` or `file`.
 *
 * A weights file has the bytes of an arena of constants, then its checks: "TAW1", the number of tensors, the 64-bit
 * number of the program that it is for, a CRC-32C for each tensor, and one of the checks before it. All numbers are
 * little endian. Files with other weights of the same shapes have the same program's number, and fit it.
 *
 * As with ta_runtime, calls come from one thread at a time and from no interrupt.
 */
#ifndef TARGET_ARCH_WEIGHTS_H
#define TARGET_ARCH_WEIGHTS_H

#include "target_arch/port.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weights files are little endian: compile the model with --constants text"
#endif

/* A constant, and where it is in its arena. */
typedef struct ta_weight {
    const char *name;
    uint32_t offset;
    uint32_t bytes;
} ta_weight;

/* The constants of one arena, in the order of their offsets. */
typedef struct ta_weights {
    const char *file; /* the plain name of their file */
    const ta_weight *tensors;
    uint32_t count;
    uint32_t bytes;         /* of the arena, which the checks follow in the file */
    uint64_t program;       /* what the file must be for */
    const uint8_t *linked;  /* their bytes in the program; NULL where they come from a file */
    const uint8_t *checks;  /* their checks in the program; NULL likewise */
    const void **start;     /* where the address of a file is kept, NULL until there is one; NULL where linked */
    const ta_lent *lent;    /* what the address of a file must be like; NULL where linked */
    uint32_t memory;        /* TA_MEMORY_* that they are planned in */
} ta_weights;

/* The bytes of a weights file with this many tensors and bytes of the arena. */
#define TA_WEIGHTS_FILE_BYTES(arena_bytes, tensors) ((arena_bytes) + 20u + 4u * (tensors))

/* Use a weights file at this address from now on. Its bytes stay the caller's and unchanged until another one is used;
 * a bundle that is between init and stop must not be given one. Compares every tensor with its CRC, by the hardware of
 * `port`, which may be closed, or NULL.
 *   TA_ERROR_ARGUMENT      NULL, not aligned as the arena wants it, or, in builds with TA_SECTIONS, outside the memory
 *                          where a device or DMA channel expects it
 *   TA_ERROR_CORRUPT       truncated or altered
 *   TA_ERROR_ABI_MISMATCH  for another program
 * After a failure there is none. `*damaged` is the name of the first tensor that is not whole, "checks" where the
 * checks themselves are not, and NULL where nothing is. */
ta_status ta_weights_use(const ta_weights *weights, const ta_soc *soc, const ta_port *port, const void *start,
                         uint32_t bytes, const char **damaged);

/* Compare what is linked, or the file in use, with its CRCs, as above. TA_ERROR_STATE where no file is in use. */
ta_status ta_weights_check(const ta_weights *weights, const ta_port *port, const char **damaged);

/* Where no file is in use, use the one at this address, such as of a flash partition; then as ta_weights_check. */
ta_status ta_weights_at(const ta_weights *weights, const ta_soc *soc, const ta_port *port, const void *start,
                        const char **damaged);

/* On a computer: map the file into memory, where none is in use, and use it. It is in the folder that the environment
 * variable TARGET_ARCH_WEIGHTS names, else in `weights` of the current folder. TA_ERROR_CORRUPT where there is no such
 * file; `*damaged` is then its name. */
ta_status ta_weights_map(const ta_weights *weights, const ta_soc *soc, const ta_port *port, const char **damaged);

#ifdef __cplusplus
}
#endif

#endif
