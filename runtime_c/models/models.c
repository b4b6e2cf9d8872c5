/* Which program an instance holds, and how it gets another one. All else is the core's. */
#include "models/models.h"

#include "core/internal.h"

static int is_load(const ta_bundle *bundle, uint32_t step)
{
    return step < bundle->step_count && bundle->steps[step].kind == (uint32_t)TA_STEP_LOAD;
}

static const ta_load *load_of(const ta_bundle *bundle, uint32_t step)
{
    return &bundle->loads[bundle->steps[step].index];
}

static int on_host(const ta_models *models, const ta_load *load)
{
    return models->runtime.soc->instances[load->instance].is_host != 0u;
}

/* Are these the same program, whichever model has it? */
static int same_program(const ta_load *one, const ta_load *other)
{
    if (one->image_bytes != other->image_bytes || one->image_crc32 != other->image_crc32)
        return 0;
    if (one->image == other->image)
        return 1;
    for (uint32_t i = 0; i < one->image_bytes; i++)
        if (one->image[i] != other->image[i])
            return 0;
    return 1;
}

/* The instance counts from wherever its new program left its timeline. */
static ta_status read_timeline(ta_runtime *rt, uint32_t instance)
{
    const uint32_t timeline = rt->soc->instances[instance].timeline;
    const ta_progress fresh = {0, 0, 0, 0};
    rt->progress[timeline] = fresh;
    if (rt->port->read_timeline == NULL)
        return TA_OK;
    return rt->port->read_timeline(rt->port, timeline, &rt->progress[timeline].base);
}

/* Give an instance a program, instead of the one it has, if any. */
static ta_status bring_up(ta_models *models, const ta_load *load)
{
    ta_runtime *rt = &models->runtime;
    const ta_load *const held = models->programs[load->instance];
    if (load->image != NULL && ta_crc32(load->image, load->image_bytes) != load->image_crc32)
        return TA_ERROR_IMAGE;
    models->programs[load->instance] = NULL;
    if (held != NULL) {
        rt->filled = NULL; /* the load may leave anything where residents are */
        rt->lost = 1u;
    }
    ta_status status = held != NULL ? rt->port->stop(rt->port, load->instance) : TA_OK;
    if (status == TA_OK && ta_takes_program(rt->soc->instances[load->instance].load_process))
        status = rt->port->load(rt->port, load->instance, load->image, load->image_bytes);
    if (status == TA_OK)
        status = rt->port->start(rt->port, load->instance);
    if (status == TA_OK)
        status = read_timeline(rt, load->instance);
    if (status == TA_OK)
        models->programs[load->instance] = load;
    else
        (void)rt->port->stop(rt->port, load->instance); /* the first failure is the one to tell */
    return status;
}

/* Bring up what the current model needs: where an instance has nothing, or with `replace` another program. Then its
 * residents are filled, the first time, and where a new program, of this model or of another one since, may have left
 * other bytes in their memories. */
static ta_status bring_all_up(ta_models *models, int replace)
{
    ta_runtime *rt = &models->runtime;
    int fill = (replace == 0 || (rt->lost != 0u && rt->filled != rt->bundle)) ? 1 : 0;
    for (uint32_t i = 0; is_load(rt->bundle, i); i++) {
        const ta_load *load = load_of(rt->bundle, i);
        const ta_load *held = models->programs[load->instance];
        if (on_host(models, load) || (held != NULL && (!replace || same_program(held, load))))
            continue;
        const ta_status status = bring_up(models, load);
        if (status != TA_OK) {
            rt->failed_step = i;
            return status;
        }
        fill = 1;
    }
    return fill ? ta_fill_claimed(rt) : TA_OK;
}

/* Are the tables of every model in order, and their arenas the same? The first is ta_init's to check. */
static ta_status validate(ta_models *models, const ta_soc *soc, const ta_port *port)
{
    const ta_bundle *first = models->bundles[0];
    for (uint32_t i = 1; i < models->count; i++) {
        const ta_bundle *bundle = models->bundles[i];
        if (bundle == NULL || first == NULL)
            return TA_ERROR_ARGUMENT;
        if (bundle->abi_version != first->abi_version || bundle->abi_hash != first->abi_hash)
            return TA_ERROR_ABI_MISMATCH;
        if (bundle->arenas != first->arenas || bundle->arena_count != first->arena_count)
            return TA_ERROR_ARGUMENT;
        const ta_status status = ta_validate(bundle, soc, port, &models->runtime.failed_step);
        if (status != TA_OK) {
            models->runtime.bundle = bundle;
            return status;
        }
    }
    return TA_OK;
}

/* Note what ta_init brought up for the first model, then bring up what only others need. */
static ta_status bring_others_up(ta_models *models)
{
    const ta_bundle *first = models->bundles[0];
    for (uint32_t i = 0; is_load(first, i); i++)
        if (!on_host(models, load_of(first, i)))
            models->programs[load_of(first, i)->instance] = load_of(first, i);
    for (uint32_t i = 1; i < models->count; i++) {
        models->runtime.bundle = models->bundles[i];
        const ta_status status = bring_all_up(models, 0);
        if (status != TA_OK)
            return status;
    }
    models->runtime.bundle = first;
    return ta_fill_claimed(&models->runtime);
}

ta_status ta_models_init(ta_models *models, const ta_bundle *const *bundles, uint32_t count, const ta_soc *soc,
                         const ta_port *port)
{
    if (models == NULL || bundles == NULL || count == 0u || soc == NULL || port == NULL)
        return TA_ERROR_ARGUMENT;
    if (models->runtime.state != TA_STATE_STOPPED)
        return TA_ERROR_STATE;
    models->bundles = bundles;
    models->count = count;
    for (uint32_t i = 0; i < TA_MAX_TIMELINES; i++)
        models->programs[i] = NULL;
    models->runtime.failed_step = TA_NO_STEP;
    models->runtime.bundle = NULL;
    ta_status status = validate(models, soc, port);
    if (status == TA_OK)
        status = ta_init(&models->runtime, bundles[0], soc, port);
    if (status != TA_OK)
        return status;
    (void)ta_claim(&models->runtime); /* it is ready for the first model alone */
    status = bring_others_up(models);
    ta_release(&models->runtime);
    if (status != TA_OK)
        (void)ta_models_stop(models);
    return status;
}

ta_status ta_models_run(ta_models *models, uint32_t model)
{
    if (models == NULL || model >= models->count)
        return TA_ERROR_ARGUMENT;
    ta_runtime *rt = &models->runtime;
    if (!ta_claim(rt))
        return TA_ERROR_STATE;
    rt->bundle = models->bundles[model];
    rt->failed_step = TA_NO_STEP;
    ta_status status = bring_all_up(models, 1);
    if (status == TA_OK)
        status = ta_run_claimed(rt);
    ta_release(rt);
    return status;
}

ta_status ta_models_stop(ta_models *models)
{
    if (models == NULL)
        return TA_ERROR_ARGUMENT;
    ta_runtime *rt = &models->runtime;
    if (rt->state == TA_STATE_STOPPED)
        return TA_OK;
    if (rt->state == TA_STATE_RUNNING)
        return TA_ERROR_STATE;
    for (uint32_t i = 0; is_load(rt->bundle, i); i++) /* these are ta_stop's */
        models->programs[load_of(rt->bundle, i)->instance] = NULL;
    ta_status status = TA_OK;
    for (uint32_t left = rt->soc->instance_count; left > 0u; left--) {
        const uint32_t instance = left - 1u;
        if (models->programs[instance] == NULL)
            continue;
        models->programs[instance] = NULL;
        const ta_status stopped = rt->port->stop(rt->port, instance);
        status = status != TA_OK ? status : stopped;
    }
    const ta_status closed = ta_stop(rt);
    return status != TA_OK ? status : closed;
}
