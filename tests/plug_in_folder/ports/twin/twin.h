/* What a program may ask the port `twin`. */
#ifndef TWIN_H
#define TWIN_H

#include "target_arch/port.h"

extern const ta_port ta_port_twin;

/* How many functions ran, or "" before the first. Static. */
const char *twin_complaint(void);

#endif
