/* The CUDA port under test: the dsp is CUDA device 0, and what it executes is a kernel of this module. */
#include "conformance/conformance.h"
#include "ports/cuda/cuda.h"

static const char module[] =
    "extern \"C\" __global__ void conformance_add(const unsigned char* a, const unsigned char* b, unsigned char* out) {\n"
    "  out[threadIdx.x] = (unsigned char)(a[threadIdx.x] + b[threadIdx.x]);\n"
    "}\n";

static const char *const modes[] = {"", NULL};

static ta_status add_on_the_device(void *const *pointers)
{
    return ta_cuda_launch("conformance_add", 1, ADD_BYTES, pointers, 3);
}

const port_under_test under_test = {
    .port = &ta_port_cuda,
    .modes = modes,
    .image = (const uint8_t *)module,
    .image_bytes = sizeof module,
    .call = add_on_the_device,
};
