/* Is an image what the load process of its instance takes? */
#include <string.h>

#include "ports/host/state.h"

/* The text in a bundle in place of an image that was not at hand when it was compiled. */
static int is_stand_in(const uint8_t *image, uint32_t bytes)
{
    const uint32_t length = sizeof TA_STAND_IN - 1u;
    return bytes >= length && memcmp(image, TA_STAND_IN, length) == 0;
}

ta_status ta_host_image(uint32_t instance, const uint8_t *image, uint32_t bytes)
{
    const uint32_t process = ta_host.soc->instances[instance].load_process;
    if (image == NULL || is_stand_in(image, bytes))
        return TA_OK;
    if (!ta_takes_program(process))
        return TA_ERROR_IMAGE;
    for (uint32_t i = 0; i < ta_host.simulation->check_count; i++)
        if (ta_host.simulation->checks[i].load_process == process)
            return ta_host.simulation->checks[i].check(image, bytes);
    return TA_OK;
}
