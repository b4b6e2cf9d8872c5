/* A Cortex-M that QEMU emulates: the port's table with a clock, and a vector table in RAM with FreeRTOS's handlers. */
#ifndef PLACE_H
#define PLACE_H

#include <stdint.h>

#include "ports/qemu_mps2/qemu_mps2.h"

#define PORT &place_port
#define TICKS_PER_US 25u
#define VECTOR_TABLE (*(volatile uint32_t *)(uintptr_t)0xe000ed08u) /* VTOR */

static ta_port place_port;

static ta_status place_now(const ta_port *port, uint64_t *now)
{
    (void)port;
    __asm__ volatile("cpsid i" ::: "memory");
    *now = ta_mps2_ticks() / TICKS_PER_US;
    __asm__ volatile("cpsie i" ::: "memory");
    return TA_OK;
}

static void place_begin(void)
{
    place_port = ta_port_qemu_mps2;
    place_port.now_us = place_now;
}

#ifdef FREERTOS_CONFIG_H
void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);

static void place_kernel(void)
{
    static uint32_t vectors[16] __attribute__((aligned(128)));
    const uint32_t *before = (const uint32_t *)(uintptr_t)VECTOR_TABLE;
    for (int i = 0; i < 16; i++)
        vectors[i] = before[i];
    vectors[11] = (uint32_t)(uintptr_t)vPortSVCHandler;
    vectors[14] = (uint32_t)(uintptr_t)xPortPendSVHandler;
    vectors[15] = (uint32_t)(uintptr_t)xPortSysTickHandler;
    VECTOR_TABLE = (uint32_t)(uintptr_t)vectors;
}
#endif

static void place_exit(int code)
{
    ta_mps2_exit(code);
}

#endif
