/* Recurrent layers of float32: LSTM, GRU and RNN as ONNX defines them, with sigmoid and tanh.
 *
 * The layout is that of dense layers of `f32_conv2d.h` behind one another, for each direction. Of an LSTM (gates: input,
 * output, forget, cell) and of an RNN they are one for what enters and one for the state, which goes on with the sums of
 * the first; of a GRU two such for its first two gates (update, reset), and two for the hidden one. Biases of both are
 * added up, but of the hidden gate with `linear`, where the sums of the state are apart.
 *
 * States stay in the output: that of a step is read in the next one, the first in the place of the last.
 */
#ifndef TA_KERNELS_F32_RECURRENT_H
#define TA_KERNELS_F32_RECURRENT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/f32_conv2d.h"
#include "kernels/f32_functions.h"

typedef enum { TA_F32_LSTM, TA_F32_GRU, TA_F32_RNN } ta_f32_cell;

typedef struct {
    ta_f32_cell cell;
    int32_t linear; /* of a GRU: 1 where the reset gate is applied to sums, 0 where to states */
    int32_t steps, batch, directions, inputs, hidden;
    int32_t backwards; /* 1 where the only direction begins with the last step */
} ta_f32_recurrent;

/* So many outputs in whole blocks. */
static inline int32_t ta_f32_whole(int32_t outputs)
{
    return (outputs + TA_F32_BLOCK - 1) / TA_F32_BLOCK * TA_F32_BLOCK;
}

/* A step of a sequence: what enters, the state before and after it, sums of gates, and the memory of an LSTM. */
typedef struct {
    const float *x, *before;
    float *state, *sums, *held;
} ta_f32_sequence;

/* Weights and biases, from the next layer on. */
typedef struct {
    const float *w, *bias;
} ta_f32_gates;

/* `outputs` sums of `depth` values each, from `start` on, of which whole blocks are read; `gates` goes on to the next
 * layer. */
static inline void ta_f32_gate(ta_f32_gates *gates, const float *start, const float *x, int32_t depth, int32_t outputs,
                               float *sums)
{
    const ta_f32_conv2d conv = {1, 1, 1, depth, 1,       1,     outputs, 1,         1,       1, 1,
                                1, 1, 0, 0,     outputs, depth, 1,       -INFINITY, INFINITY};
    const ta_f32_end end = {0, -INFINITY, INFINITY};
    ta_f32_convolve(&conv, &end, x, gates->w, start, sums);
    gates->w += (int64_t)ta_f32_whole(outputs) * depth;
}

/* The same, from the biases on. */
static inline void ta_f32_biased(ta_f32_gates *gates, const float *x, int32_t depth, int32_t outputs, float *sums)
{
    ta_f32_gate(gates, gates->bias, x, depth, outputs, sums);
    gates->bias += ta_f32_whole(outputs);
}

static inline void ta_f32_lstm_step(const ta_f32_recurrent *layer, ta_f32_gates *gates, const ta_f32_sequence *of)
{
    const int32_t hidden = layer->hidden;
    float *const in = of->sums, *const out = in + hidden, *const forget = out + hidden, *const cell = forget + hidden;
    ta_f32_biased(gates, of->x, layer->inputs, 4 * hidden, of->sums);
    ta_f32_gate(gates, of->sums, of->before, hidden, 4 * hidden, of->sums);
    ta_f32_map(TA_F32_SIGMOID, of->sums, 3 * hidden, of->sums);
    ta_f32_map(TA_F32_TANH, cell, hidden, cell);
    for (int32_t j = 0; j < hidden; ++j) {
        of->held[j] = forget[j] * of->held[j] + in[j] * cell[j];
    }
    ta_f32_map(TA_F32_TANH, of->held, hidden, cell);
    for (int32_t j = 0; j < hidden; ++j) {
        of->state[j] = out[j] * cell[j];
    }
}

static inline void ta_f32_gru_step(const ta_f32_recurrent *layer, ta_f32_gates *gates, const ta_f32_sequence *of)
{
    const int32_t hidden = layer->hidden, inputs = layer->inputs;
    float *const update = of->sums, *const reset = update + hidden, *const next = reset + hidden;
    ta_f32_biased(gates, of->x, inputs, 2 * hidden, of->sums);
    ta_f32_gate(gates, of->sums, of->before, hidden, 2 * hidden, of->sums);
    ta_f32_map(TA_F32_SIGMOID, of->sums, 2 * hidden, of->sums);
    ta_f32_biased(gates, of->x, inputs, hidden, next);
    if (layer->linear) {
        ta_f32_biased(gates, of->before, hidden, hidden, of->state);
        for (int32_t j = 0; j < hidden; ++j) {
            next[j] += reset[j] * of->state[j];
        }
    } else {
        for (int32_t j = 0; j < hidden; ++j) {
            of->state[j] = reset[j] * of->before[j];
        }
        ta_f32_gate(gates, next, of->state, hidden, hidden, next);
    }
    ta_f32_map(TA_F32_TANH, next, hidden, next);
    for (int32_t j = 0; j < hidden; ++j) {
        of->state[j] = (1.0f - update[j]) * next[j] + update[j] * of->before[j];
    }
}

static inline void ta_f32_rnn_step(const ta_f32_recurrent *layer, ta_f32_gates *gates, const ta_f32_sequence *of)
{
    ta_f32_biased(gates, of->x, layer->inputs, layer->hidden, of->sums);
    ta_f32_gate(gates, of->sums, of->before, layer->hidden, layer->hidden, of->sums);
    ta_f32_map(TA_F32_TANH, of->sums, layer->hidden, of->state);
}

/* One step of a sequence. Returns what is behind the weights of its direction. */
static inline ta_f32_gates ta_f32_recurrent_step(const ta_f32_recurrent *layer, ta_f32_gates gates,
                                                 const ta_f32_sequence *of)
{
    if (layer->cell == TA_F32_LSTM) {
        ta_f32_lstm_step(layer, &gates, of);
    } else if (layer->cell == TA_F32_GRU) {
        ta_f32_gru_step(layer, &gates, of);
    } else {
        ta_f32_rnn_step(layer, &gates, of);
    }
    return gates;
}

/* The first state, or memory, of a sequence: zeros where none is given. */
static inline void ta_f32_begun(const float *given, int64_t sequence, int32_t hidden, float *out)
{
    if (given == NULL) {
        (void)memset(out, 0, (size_t)hidden * sizeof *out);
    } else {
        (void)memcpy(out, given + sequence * hidden, (size_t)hidden * sizeof *out);
    }
}

/* The whole layer, from what enters, x[steps][batch][inputs], and the first states and memories [directions][batch]
 * [hidden], or NULL: states of all steps, out[steps][directions][batch][hidden], then the last ones, and of an LSTM the
 * last memories. `sums` are those of a step: of an LSTM four gates in whole blocks, of a GRU two and the hidden one in
 * whole blocks, of an RNN one. */
static inline void ta_f32_recur(const ta_f32_recurrent *layer, const float *x, const float *states,
                                const float *memories, const ta_f32_gates *gates, float *out, float *sums)
{
    const int32_t hidden = layer->hidden, inputs = layer->inputs, steps = layer->steps, batch = layer->batch;
    const int64_t apart = (int64_t)layer->directions * batch * hidden;
    ta_f32_gates here = *gates, next = here;
    for (int32_t sequence = 0; sequence < layer->directions * batch; ++sequence, out += hidden) {
        const int32_t direction = sequence / batch, b = sequence % batch;
        float *const last = out + steps * apart;
        ta_f32_sequence of = {x, last, last, sums, last + apart};
        here = b == 0 ? next : here;
        ta_f32_begun(states, sequence, hidden, last);
        if (layer->cell == TA_F32_LSTM) {
            ta_f32_begun(memories, sequence, hidden, of.held);
        }
        for (int32_t step = 0; step < steps; ++step) {
            const int32_t time = layer->backwards || direction == 1 ? steps - 1 - step : step;
            of.x = x + ((int64_t)time * batch + b) * inputs;
            of.state = out + time * apart;
            next = ta_f32_recurrent_step(layer, here, &of);
            of.before = of.state;
        }
        (void)memcpy(last, of.before, (size_t)hidden * sizeof *out);
    }
}

#endif
