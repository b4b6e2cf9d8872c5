/* The inputs and outputs of a model as bytes, one tensor after the other. Include it behind the bundle's headers. */
#include <string.h>

/* Copy the tensors from bytes, with `in`, or to them; how many bytes these are. */
static uint32_t move(const ta_bundle *bundle, const ta_tensor *tensors, uint32_t count, uint8_t *bytes, int in)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *there = ta_pointer(bundle, tensors[i].where);
        memcpy(in ? there : bytes + used, in ? bytes + used : there, tensors[i].bytes);
        used += tensors[i].bytes;
    }
    return used;
}
