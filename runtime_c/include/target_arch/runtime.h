/* The runtime: executes a bundle's step table on a SoC through a port.
 *
 * The caller owns all memory; there is no heap, no recursion and no static state here. Calls for one
 * runtime come from one thread at a time. No call is interrupt-safe. All may block, for at most
 * `timeout_us` per event waited for. While ta_run runs, another call for the same runtime, from a kernel, a
 * port's callback or a second thread, is refused with TA_ERROR_STATE and changes nothing. Of two threads that
 * call ta_run at once, one is refused where the core can compare and swap (an ARMv6-M cannot).
 */
#ifndef TARGET_ARCH_RUNTIME_H
#define TARGET_ARCH_RUNTIME_H

#include "target_arch/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How large a SoC and a call the runtime can serve. ta_init answers TA_ERROR_ARGUMENT to larger ones. */
#ifndef TA_MAX_TIMELINES
#define TA_MAX_TIMELINES 64u
#endif
#define TA_MAX_OPERANDS 32u

#ifndef TA_DEFAULT_TIMEOUT_US
#define TA_DEFAULT_TIMEOUT_US 30000000u
#endif
#define TA_NO_STEP 0xffffffffu

/* One timeline, as the runtime knows it. Values count from the base, modulo 2^32. */
typedef struct ta_progress {
    uint32_t base;    /* the port's counter when the current run began */
    uint32_t issued;  /* asynchronous steps submitted in this run */
    uint32_t settled; /* of these, how many are known to be complete, their outcome seen */
    uint32_t cursor;  /* steps before this one are settled, where they are on this timeline */
} ta_progress;

/* Called by ta_run before each step that is no LOAD, with its number, and with ta_bundle.step_count before the end of
 * the run is waited for: to serve a watchdog, or to end a run that is late. TA_OK: go on. Any other status ends the run
 * with that step and status. It may call ta_pointer and change `timeout_us`; a ta_run in it is refused. */
typedef ta_status (*ta_watch)(void *context, uint32_t step);

/* All zero before the first ta_init. Fields are for reading, but for `timeout_us`, `watch` and `watch_context`. */
typedef struct ta_runtime {
    const ta_bundle *bundle;
    const ta_soc *soc;
    const ta_port *port;
    uint32_t state;          /* 0 stopped, 1 ready, 2 broken: a device or channel had to be cancelled, 3 running */
    uint32_t failed_step;    /* index into bundle->steps, TA_NO_STEP where no step is to blame */
    uint32_t timeout_us;     /* longest wait for one event; set by ta_init, yours to change after it */
    uint64_t run_us;         /* how long the last ta_run took; in one, the port's time at its start; 0 without a clock */
    ta_watch watch;          /* NULL: none. Yours to change between runs; ta_init leaves it */
    void *watch_context;     /* its first argument */
    const ta_bundle *filled; /* whose residents were filled last; NULL before, and where they may be gone */
    uint32_t lost;           /* 1 where those of other bundles may be gone: an instance got another program */
    ta_progress progress[TA_MAX_TIMELINES];
} ta_runtime;

/* Take a bundle into use: check versions, hashes and tables, open the port, execute the LOAD steps (load
 * and start). The runtime keeps the three pointers until ta_stop; the values behind them stay the caller's.
 * On success the runtime is ready. On failure it is stopped, the port closed, and whatever was started
 * stopped again; `failed_step` names the LOAD or the malformed step.
 *   TA_ERROR_ARGUMENT      NULL, a table that points outside an arena, an event out of order, a SoC too large
 *   TA_ERROR_ABI_MISMATCH  another TA_ABI_VERSION or TA_PORT_VERSION, or bundle and SoC have different hashes
 *   TA_ERROR_STATE         not stopped, or the port is in use; nothing was changed
 *   TA_ERROR_UNSUPPORTED   the port lacks an operation that the bundle needs
 *   TA_ERROR_IMAGE         a load image does not have its CRC
 *   any                    of the port's load and start */
ta_status ta_init(ta_runtime *runtime, const ta_bundle *bundle, const ta_soc *soc, const ta_port *port);

/* Execute the FILL steps of a bundle that has some, after ta_init and before the first run: constants are copied to
 * where they stay. Each is over when the next begins. On failure the runtime is stopped, and `failed_step` the FILL.
 *   TA_ERROR_STATE  not ready; nothing was changed
 *   any             of a copy, as of ta_run */
ta_status ta_fill(ta_runtime *runtime);

/* Execute every step but the LOADs, once. The inputs must be in place (ta_bundle.inputs say where); on
 * success the outputs are, and nothing is in flight. May be repeated forever. On failure `failed_step` is
 * the step that failed, or whose event failed or did not come; the outputs are undefined. Before it
 * returns, what is in flight is waited for, and cancelled where it does not end, so that no device touches
 * memory afterwards. If something had to be cancelled the runtime is broken: ta_stop, then ta_init. Where
 * the port cannot even cancel it, ta_stop says so with TA_ERROR_TIMEOUT, and memory is not safe to reuse.
 *   TA_ERROR_STATE    not ready, running already, or a dispatch to an instance that no LOAD step brought up
 *   TA_ERROR_ARGUMENT an input or output is in memory of the caller, and none was lent (lent/lent.h)
 *   TA_ERROR_TIMEOUT  an event did not happen within `timeout_us`
 *   TA_ERROR_DMA, TA_ERROR_DEVICE, TA_ERROR_UNSUPPORTED, TA_ERROR_ARGUMENT  from the port or a driver
 *   any               of `watch` */
ta_status ta_run(ta_runtime *runtime);

/* Stop every loaded instance, last one first, and close the port. The runtime is stopped afterwards
 * whatever the answer, which is the first failure; ta_init works again. Stopping a stopped runtime is
 * TA_OK. TA_ERROR_STATE: it is running; nothing was changed. */
ta_status ta_stop(ta_runtime *runtime);

/* Where the host sees a place of the bundle; NULL where it cannot, outside the arena, or where its bytes are not lent
 * now. Do not write to constants. Never blocks, interrupt-safe. */
void *ta_pointer(const ta_bundle *bundle, ta_ref where);

/* The enumerator's name, such as "TA_ERROR_TIMEOUT"; "unknown" for another number. Static, never NULL. */
const char *ta_status_name(ta_status status);

/* The instance or DMA channel of `failed_step`; NULL where no step is to blame, or before ta_init accepted the
 * tables. The SoC's, never blocks. */
const char *ta_failed_device(const ta_runtime *runtime);

/* CRC-32 as in ISO-HDLC (zlib, Ethernet): reflected, polynomial 0x04C11DB7. */
uint32_t ta_crc32(const uint8_t *bytes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
