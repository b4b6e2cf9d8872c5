/* The facts of a bundle for the firmware of one of its cores; a file of the bundle defines all of it. */
#ifndef TARGET_ARCH_FIRMWARE_FIRMWARE_H
#define TARGET_ARCH_FIRMWARE_FIRMWARE_H

#include "firmware/mailbox.h"

/* By the number of a request. TA_FIRMWARE_FUNCTIONS and TA_FIRMWARE_ABI_HASH come from the command line. */
extern const ta_function ta_firmware_functions[TA_FIRMWARE_FUNCTIONS];

#endif
