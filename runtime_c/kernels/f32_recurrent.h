/* Recurrent layers of float32: LSTM, GRU and RNN as ONNX defines them, with sigmoid and tanh.
 *
 * What enters in a step and the state are one row, which is multiplied with the weights of both: the layout is that of a
 * dense layer of `f32_conv2d.h`, or of several behind one another, for each direction. Of an LSTM (gates: input, output,
 * forget, cell) and of an RNN it is one layer of all gates; of a GRU one of its first two gates (update, reset), and then
 * for the hidden one of `inputs + hidden` values, or with `linear` one of what enters and one of the state. Biases of the
 * inputs and of the states are added up where they meet in a sum.
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

/* The memory of a sequence: `inputs + hidden` values, `hidden` of the state among them, sums of four gates, and `hidden`
 * more: the memory of an LSTM. */
typedef struct {
    float *row, *sums, *held;
} ta_f32_sequence;

/* Weights and biases, from the next layer on. */
typedef struct {
    const float *w, *bias;
} ta_f32_gates;

/* `outputs` sums of `depth` values each; `gates` goes on to the next layer. */
static inline void ta_f32_gate(ta_f32_gates *gates, const float *x, int32_t depth, int32_t outputs, float *sums)
{
    const ta_f32_conv2d conv = {1, 1, 1, depth, 1,       1,     outputs, 1,         1,       1, 1,
                                1, 1, 0, 0,     outputs, depth, 1,       -INFINITY, INFINITY};
    const ta_f32_end end = {0, -INFINITY, INFINITY};
    const int32_t whole = (outputs + TA_F32_BLOCK - 1) / TA_F32_BLOCK * TA_F32_BLOCK;
    ta_f32_convolve(&conv, &end, x, gates->w, gates->bias, sums);
    gates->w += (int64_t)whole * depth;
    gates->bias += whole;
}

static inline void ta_f32_lstm_step(const ta_f32_recurrent *layer, ta_f32_gates *gates, const ta_f32_sequence *of)
{
    const int32_t hidden = layer->hidden;
    float *const in = of->sums, *const out = in + hidden, *const forget = out + hidden, *const cell = forget + hidden;
    float *const state = of->row + layer->inputs;
    ta_f32_gate(gates, of->row, layer->inputs + hidden, 4 * hidden, of->sums);
    ta_f32_map(TA_F32_SIGMOID, of->sums, 3 * hidden, of->sums);
    ta_f32_map(TA_F32_TANH, cell, hidden, cell);
    for (int32_t j = 0; j < hidden; ++j) {
        of->held[j] = forget[j] * of->held[j] + in[j] * cell[j];
    }
    ta_f32_map(TA_F32_TANH, of->held, hidden, cell);
    for (int32_t j = 0; j < hidden; ++j) {
        state[j] = out[j] * cell[j];
    }
}

static inline void ta_f32_gru_step(const ta_f32_recurrent *layer, ta_f32_gates *gates, const ta_f32_sequence *of)
{
    const int32_t hidden = layer->hidden, inputs = layer->inputs;
    float *const update = of->sums, *const reset = update + hidden, *const next = reset + hidden;
    float *const state = of->row + inputs, *const part = next + hidden;
    ta_f32_gate(gates, of->row, inputs + hidden, 2 * hidden, of->sums);
    ta_f32_map(TA_F32_SIGMOID, of->sums, 2 * hidden, of->sums);
    (void)memcpy(of->held, state, (size_t)hidden * sizeof *state);
    if (layer->linear) {
        ta_f32_gate(gates, of->row, inputs, hidden, next);
        ta_f32_gate(gates, state, hidden, hidden, part);
        for (int32_t j = 0; j < hidden; ++j) {
            next[j] += reset[j] * part[j];
        }
    } else {
        for (int32_t j = 0; j < hidden; ++j) {
            state[j] *= reset[j];
        }
        ta_f32_gate(gates, of->row, inputs + hidden, hidden, next);
    }
    ta_f32_map(TA_F32_TANH, next, hidden, next);
    for (int32_t j = 0; j < hidden; ++j) {
        state[j] = (1.0f - update[j]) * next[j] + update[j] * of->held[j];
    }
}

static inline void ta_f32_rnn_step(const ta_f32_recurrent *layer, ta_f32_gates *gates, const ta_f32_sequence *of)
{
    float *const state = of->row + layer->inputs;
    ta_f32_gate(gates, of->row, layer->inputs + layer->hidden, layer->hidden, of->sums);
    ta_f32_map(TA_F32_TANH, of->sums, layer->hidden, state);
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
    if (given == 0) {
        (void)memset(out, 0, (size_t)hidden * sizeof *out);
    } else {
        (void)memcpy(out, given + sequence * hidden, (size_t)hidden * sizeof *out);
    }
}

/* The whole layer, from what enters, x[steps][batch][inputs], and the first states and memories [directions][batch]
 * [hidden], or NULL: states of all steps, out[steps][directions][batch][hidden], then the last ones, and of an LSTM the
 * last memories. `own` is the memory of a sequence. */
static inline void ta_f32_recur(const ta_f32_recurrent *layer, const float *x, const float *states,
                                const float *memories, const ta_f32_gates *gates, float *out, float *own)
{
    const int32_t hidden = layer->hidden, inputs = layer->inputs, steps = layer->steps, batch = layer->batch;
    const int64_t apart = (int64_t)layer->directions * batch * hidden;
    const size_t size = (size_t)hidden * sizeof *out;
    const ta_f32_sequence of = {own, own + inputs + hidden, own + inputs + 5 * hidden};
    ta_f32_gates here = *gates, next = here;
    for (int32_t sequence = 0; sequence < layer->directions * batch; ++sequence, out += hidden) {
        const int32_t direction = sequence / batch, b = sequence % batch;
        here = b == 0 ? next : here;
        ta_f32_begun(states, sequence, hidden, of.row + inputs);
        ta_f32_begun(memories, sequence, hidden, of.held);
        for (int32_t step = 0; step < steps; ++step) {
            const int32_t time = layer->backwards || direction == 1 ? steps - 1 - step : step;
            (void)memcpy(of.row, x + ((int64_t)time * batch + b) * inputs, (size_t)inputs * sizeof *x);
            next = ta_f32_recurrent_step(layer, here, &of);
            (void)memcpy(out + time * apart, of.row + inputs, size);
        }
        (void)memcpy(out + steps * apart, of.row + inputs, size);
        if (layer->cell == TA_F32_LSTM) {
            (void)memcpy(out + (steps + 1) * apart, of.held, size);
        }
    }
}

#endif
