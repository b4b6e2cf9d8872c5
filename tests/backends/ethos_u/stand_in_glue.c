/* The stand-in of a stream of the four bytes "stop": the output is the input with every bit turned over. */
#include "../../../runtime_c/ports/host/simulator.h"

#define BYTES 32u

static ta_status invert(void *const *p) {
    const uint8_t *input = p[2];
    uint8_t *output = p[3];
    uint32_t index;

    for (index = 0; index < BYTES; ++index) {
        output[index] = (uint8_t)~input[index];
    }
    return TA_OK;
}

static const uint32_t bytes[] = {16, 48, BYTES, BYTES}; /* weights, scratch, input, output */
static const ta_stand_in entries[] = {{0xb95616b6u, 4, bytes, invert}};
const ta_stand_ins ta_host_stand_ins = {entries, 1};
