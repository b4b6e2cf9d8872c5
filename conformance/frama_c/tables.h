/* The words of the headers as ACSL predicates, for the contracts in the sources: what is readable, which is the
 * caller's duty, and what ta_validate has checked, which everything behind it may rely on.
 *
 * Included before each source when Frama-C reads it; compilers do not see it.
 */
#include "target_arch/runtime.h"

/* What the runtime writes is no part of a table. */
#define APART_FROM_DISPATCH(written, d) \
    (\separated(written, d) && ((d)->kernel != \null ==> \separated(written, (d)->kernel)) && \
     ((d)->refs != \null ==> \separated(written, (d)->refs + (0 .. (d)->ref_count - 1))) && \
     ((d)->words != \null ==> \separated(written, (d)->words + (0 .. (d)->word_count - 1))) && \
     ((d)->kernel != \null ==> (d)->kernel->operands != \null ==> \
      \separated(written, (d)->kernel->operands + (0 .. (d)->kernel->operand_count - 1))))
#define APART_FROM_BUNDLE(written, b) \
    (\separated(written, b) && \
     ((b)->arenas != \null ==> \separated(written, (b)->arenas + (0 .. (b)->arena_count - 1)) && \
      \forall integer k; 0 <= k < (b)->arena_count ==> \
        (b)->arenas[k].lent != \null ==> \separated(written, (b)->arenas[k].lent)) && \
     ((b)->loads != \null ==> \separated(written, (b)->loads + (0 .. (b)->load_count - 1))) && \
     ((b)->copies != \null ==> \separated(written, (b)->copies + (0 .. (b)->copy_count - 1))) && \
     ((b)->dispatches != \null ==> \forall integer k; 0 <= k < (b)->dispatch_count ==> \
        APART_FROM_DISPATCH(written, (b)->dispatches + k)) && \
     ((b)->steps != \null ==> \separated(written, (b)->steps + (0 .. (b)->step_count - 1))) && \
     ((b)->inputs != \null ==> \separated(written, (b)->inputs + (0 .. (b)->input_count - 1))) && \
     ((b)->outputs != \null ==> \separated(written, (b)->outputs + (0 .. (b)->output_count - 1))))
#define APART_FROM_SOC(written, s) \
    (\separated(written, s) && \
     ((s)->memories != \null ==> \separated(written, (s)->memories + (0 .. (s)->memory_count - 1))) && \
     ((s)->channels != \null ==> \separated(written, (s)->channels + (0 .. (s)->channel_count - 1))) && \
     ((s)->instances != \null ==> \separated(written, (s)->instances + (0 .. (s)->instance_count - 1)) && \
      \forall integer k; 0 <= k < (s)->instance_count ==> (s)->instances[k].observed != \null ==> \
        \separated(written, (s)->instances[k].observed + (0 .. (s)->instances[k].observed_count - 1))))
#define APART(written, b, s, p) \
    (APART_FROM_BUNDLE(written, b) && APART_FROM_SOC(written, s) && \separated(written, p))
/* Counting changes no table that was checked before. */
#define KEEPS_TABLES(c) \
    ensures readable(c) && valid_soc((c)->soc) && there((c)->bundle) && counts_apart(c); \
    ensures valid_arenas((c)->bundle, (c)->soc, (c)->bundle->arena_count); \
    ensures \forall integer k; valid_steps{Pre}((c)->bundle, (c)->soc, (c)->port, k) ==> \
      valid_steps((c)->bundle, (c)->soc, (c)->port, k);

/*@
  // Tables of so many elements, or none: what the emitter writes, and C cannot check.

  predicate readable_soc(ta_soc *s) = \valid_read(s) &&
    (s->memories != \null ==> \valid_read(s->memories + (0 .. s->memory_count - 1))) &&
    (s->channels != \null ==> \valid_read(s->channels + (0 .. s->channel_count - 1))) &&
    (s->instances != \null ==> \valid_read(s->instances + (0 .. s->instance_count - 1))) &&
    (s->instances != \null ==> \forall integer i; 0 <= i < s->instance_count ==>
      s->instances[i].observed != \null ==>
      \valid_read(s->instances[i].observed + (0 .. s->instances[i].observed_count - 1)));

  predicate readable_dispatch(ta_dispatch *d) = \valid_read(d) &&
    (d->kernel != \null ==> \valid_read(d->kernel)) &&
    (d->refs != \null ==> \valid_read(d->refs + (0 .. d->ref_count - 1))) &&
    (d->words != \null ==> \valid_read(d->words + (0 .. d->word_count - 1))) &&
    (d->kernel != \null ==> d->kernel->operands != \null ==>
      \valid_read(d->kernel->operands + (0 .. d->kernel->operand_count - 1)));

  predicate readable_arenas(ta_bundle *b) = b->arenas != \null ==>
    (\valid_read(b->arenas + (0 .. b->arena_count - 1)) &&
     \forall integer i; 0 <= i < b->arena_count ==> b->arenas[i].lent != \null ==> \valid_read(b->arenas[i].lent));

  predicate readable_bundle(ta_bundle *b) = \valid_read(b) && readable_arenas(b) &&
    (b->loads != \null ==> \valid_read(b->loads + (0 .. b->load_count - 1))) &&
    (b->copies != \null ==> \valid_read(b->copies + (0 .. b->copy_count - 1))) &&
    (b->dispatches != \null ==> \forall integer i; 0 <= i < b->dispatch_count ==> readable_dispatch(b->dispatches + i)) &&
    (b->steps != \null ==> \valid_read(b->steps + (0 .. b->step_count - 1))) &&
    (b->inputs != \null ==> \valid_read(b->inputs + (0 .. b->input_count - 1))) &&
    (b->outputs != \null ==> \valid_read(b->outputs + (0 .. b->output_count - 1)));

  // A SoC that the runtime can serve: timelines are numbered channels first, then instances.
  predicate valid_soc(ta_soc *s) = readable_soc(s) &&
    s->timeline_count <= TA_MAX_TIMELINES && s->channel_count + s->instance_count == s->timeline_count &&
    s->memories != \null && s->instances != \null && (s->channel_count != 0 ==> s->channels != \null) &&
    (\forall integer i; 0 <= i < s->instance_count ==> s->instances[i].timeline == s->channel_count + i);

  // Each table that has elements is there.
  predicate there(ta_bundle *b) = readable_bundle(b) &&
    (b->arena_count != 0 ==> b->arenas != \null) && (b->load_count != 0 ==> b->loads != \null) &&
    (b->copy_count != 0 ==> b->copies != \null) && (b->dispatch_count != 0 ==> b->dispatches != \null) &&
    (b->input_count != 0 ==> b->inputs != \null) && (b->output_count != 0 ==> b->outputs != \null) &&
    (b->step_count != 0 ==> b->steps != \null);

  predicate valid_arenas(ta_bundle *b, ta_soc *s, integer count) =
    \forall integer i; 0 <= i < count ==> b->arenas[i].memory < s->memory_count &&
      b->arenas[i].device_offset + b->arenas[i].bytes <= s->memories[b->arenas[i].memory].bytes;

  // `rows` runs of `row_bytes`, `stride` apart, are inside the arena.
  predicate in_arena(ta_bundle *b, integer arena, integer offset, integer row_bytes, integer rows, integer stride) =
    0 <= arena < b->arena_count && 0 < rows && 0 < row_bytes &&
    offset + (rows - 1) * stride + row_bytes <= b->arenas[arena].bytes;

  predicate valid_tensors(ta_bundle *b, ta_tensor *tensors, integer count) =
    \forall integer i; 0 <= i < count ==>
      in_arena(b, tensors[i].where.arena, tensors[i].where.offset, tensors[i].bytes, 1, 0);

  predicate valid_load(ta_bundle *b, ta_soc *s, ta_port *p, ta_step *step) =
    step->index < b->load_count && step->event.timeline == TA_TIMELINE_NONE &&
    b->loads[step->index].instance < s->instance_count &&
    (s->instances[b->loads[step->index].instance].is_host == 0 ==> p->start != \null && p->stop != \null);

  predicate valid_copy(ta_bundle *b, ta_soc *s, ta_port *p, ta_step *step) =
    step->index < b->copy_count &&
    (step->event.timeline == TA_TIMELINE_NONE ? p->copy != \null
                                             : step->event.timeline < s->channel_count && p->copy_async != \null) &&
    in_arena(b, b->copies[step->index].source.arena, b->copies[step->index].source.offset,
             b->copies[step->index].row_bytes, b->copies[step->index].rows, b->copies[step->index].source_stride) &&
    in_arena(b, b->copies[step->index].target.arena, b->copies[step->index].target.offset,
             b->copies[step->index].row_bytes, b->copies[step->index].rows, b->copies[step->index].target_stride);

  // Every operand is in its arena, as large as the kernel needs it; there are as many as it takes.
  predicate valid_operands(ta_bundle *b, ta_dispatch *d) =
    d->kernel != \null && d->ref_count == d->kernel->operand_count && d->ref_count <= TA_MAX_OPERANDS &&
    (d->ref_count != 0 ==> d->refs != \null && d->kernel->operands != \null) &&
    d->word_count == d->kernel->word_count && (d->word_count != 0 ==> d->words != \null) &&
    \forall integer i; 0 <= i < d->ref_count ==>
      in_arena(b, d->refs[i].arena, d->refs[i].offset, d->kernel->operands[i].bytes, 1, 0);

  predicate valid_dispatch(ta_bundle *b, ta_soc *s, ta_port *p, ta_step *step) =
    step->index < b->dispatch_count && b->dispatches[step->index].instance < s->instance_count &&
    valid_operands(b, b->dispatches + step->index) &&
    (s->instances[b->dispatches[step->index].instance].driver != \null
       ? p->address != \null : p->dispatch != \null && b->dispatches[step->index].kernel->function != \null) &&
    step->event.timeline == (s->instances[b->dispatches[step->index].instance].is_host != 0
      ? TA_TIMELINE_NONE : s->instances[b->dispatches[step->index].instance].timeline);

  predicate valid_event(ta_soc *s, ta_step *step) =
    step->event.timeline < s->timeline_count ||
    (step->event.timeline == TA_TIMELINE_NONE && step->kind != TA_STEP_WAIT);

  predicate valid_step(ta_bundle *b, ta_soc *s, ta_port *p, integer i) =
    \let step = b->steps + i;
    valid_event(s, step) &&
    (step->kind == TA_STEP_LOAD ==> valid_load(b, s, p, step)) &&
    (step->kind == TA_STEP_COPY ==> valid_copy(b, s, p, step)) &&
    (step->kind == TA_STEP_FILL ==> valid_copy(b, s, p, step)) &&
    (step->kind == TA_STEP_DISPATCH ==> valid_dispatch(b, s, p, step)) &&
    0 <= step->kind <= TA_STEP_FILL &&
    (step->kind == TA_STEP_LOAD && i > 0 ==> b->steps[i - 1].kind == TA_STEP_LOAD);

  predicate valid_steps(ta_bundle *b, ta_soc *s, ta_port *p, integer count) =
    \forall integer i; 0 <= i < count ==> valid_step(b, s, p, i);

  // A step that completes a value of the timeline.
  predicate is_on(ta_step *step, integer timeline) =
    step->event.timeline == timeline && 0 <= step->kind < TA_STEP_WAIT;

  // What ta_validate promises.
  predicate valid_tables(ta_bundle *b, ta_soc *s, ta_port *p) =
    p->open != \null && p->close != \null && valid_soc(s) && there(b) && valid_arenas(b, s, b->arena_count) &&
    valid_tensors(b, b->inputs, b->input_count) && valid_tensors(b, b->outputs, b->output_count) &&
    valid_steps(b, s, p, b->step_count);
*/

/*@ assigns \nothing; */
static inline int ta_takes_program(uint32_t load_process);
