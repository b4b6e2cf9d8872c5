/* The firmware of a core: waits for its doorbell, executes the request in the mailbox, rings back. The bundle
 * brings the table of the functions that it can execute. */
#include "firmware/firmware.h"
#include "firmware/system.h"

void ta_firmware_main(void);
TA_ENTRY_ON(_start, ta_stack_end, ta_firmware_main);

volatile ta_mailbox ta_the_mailbox TA_ALIGNED(64);

/* The note's name is padded to four bytes; `mailbox` is as wide as an address, the rest of its field is 0. */
typedef struct ta_note {
    uint32_t name_bytes, content_bytes, type;
    char name[4];
    uint32_t version, function_count;
    uint64_t abi_hash;
    union {
        volatile ta_mailbox *pointer;
        uint64_t wide;
    } mailbox;
} ta_note;

extern const ta_note ta_the_note;
__attribute__((section(".note.target_arch"), used, aligned(4))) const ta_note ta_the_note = {
    sizeof TA_RESOURCES_NOTE_NAME, sizeof(ta_resources), TA_RESOURCES_NOTE_TYPE, TA_RESOURCES_NOTE_NAME,
    TA_MAILBOX_VERSION, TA_FIRMWARE_FUNCTIONS, TA_FIRMWARE_ABI_HASH, {&ta_the_mailbox},
};

static ta_status execute(void)
{
    void *pointers[TA_MAILBOX_OPERANDS];
    const uint32_t function = ta_the_mailbox.function, count = ta_the_mailbox.operand_count;
    if (function >= TA_FIRMWARE_FUNCTIONS || count > TA_MAILBOX_OPERANDS)
        return TA_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < count; i++)
        pointers[i] = (void *)(uintptr_t)ta_the_mailbox.operands[i];
    return ta_firmware_functions[function](pointers);
}

/* One byte in or out. Without the host there is nothing to do. */
static void ring(intptr_t direction)
{
    uint8_t byte = 1;
    if (ta_call(direction, TA_DOORBELL, (uintptr_t)&byte, 1, 0, 0, 0) != 1)
        ta_exit(0);
}

void ta_firmware_main(void)
{
    ring(TA_CALL_WRITE);
    for (;;) {
        ring(TA_CALL_READ);
        const uint32_t request = ta_the_mailbox.request;
        const uint32_t before = ta_instructions();
        ta_the_mailbox.status = (uint32_t)execute();
        ta_the_mailbox.counted = ta_instructions() - before;
        __sync_synchronize();
        ta_the_mailbox.answer = request;
        __sync_synchronize();
        ring(TA_CALL_WRITE);
    }
}
