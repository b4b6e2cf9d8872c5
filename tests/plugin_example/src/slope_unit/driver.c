#include "slope_unit.h"

#include "drivers/engine.h"

static const ta_engine_layout layout = {2u, 2u, 2u}; /* two addresses, then COUNT and SLOPE */

static ta_status start(const ta_port *port, uint32_t instance, const ta_command *command) {
    return ta_engine_start(port, instance, command, &layout);
}

const ta_driver slope_unit_driver = {"slope_unit", start, ta_engine_poll};
