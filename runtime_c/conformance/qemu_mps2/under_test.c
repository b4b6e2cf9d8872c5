/* The suite on an emulated board. Its output goes through the C library, which writes it here. */
#include "conformance/conformance.h"
#include "ports/qemu_mps2/qemu_mps2.h"

static const char *const modes[] = {"", NULL};

const port_under_test under_test = {.port = &ta_port_qemu_mps2, .modes = modes};

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
