#include "load/elf.h"

enum { CLASS = 4, BYTE_ORDER = 5, VERSION = 6, TYPE = 16, MACHINE = 18 };
enum { ELF32 = 1, ELF64 = 2, LITTLE = 1, CURRENT = 1, EXECUTABLE = 2 };
enum { LOAD = 1, NOTE = 4, EXECUTE = 1 };
#define BROKEN 0xffffffffu /* the type of a segment that the file does not hold */
enum { NOTE_HEAD = 12 };

typedef struct segment {
    uint32_t type, flags;
    uint64_t offset, device, physical, file_bytes, memory_bytes;
} segment;

/* A file; one behind ta_elf_open, whose table of segments it holds; a segment that it holds; rooms; and a text. */
/*@ predicate readable_image(ta_elf *elf) = \valid_read(elf) && \valid_read(elf->image + (0 .. elf->bytes - 1));
    predicate opened(ta_elf *elf) = readable_image(elf) &&
      (elf->wide != 0 ? 56 : 32) <= elf->stride <= 65535 && elf->segments <= 65535 &&
      elf->table + elf->stride * elf->segments <= elf->bytes;
    predicate in_file(ta_elf *elf, segment s) =
      s.type == LOAD || s.type == NOTE ==> s.offset + s.file_bytes <= elf->bytes;
    predicate rooms_there(ta_elf_room *rooms, integer count) = \valid_read(rooms + (0 .. count - 1)) &&
      \forall integer i; 0 <= i < count ==> \valid(rooms[i].base + (0 .. rooms[i].bytes - 1));
    predicate is_text(char *name) =
      \exists integer end; 0 <= end && name[end] == 0 && \valid_read(name + (0 .. end)) &&
        \forall integer i; 0 <= i < end ==> name[i] != 0;
    lemma products: \forall integer a, b, c; 0 <= a <= b && 0 <= c ==> a * c <= b * c; */

/*@ requires bytes <= 8 && \valid_read(at + (0 .. bytes - 1)); assigns \nothing;
    ensures bytes == 2 ==> \result <= 65535; ensures bytes == 4 ==> \result <= 4294967295; */
uint64_t ta_elf_number(const uint8_t *at, uint32_t bytes)
{
    uint64_t value = 0;
    /*@ loop invariant bytes <= \at(bytes, Pre);
        loop invariant bytes == \at(bytes, Pre) ==> value == 0;
        loop invariant bytes + 1 == \at(bytes, Pre) ==> value < 256;
        loop invariant bytes + 2 == \at(bytes, Pre) ==> value < 65536;
        loop invariant bytes + 3 == \at(bytes, Pre) ==> value < 16777216;
        loop invariant bytes + 4 == \at(bytes, Pre) ==> value < 4294967296;
        loop assigns bytes, value; loop variant bytes; */
    while (bytes-- > 0)
        value = value * 256u + at[bytes];
    return value;
}

/* A field of the header or of a program header, by its place in either class; `large` bytes wide in
 * the larger one. */
/*@ requires readable_image(elf) && large <= 8;
    requires start + (elf->wide != 0 ? in_64 + large : in_32 + (large == 8 ? 4 : large)) <= elf->bytes;
    assigns \nothing;
    ensures large == 2 ==> \result <= 65535; */
static uint64_t field(const ta_elf *elf, uint32_t start, uint32_t in_32, uint32_t in_64, uint32_t large)
{
    return elf->wide ? ta_elf_number(elf->image + start + in_64, large)
                     : ta_elf_number(elf->image + start + in_32, large == 8u ? 4u : large);
}

//@ assigns \nothing; ensures \result != 0 <==> offset + count <= limit;
static int fits(uint64_t offset, uint64_t count, uint64_t limit)
{
    return offset <= limit && count <= limit - offset;
}

//@ requires opened(elf) && index < elf->segments; assigns \nothing; ensures in_file(elf, \result);
static segment segment_at(const ta_elf *elf, uint32_t index)
{
    //@ assert (index + 1) * elf->stride <= elf->segments * elf->stride;
    const uint32_t start = elf->table + index * elf->stride;
    //@ assert start == elf->table + index * elf->stride && start + elf->stride <= elf->bytes;
    segment s;
    s.type = (uint32_t)field(elf, start, 0, 0, 4);
    s.flags = (uint32_t)field(elf, start, 24, 4, 4);
    s.offset = field(elf, start, 4, 8, 8);
    s.device = field(elf, start, 8, 16, 8);
    s.physical = field(elf, start, 12, 24, 8);
    s.file_bytes = field(elf, start, 16, 32, 8);
    s.memory_bytes = field(elf, start, 20, 40, 8);
    if ((s.type == LOAD || s.type == NOTE) && !fits(s.offset, s.file_bytes, elf->bytes))
        s.type = BROKEN;
    return s;
}

//@ requires readable_image(elf) && 52 <= elf->bytes; assigns \nothing;
static int header_is_right(const ta_elf *elf, uint32_t machine)
{
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F'};
    //@ loop invariant 0 <= i <= 4; loop assigns i; loop variant 4 - i;
    for (uint32_t i = 0; i < sizeof magic; i++)
        if (elf->image[i] != magic[i])
            return 0;
    return elf->image[BYTE_ORDER] == LITTLE && elf->image[VERSION] == CURRENT &&
           ta_elf_number(elf->image + TYPE, 2) == EXECUTABLE &&
           (machine == TA_ELF_ANY || ta_elf_number(elf->image + MACHINE, 2) == machine);
}

/* Every segment is in the file and in the address space, and the entry in one that executes. */
//@ requires opened(elf); assigns \nothing;
static int segments_are_right(const ta_elf *elf)
{
    int entered = 0;
    //@ loop invariant 0 <= i <= elf->segments; loop assigns i, entered; loop variant elf->segments - i;
    for (uint32_t i = 0; i < elf->segments; i++) {
        const segment s = segment_at(elf, i);
        const uint64_t last = elf->wide ? UINT64_MAX : UINT32_MAX;
        if (s.type == BROKEN)
            return 0;
        if (s.type != LOAD)
            continue;
        if (s.file_bytes > s.memory_bytes || !fits(s.device, s.memory_bytes, last) ||
            !fits(s.physical, s.memory_bytes, last))
            return 0;
        if ((s.flags & EXECUTE) != 0 && elf->entry >= s.device && elf->entry - s.device < s.file_bytes)
            entered = 1;
    }
    return entered;
}

/*@ requires \valid(elf) && (image != \null ==> \valid_read(image + (0 .. bytes - 1)));
    requires \separated(elf, image + (0 .. bytes - 1));
    assigns *elf;
    ensures \result == TA_OK ==> opened(elf); */
ta_status ta_elf_open(ta_elf *elf, const uint8_t *image, uint32_t bytes, uint32_t machine)
{
    elf->image = image;
    elf->bytes = bytes;
    elf->segments = 0;
    if (image == NULL || bytes <= CLASS || (image[CLASS] != ELF32 && image[CLASS] != ELF64))
        return TA_ERROR_IMAGE;
    elf->wide = image[CLASS] == ELF64;
    if (bytes < (elf->wide ? 64u : 52u) || !header_is_right(elf, machine))
        return TA_ERROR_IMAGE;
    const uint64_t table = field(elf, 0, 28, 32, 8), sections = field(elf, 0, 32, 40, 8);
    const uint64_t section_bytes = field(elf, 0, 46, 58, 2) * field(elf, 0, 48, 60, 2);
    if (!fits(sections, section_bytes, bytes))
        return TA_ERROR_IMAGE; /* nothing here needs them, but they are what a file cut short lacks first */
    const uint32_t stride = (uint32_t)field(elf, 0, 42, 54, 2), count = (uint32_t)field(elf, 0, 44, 56, 2);
    //@ assert stride * count <= 65535 * count <= 65535 * 65535;
    if (stride < (elf->wide ? 56u : 32u) || !fits(table, (uint64_t)stride * count, bytes))
        return TA_ERROR_IMAGE;
    //@ assert table + stride * count <= bytes;
    elf->entry = field(elf, 0, 24, 24, 8);
    elf->table = (uint32_t)table;
    elf->stride = stride;
    elf->segments = count;
    //@ assert elf->table == table && elf->stride * elf->segments == stride * count && elf->bytes == bytes;
    //@ assert opened(elf);
    return segments_are_right(elf) ? TA_OK : TA_ERROR_IMAGE;
}

//@ requires image != \null ==> \valid_read(image + (0 .. bytes - 1)); assigns \nothing;
ta_status ta_elf_check(const uint8_t *image, uint32_t bytes)
{
    ta_elf elf;
    return ta_elf_open(&elf, image, bytes, TA_ELF_ANY);
}

/*@ requires \valid_read(s) && rooms_there(rooms, room_count); assigns \nothing;
    ensures \result != \null ==> \exists integer i, at; 0 <= i < room_count && 0 <= at &&
      \result == rooms[i].base + at && at + s->memory_bytes <= rooms[i].bytes; */
static uint8_t *room_of(const segment *s, const ta_elf_room *rooms, uint32_t room_count)
{
    //@ loop invariant 0 <= i <= room_count; loop assigns i; loop variant room_count - i;
    for (uint32_t i = 0; i < room_count; i++) {
        const ta_elf_room *room = &rooms[i];
        if (s->physical < room->physical || s->device < room->device)
            continue;
        const uint64_t offset = s->physical - room->physical;
        if (offset == s->device - room->device && fits(offset, s->memory_bytes, room->bytes))
            return room->base + offset;
    }
    return NULL;
}

//@ requires opened(elf) && rooms_there(rooms, room_count);
ta_status ta_elf_place(const ta_elf *elf, const ta_elf_room *rooms, uint32_t room_count)
{
    //@ loop invariant 0 <= i <= elf->segments; loop assigns i; loop variant elf->segments - i;
    for (uint32_t i = 0; i < elf->segments; i++) {
        const segment s = segment_at(elf, i);
        if (s.type == LOAD && s.memory_bytes != 0u && room_of(&s, rooms, room_count) == NULL)
            return TA_ERROR_IMAGE;
    }
    /*@ loop invariant 0 <= i <= elf->segments;
        loop assigns i, { *byte | uint8_t *byte; \valid(byte) };
        loop variant elf->segments - i; */
    for (uint32_t i = 0; i < elf->segments; i++) {
        const segment s = segment_at(elf, i);
        uint8_t *target = s.type == LOAD ? room_of(&s, rooms, room_count) : NULL;
        //@ ghost uint64_t count = s.memory_bytes;
        //@ assert target != \null ==> \valid(target + (0 .. count - 1));
        /*@ loop invariant 0 <= byte && (target != \null ==> byte <= count);
            loop assigns byte, target[0 .. count - 1]; loop variant count - byte; */
        for (uint64_t byte = 0; target != NULL && byte < s.memory_bytes; byte++)
            target[byte] = byte < s.file_bytes ? elf->image[s.offset + byte] : (uint8_t)0;
    }
    return TA_OK;
}

/*@ requires \valid_read(at + (0 .. bytes - 1)) && is_text(name); assigns \nothing; */
static int named(const uint8_t *at, uint32_t bytes, const char *name)
{
    /*@ loop invariant 0 <= i <= bytes;
        loop invariant \forall integer k; 0 <= k < i ==> name[k] != 0;
        loop assigns i; loop variant bytes - i; */
    for (uint32_t i = 0; i < bytes; i++) {
        if (at[i] != (uint8_t)name[i])
            return 0;
        if (name[i] == '\0')
            return i + 1u == bytes;
    }
    return 0;
}

/*@ requires opened(elf) && is_text(name) && \valid(content) && \valid(bytes);
    requires \separated(content, elf) && \separated(bytes, elf) && \separated(content, bytes);
    assigns *content, *bytes;
    ensures \result == TA_OK ==> \valid_read(*content + (0 .. *bytes - 1)); */
ta_status ta_elf_note(const ta_elf *elf, const char *name, uint32_t type, const uint8_t **content,
                      uint32_t *bytes)
{
    //@ loop invariant 0 <= i <= elf->segments; loop assigns i; loop variant elf->segments - i;
    for (uint32_t i = 0; i < elf->segments; i++) {
        const segment s = segment_at(elf, i);
        if (s.type != NOTE)
            continue;
        const uint8_t *at = elf->image + s.offset;
        uint64_t left = s.file_bytes;
        /*@ loop invariant 0 <= left <= s.file_bytes && at == elf->image + (s.offset + s.file_bytes - left);
            loop assigns at, left; loop variant left; */
        while (left >= NOTE_HEAD) {
            const uint32_t name_bytes = (uint32_t)ta_elf_number(at, 4);
            const uint32_t content_bytes = (uint32_t)ta_elf_number(at + 4, 4);
            const uint64_t start = NOTE_HEAD + ((uint64_t)name_bytes + 3u) / 4u * 4u;
            const uint64_t end = start + ((uint64_t)content_bytes + 3u) / 4u * 4u;
            if (end > left)
                return TA_ERROR_IMAGE;
            if (ta_elf_number(at + 8, 4) == type && named(at + NOTE_HEAD, name_bytes, name)) {
                *content = at + start;
                *bytes = content_bytes;
                return TA_OK;
            }
            at = &at[end];
            left -= end;
        }
    }
    return TA_ERROR_IMAGE;
}

/*@ requires rooms_there(rooms, room_count); assigns \nothing;
    ensures \result != \null ==> \valid(\result + (0 .. bytes - 1)); */
uint8_t *ta_elf_byte(const ta_elf_room *rooms, uint32_t room_count, ta_address device, uint32_t bytes)
{
    //@ loop invariant 0 <= i <= room_count; loop assigns i; loop variant room_count - i;
    for (uint32_t i = 0; i < room_count; i++)
        if (device >= rooms[i].device && fits(device - rooms[i].device, bytes, rooms[i].bytes))
            return rooms[i].base + (device - rooms[i].device);
    return NULL;
}
