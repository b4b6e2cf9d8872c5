/* A kernel on an emulated board that takes longer than its step may: deadlines count the board's time. */
#include "conformance/conformance.h"
#include "deadline/deadline.h"
#include "ports/qemu_mps2/qemu_mps2.h"

enum { STEPS = 2, BUSY = 2000, PLENTY_US = 1000000, SHORT_US = 10 };

ta_runtime rt;
static workload w;

const char *failed(const char *condition)
{
    return condition;
}

static ta_status busy(void *const *pointers)
{
    volatile uint8_t *const out = pointers[2];
    for (uint32_t i = 0; i < BUSY; i++)
        out[i % ADD_BYTES] = (uint8_t)i;
    return TA_OK;
}

static ta_status idle(void *const *pointers)
{
    (void)pointers;
    return TA_OK;
}

static uint32_t watched, served;

static ta_status serve(void *context, uint32_t step)
{
    (void)context;
    watched = step;
    served++;
    return TA_OK;
}

/* A run whose steps are due at these times. The first step that was not begun, STEPS after a run in time, or a number
 * that no step has. */
static uint32_t late_step(ta_deadline *deadline, const uint32_t *due)
{
    const ta_due model = {&w.bundle, due};
    if (ta_deadline_set(deadline, &rt, &model, 1, 100) != TA_OK)
        return 100;
    const ta_status status = ta_run(&rt);
    if (status == TA_OK)
        return rt.failed_step == TA_NO_STEP ? STEPS : 101;
    return status == TA_ERROR_DEADLINE ? rt.failed_step : 102;
}

int main(void)
{
    static ta_deadline deadline;
    static const uint32_t in_time[] = {PLENTY_US, PLENTY_US, PLENTY_US}, first[] = {SHORT_US, PLENTY_US, PLENTY_US},
                          last[] = {PLENTY_US, SHORT_US, SHORT_US};
    uint64_t before = 0, after = 0;
    begin(&w);
    const uint32_t one = add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    const uint32_t two = add_call(&w, INSTANCE_HOST, sram(0), sram(64), sram(128));
    w.kernels[w.steps[one].index].function = busy;
    w.kernels[w.steps[two].index].function = idle;
    if (ta_init(&rt, &w.bundle, &conformance_soc, &ta_port_qemu_mps2) != TA_OK)
        return 1;
    deadline.next = serve;
    if (rt.port->now_us(rt.port, &before) != TA_OK || ta_run(&rt) != TA_OK || rt.port->now_us(rt.port, &after) != TA_OK)
        return 2;
    if (after <= before || rt.run_us < 4u * SHORT_US || rt.run_us > after - before || rt.run_us > PLENTY_US)
        return 3;
    if (late_step(&deadline, in_time) != STEPS || served != STEPS + 1u || watched != STEPS)
        return 4;
    if (late_step(&deadline, first) != two) /* found before the step behind it begins */
        return 5;
    if (late_step(&deadline, last) != TA_NO_STEP) /* all steps were begun */
        return 6;
    return ta_stop(&rt) == TA_OK ? 0 : 7;
}
