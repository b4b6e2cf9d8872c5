/* The null port under test: most of the suite skips, and what is left shows that a bare host runs. */
#include "conformance/conformance.h"

static const char *const modes[] = {"", NULL};

extern const ta_port ta_port_null;

const port_under_test under_test = {.port = &ta_port_null, .modes = modes};
