/* The suite on the emulated board of two cores. Its output goes through the C library, which writes it here. */
#include "conformance/conformance.h"
#include "ports/qemu_sse200/qemu_sse200.h"

static const char *const modes[] = {"", NULL};

const port_under_test under_test = {.port = &ta_port_qemu_sse200, .modes = modes, .uses_stacks = 1};

int _write(int file, const char *text, int bytes);
int _write(int file, const char *text, int bytes)
{
    (void)file;
    for (int i = 0; i < bytes; i++) {
        const char one[] = {text[i], '\0'};
        ta_mps2_say(one);
    }
    return bytes;
}
