/* The CUDA port under test: copies and events are asked, calls on a device need a module of CUDA C and skip. */
#include "conformance/conformance.h"

static const char *const modes[] = {"", NULL};

const port_under_test under_test = {&ta_port_cuda, modes, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL};
