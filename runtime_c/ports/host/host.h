/* Functions that only the host port has: they make latency and failure visible to tests. No bundle needs this to run.
 * Set these between ta_stop and ta_init unless said otherwise; they stay set. Not thread-safe.
 * A program that sets nothing may be compiled with -DTA_HOST_LAZY=1, -DTA_HOST_JITTER=<seed> or
 * -DTA_HOST_CACHE=<seed> (with -DTA_HOST_CACHE_BYTES=<bytes> where 32 MiB are not enough) instead.
 *
 * The thread of a core that executes functions of this program has a processor of its own where the system can give it
 * one (Linux; -DTA_HOST_PIN=0: it has not), and looks for work before it sleeps, for at most -DTA_HOST_SPIN_US=<us>,
 * 200 if not said.
 */
#ifndef TARGET_ARCH_PORT_HOST_H
#define TARGET_ARCH_PORT_HOST_H

#include "target_arch/port.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const ta_port ta_port_host;

/* Delay each asynchronous operation by a pseudo-random time (up to about 0.2 ms) that follows from `seed`;
 * 0: do not. */
void ta_host_set_jitter(uint32_t seed);

/* 1: every device and channel is as late as it may be: it does nothing until there is a wait for the
 * result. A step table with a missing Wait then gives a wrong answer every time. 0: as early as it can. */
void ta_host_set_lazy(uint32_t lazy);

/* Where all counters start at the next open. A value near 2^32 shows what wraps. */
void ta_host_set_counters(uint32_t value);

/* From the next open on: memories with cache duties are behind a cache of the host, of which random lines are evicted at
 * random times that follow from `seed`; DMA channels see what is behind it. `store` holds twice the bytes of the cached
 * arenas and stays the caller's, in use until the port is closed; open answers TA_ERROR_ARGUMENT where it is too small.
 * NULL: all is coherent. */
void ta_host_set_cache(uint8_t *store, uint32_t bytes, uint32_t seed);

/* When open: the operation after the next `skip` ones on a timeline ends with `status` and does nothing
 * else, once.
 * TA_ERROR_TIMEOUT: it never ends. */
void ta_host_fail(uint32_t timeline, uint32_t skip, ta_status status);

/* When open: the operation after the next `skip` ones on a timeline is done, but its interrupt is lost, once:
 * it is never reported. */
void ta_host_lose(uint32_t timeline, uint32_t skip);

/* When open: an interrupt of a timeline behind which nothing is, as a device that signals twice causes it. */
void ta_host_signal(uint32_t timeline);

#ifdef __cplusplus
}
#endif

#endif
