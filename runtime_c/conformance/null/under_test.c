/* The null port under test: most of the suite skips, and what is left shows that a bare host runs. */
#include "conformance/conformance.h"

static const char *const modes[] = {"", NULL};

const port_under_test under_test = {&ta_port_null, modes, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL};
