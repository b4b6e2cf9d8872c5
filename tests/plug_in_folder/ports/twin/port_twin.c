#include "ports/twin/twin.h"

#include "target_arch/runtime.h"

static const ta_bundle *opened;
static char said[] = "0 ran";

static ta_status twin_open(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle)
{
    (void)port;
    (void)soc;
    if (opened != NULL)
        return TA_ERROR_STATE;
    opened = bundle;
    return TA_OK;
}

static ta_status twin_close(const ta_port *port)
{
    (void)port;
    if (opened == NULL)
        return TA_ERROR_STATE;
    opened = NULL;
    return TA_OK;
}

static ta_status twin_dispatch(const ta_port *port, const ta_dispatch *dispatch)
{
    (void)port;
    void *pointers[TA_MAX_OPERANDS];
    for (uint32_t i = 0; i < dispatch->ref_count; i++) {
        pointers[i] = ta_pointer(opened, dispatch->refs[i]);
        if (pointers[i] == NULL)
            return TA_ERROR_ARGUMENT;
    }
    said[0]++;
    return dispatch->kernel->function(pointers);
}

const char *twin_complaint(void)
{
    return said[0] == '0' ? "" : said;
}

const ta_port ta_port_twin = {
    .version = TA_PORT_VERSION,
    .name = "twin",
    .open = twin_open,
    .close = twin_close,
    .dispatch = twin_dispatch,
};
