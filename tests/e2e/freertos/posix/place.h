/* A computer: threads of the runtime's port never take the signals with which FreeRTOS changes tasks. */
#ifndef PLACE_H
#define PLACE_H

#include <signal.h>
#include <stdlib.h>

#define PORT &ta_port_host

static sigset_t place_signals;

static void place_begin(void)
{
    sigset_t every;
    (void)sigfillset(&every);
    (void)pthread_sigmask(SIG_SETMASK, &every, &place_signals);
}

static void place_kernel(void)
{
    (void)pthread_sigmask(SIG_SETMASK, &place_signals, NULL);
}

static void place_exit(int code)
{
    _Exit(code);
}

#endif
