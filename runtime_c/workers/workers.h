/* Workers: cores that share this program and its memory, and execute the calls that the host queues for them.
 *
 * The operations of a port for such cores, on top of the few functions that a system has for them (ta_core_control in
 * port.h). A port fills its table with these, or calls them for instances that have a stack. Statuses and blocking are
 * those of the operations in port.h. No heap, no compare and swap: each counter has one writer. There is one set of
 * workers per program.
 */
#ifndef TARGET_ARCH_WORKERS_H
#define TARGET_ARCH_WORKERS_H

#include "target_arch/port.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TA_MAX_WORKERS
#define TA_MAX_WORKERS 16u
#endif
#ifndef TA_WORKERS_PATIENCE_US
#define TA_WORKERS_PATIENCE_US 2000000u /* for a core that shall let go of its work */
#endif

/* Take the cores of `soc` into use: its instances that have a stack. The control and both tables stay the caller's,
 * in use until close. TA_ERROR_ARGUMENT: more than TA_MAX_WORKERS instances. */
ta_status ta_workers_open(const ta_core_control *control, const ta_soc *soc, const ta_bundle *bundle);

/* Stop every core. TA_ERROR_TIMEOUT: one did not let go; it may still touch memory. */
ta_status ta_workers_close(const ta_port *port);

/* Does this instance execute calls as a worker? */
int ta_workers_have(uint32_t instance);

ta_status ta_workers_start(const ta_port *port, uint32_t instance);
ta_status ta_workers_stop(const ta_port *port, uint32_t instance);
ta_status ta_workers_dispatch(const ta_port *port, const ta_dispatch *dispatch);
ta_status ta_workers_read_timeline(const ta_port *port, uint32_t timeline, uint32_t *value);
ta_status ta_workers_wait(const ta_port *port, uint32_t timeline, uint32_t value, uint32_t timeout_us);
ta_status ta_workers_cancel(const ta_port *port, uint32_t timeline);

/* How often work came to a core that slept, since open: each costs its `wake`. */
uint32_t ta_workers_wakes(uint32_t instance);

#ifdef __cplusplus
}
#endif

#endif
