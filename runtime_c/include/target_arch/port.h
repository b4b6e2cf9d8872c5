/* A port: the functions by which the runtime uses a system to move bytes, start devices and learn when they are done.
 *
 * A port is a const table of operations. NULL means *unsupported*: the core answers TA_ERROR_UNSUPPORTED
 * where a bundle needs the operation, and goes on where none does. `ports/null` is the table to clone,
 * `ports/host` a complete one, `conformance/` the suite that every port must pass.
 *
 * Timelines. Each DMA channel and each instance has a counter that the port owns. The core submits work in
 * order; the port completes it in order and adds one to the counter for each piece, modulo 2^32. Where a
 * counter starts is the port's choice: the core reads it once, after open. "Reached" means
 * (int32_t)(counter - value) >= 0.
 *
 * Failure on a timeline. Work that fails after it was accepted still counts as complete. The first `wait`
 * for its value or a later one returns the failure, once; then the timeline goes on with what is queued
 * behind it.
 *
 * Threads. The core calls a port from one thread at a time, never from an interrupt. None of these
 * operations is interrupt-safe unless a port says so. Only `wait`, `copy`, `load`, `start`, `stop`,
 * `cancel`, `close` and a synchronous `dispatch` may block.
 *
 * Arguments. The core has checked every index and every range in the bundle's tables before it calls (see
 * ta_init), so that a port need not; what a port must check itself is reachability: that this channel or
 * instance sees that memory.
 */
#ifndef TARGET_ARCH_PORT_H
#define TARGET_ARCH_PORT_H

#include "target_arch/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TA_PORT_VERSION 5u

/* What a port fills a memory with that the host does not see, when it opens, so that a byte which was not copied there is
 * noticed. As an integer, a float or an activation nothing usual. As the number of places of a shift, of which processors
 * take the low five or six bits, it is 31 or 63: 0xA5 was 37, as the shifts of a kernel whose copy had been lost. */
#define TA_POISON 0xbfu

typedef struct ta_port ta_port;

struct ta_port {
    uint32_t version; /* TA_PORT_VERSION; ta_init answers TA_ERROR_ABI_MISMATCH to another */
    const char *name;

    /* Take the system into use. The port may keep both pointers until close. Both stay the caller's.
     * TA_ERROR_STATE: already open. TA_ERROR_ARGUMENT: this system is not what `soc` describes, or is too
     * small. After a failure the port is closed. Required. */
    ta_status (*open)(const ta_port *port, const ta_soc *soc, const ta_bundle *bundle);

    /* Give everything back. Nothing is in flight any more when it returns, instances included. Required.
     * TA_ERROR_STATE: not open. TA_ERROR_TIMEOUT: a device did not let go; it may still touch memory. */
    ta_status (*close)(const ta_port *port);

    /* Give an instance its program, in the way that `soc->instances[instance].load_process` says. The core does
     * not call it where ta_takes_program says no, and then it may be NULL. `image` is NULL where there is
     * nothing to transfer (it comes with the system); the core has checked its CRC. The image stays the caller's
     * and is not needed after return. Loading a loaded instance replaces the program; a started one answers
     * TA_ERROR_STATE.
     * TA_ERROR_IMAGE: not what the load process takes, for another machine, or too large. */
    ta_status (*load)(const ta_port *port, uint32_t instance, const uint8_t *image, uint32_t bytes);

    /* Let a loaded instance run, or one whose load process has nothing to load. Starting a started one is TA_OK
     * and does nothing.
     * TA_ERROR_STATE: not loaded. TA_ERROR_DEVICE, TA_ERROR_TIMEOUT: it did not come up; it is loaded, not
     * started. */
    ta_status (*start)(const ta_port *port, uint32_t instance);

    /* Halt an instance, dropping what it has in flight; its program is forgotten. Stopping a stopped one
     * is TA_OK. When it returns TA_OK the instance touches no memory any more.
     * TA_ERROR_TIMEOUT: it did not halt. */
    ta_status (*stop)(const ta_port *port, uint32_t instance);

    /* Copy by the CPU, over when it returns. Both places are in memories the host sees. `source` and
     * `target` may overlap where rows == 1. Cache duties are the core's. */
    ta_status (*copy)(const ta_port *port, const ta_copy *copy);

    /* Queue a copy on a DMA channel. `copy` stays the caller's and unchanged until complete. Does not block.
     * TA_ERROR_BUSY: the queue is full, nothing was queued; try again when the channel made progress.
     * TA_ERROR_ARGUMENT: the channel does not reach a memory, or cannot do this shape or alignment. */
    ta_status (*copy_async)(const ta_port *port, uint32_t channel, const ta_copy *copy);

    /* Run the C function of a kernel on an instance that has no driver. On the host it is over when this returns. On any
     * other it is queued and this does not block; `dispatch` stays the caller's and unchanged until
     * complete. The port resolves the operands to pointers as that instance sees them, and sees to the
     * cache where the instance and the host share a cached memory.
     * TA_ERROR_STATE: not started. TA_ERROR_BUSY: as in copy_async. TA_ERROR_ARGUMENT: an operand is in
     * a memory the instance does not observe. */
    ta_status (*dispatch)(const ta_port *port, const ta_dispatch *dispatch);

    /* The address at which `instance` sees a place. Does not block.
     * TA_ERROR_ARGUMENT: the instance does not observe that memory. */
    ta_status (*address)(const ta_port *port, uint32_t instance, ta_ref where, ta_address *address);

    /* Read a timeline's counter. Does not block. */
    ta_status (*read_timeline)(const ta_port *port, uint32_t timeline, uint32_t *value);

    /* Return when the timeline reached `value`, or after about `timeout_us`; 0 asks without blocking. For
     * an instance with a driver, the counter moves when the device is done: on its interrupt, or, on a
     * system without one, because this operation calls driver->poll until it stops answering
     * TA_ERROR_BUSY. The outcome of the command is what driver->poll says; the core asks it.
     * TA_ERROR_TIMEOUT: not reached. TA_ERROR_DMA, TA_ERROR_DEVICE: work up to it failed (said once). */
    ta_status (*wait)(const ta_port *port, uint32_t timeline, uint32_t value, uint32_t timeout_us);

    /* Drop what is queued and running on a timeline; the counter then stands as if all had completed, with
     * no failure. When it returns TA_OK, nothing of the timeline touches memory any more.
     * TA_ERROR_TIMEOUT: it could not be halted. */
    ta_status (*cancel)(const ta_port *port, uint32_t timeline);

    /* Registers of an instance with a driver; `offset` in bytes, a multiple of 4. Does not block.
     * TA_ERROR_STATE: the instance is not started. TA_ERROR_ARGUMENT: no such register.
     * TA_ERROR_BUSY: a simulated device refuses to be written while it runs. */
    ta_status (*mmio_read32)(const ta_port *port, uint32_t instance, uint32_t offset, uint32_t *value);
    ta_status (*mmio_write32)(const ta_port *port, uint32_t instance, uint32_t offset, uint32_t value);

    /* Write back, or drop, the host's cached lines that hold these bytes, rounded out to whole lines. Does
     * not block. A system whose memories are coherent supplies operations that do nothing. */
    ta_status (*cache_clean)(const ta_port *port, const void *start, uint32_t bytes);
    ta_status (*cache_invalidate)(const ta_port *port, void *start, uint32_t bytes);

    /* Microseconds of a clock that never goes back, from any start. Does not block. */
    ta_status (*now_us)(const ta_port *port, uint64_t *now);

    /* CRC-32C by hardware, of bytes that the host sees, behind others whose CRC is `*crc` (0 where there are none),
     * which it replaces. The port need not be open. Does not block.
     * TA_ERROR_UNSUPPORTED: this one has no such hardware; `*crc` is unchanged, and software computes it. */
    ta_status (*crc32c)(const ta_port *port, const void *start, uint32_t bytes, uint32_t *crc);

    /* As `count` times `dispatch`, for one instance that is not the host: the calls are one behind the other. All of them
     * are queued or none. Does not block. NULL: each is dispatched by itself.
     * TA_ERROR_BUSY: there is no room for all of them; the core dispatches them one by one. Others: of one of them. */
    ta_status (*dispatch_all)(const ta_port *port, const ta_dispatch *calls, uint32_t count);

    /* Has the timeline reached `value`, and did nothing fail up to it that `wait` has not said? Does not block. NULL: the
     * core waits for each piece.
     * TA_ERROR_BUSY: no, or it cannot be said at once; `wait` says what is. */
    ta_status (*succeeded)(const ta_port *port, uint32_t timeline, uint32_t value);
};

/* How a system without an operating system lets its other cores execute functions of this program: what a port
 * writes for workers/workers.h, which does the rest of `start`, `dispatch`, `wait` and so on for it. `instance` counts
 * as in the tables. The functions but `serve` are called by the host's core, `pause` and `barrier` by every core. */
typedef struct ta_core_control {
    /* Let a core that is in reset, or whose `serve` returned, execute serve(instance) on this stack, which grows down
     * from stack + bytes; both are multiples of 16. Does not wait for it.
     * TA_ERROR_ARGUMENT: no such core, or no stack. */
    ta_status (*start)(uint32_t instance, void (*serve)(uint32_t instance), uint8_t *stack, uint32_t bytes);

    /* End the `pause` of every core, also of one that is about to begin it: on Arm a barrier and SEV, else an
     * interrupt between processors. Does not block. */
    void (*signal)(void);

    /* Sleep until a signal. May return at any time. */
    void (*pause)(void);

    /* What this core wrote before is seen by other cores before what it writes afterwards, and it sees what they
     * wrote. Where cores have caches that are not coherent, it writes back and drops what the bundle's arenas have in
     * this core's. */
    void (*barrier)(void);

    /* As in ta_port. Required: nothing is waited for without end. */
    ta_status (*now_us)(const ta_port *port, uint64_t *now);
} ta_core_control;

/* The table of a port is called ta_port_<name>. The header of a bundle declares that of the port it carries. */

#ifdef __cplusplus
}
#endif

#endif
