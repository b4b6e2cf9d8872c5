/* SPDX-License-Identifier: LicenseRef-generated */
/* Kernels of `tiny-add` for dsp. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tiny_add_internal.h"

/* out = wrap8(x + bias): enough to see a wrong constant. */
static void add_bias(const int8_t *x, const int32_t *bias, int8_t *out)
{
    int i;
    for (i = 0; i < 8; i++)
        out[i] = (int8_t)(((uint32_t)x[i] + (uint32_t)bias[i]) & 0x7fu);
}

/* Called by the step table: `p` holds the operands in the order of the parameters. */

ta_status tiny_add_dsp_add_bias(void *const *p)
{
    add_bias((const int8_t *)p[0], (const int32_t *)p[1], (int8_t *)p[2]);
    return TA_OK;
}
