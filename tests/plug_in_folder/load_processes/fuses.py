"""The load process `fuses`: a device whose program is burnt before the first run."""

from target_arch.backend.load_process import LoadProcessKind

_CHECK = """\
#include "target_arch/abi.h"

ta_status fuses_check(const uint8_t *image, uint32_t bytes);
ta_status fuses_check(const uint8_t *image, uint32_t bytes)
{
    return bytes != 0 && image[0] == 'F' ? TA_OK : TA_ERROR_IMAGE;
}
"""

load_process = LoadProcessKind(
    name="fuses",
    description="fuses are blown once",
    number=256,
    image=".fuses",
    check="fuses_check",
    files=lambda: {"load/fuses.c": _CHECK},
)
