/* The load process of a core that takes an ELF file: is it whole and for this core, where do its segments go,
 * and what does it say of itself.
 *
 * 32-bit and 64-bit, little-endian, executable (ET_EXEC), for any machine. No heap, no system, nothing is
 * trusted: every offset and size is checked before it is used. An open image needs the bytes of the
 * file and this header's struct, both the caller's.
 *
 * A segment has two addresses. `p_vaddr` is where the core sees it, `p_paddr` where its loader does; both
 * must name the same byte of a room. Source: System V ABI, chapters 4 and 5; OpenAMP's remoteproc for the use.
 */
#ifndef TARGET_ARCH_LOAD_ELF_H
#define TARGET_ARCH_LOAD_ELF_H

#include "target_arch/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TA_ELF_ANY = 0 }; /* for ta_elf_open: of whatever machine */
enum { TA_ELF_HEXAGON = 164, TA_ELF_AARCH64 = 183, TA_ELF_RISCV = 243 }; /* e_machine */

/* A run of bytes that segments may go to. Rooms do not overlap. */
typedef struct ta_elf_room {
    ta_address physical; /* of the first byte, for the loader */
    ta_address device;   /* of the first byte, for the core */
    uint32_t bytes;
    uint8_t *base; /* the first byte itself */
} ta_elf_room;

typedef struct ta_elf {
    const uint8_t *image;
    uint32_t bytes;
    uint32_t wide; /* 1 for ELF64 */
    uint32_t segments;
    uint32_t table; /* offset of the program headers */
    uint32_t stride;
    ta_address entry; /* as the core sees it */
} ta_elf;

/* Check a file and make it ready. Does not block, writes to `elf` alone.
 * TA_ERROR_IMAGE: not ELF, of another machine or byte order, not an executable, cut short, no segment to load,
 * a segment that reaches beyond the file or the address space, or an entry outside its executable segments. */
ta_status ta_elf_open(ta_elf *elf, const uint8_t *image, uint32_t bytes, uint32_t machine);

/* Is this a file that ta_elf_open takes, of whatever machine? TA_ERROR_IMAGE where it is not. */
ta_status ta_elf_check(const uint8_t *image, uint32_t bytes);

/* Copy every segment to its room, and fill with zeros what the file does not hold.
 * TA_ERROR_IMAGE: a segment is in no room, or its two addresses disagree; then nothing was written. */
ta_status ta_elf_place(const ta_elf *elf, const ta_elf_room *rooms, uint32_t room_count);

/* The content of the first note of that name (with its final zero) and type. It points into the image.
 * TA_ERROR_IMAGE: there is none. */
ta_status ta_elf_note(const ta_elf *elf, const char *name, uint32_t type, const uint8_t **content,
                      uint32_t *bytes);

/* The byte that the core sees at `device`, with `bytes` behind it in the same room; NULL where there is none. */
uint8_t *ta_elf_byte(const ta_elf_room *rooms, uint32_t room_count, ta_address device, uint32_t bytes);

/* A little-endian number of 2, 4 or 8 bytes. */
uint64_t ta_elf_number(const uint8_t *at, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
