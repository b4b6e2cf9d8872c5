// The Verilated core as a simulator of the host port, in place of runtime_c/simulators/conv2d_engine.c.
//
// Each instance is a thread of the host port and has a model of its own, made when its first command comes
// and gone with the thread. Operands go into the core's own memory and results come back through its DMA
// port; the command goes in through its AXI4-Lite port, register by register, as the driver wrote it.
//
// With TARGET_ARCH_RTL_CYCLES=FILE in the environment every command appends a line to FILE: the name of the
// engine, the number of the core in this process, when its simulation began and ended (microseconds of a steady
// clock), the command words, then three counts of cycles: the command, the register accesses, the transfers.
//
// verilated_faults.h says what tests may do to the pins.
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "Vconv2d_engine.h"
#include "drivers/conv2d_engine.h"
#include "ports/host/simulator.h"
#include "verilated.h"
#include "verilated_faults.h"

namespace {

constexpr uint32_t kBeat = 8;
constexpr uint64_t kPatience = UINT64_C(1) << 34; // cycles; the core is stuck
constexpr uint64_t kQuiet = 4096;                 // cycles in which nothing comes of what was lost

std::atomic<uint64_t> armed{TA_RTL_SOUND}; // a fault, and above it `after`

struct Operand {
    uint32_t address;
    uint64_t bytes;
};

class Core {
  public:
    Core() : context_(new VerilatedContext), model_(new Vconv2d_engine(context_.get())) {
        model_->reset = 1;
        tick();
        tick();
        model_->reset = 0;
    }
    ~Core() { model_->final(); }

    ta_status run(uint32_t *registers, const ta_window *windows, uint32_t count);

  private:
    static uint32_t &at(uint32_t *registers, uint32_t offset) { return registers[offset / 4u]; }

    void tick() {
        model_->clk = 0;
        model_->eval();
        model_->clk = 1;
        model_->eval();
        ++clock_;
    }

    // Settles what depends on inputs alone, so that ready and valid can be looked at.
    void settle() {
        model_->clk = 0;
        model_->eval();
    }

    void write(uint32_t offset, uint32_t value);
    uint32_t read(uint32_t offset);
    void begin_transfer(const Operand &operand, bool inward);
    bool stalls(ta_rtl_fault fault, uint64_t beats);
    bool move_in(const Operand &operand, const uint8_t *bytes);
    bool move_out(const Operand &operand, uint8_t *bytes);
    bool command_ends();
    void strap(uint32_t *registers, const ta_window *windows, uint32_t count);

    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Vconv2d_engine> model_;
    uint64_t clock_ = 0;
    ta_rtl_fault fault_ = TA_RTL_SOUND; // of this command
    uint64_t after_ = 0;
    uint64_t beats_ = 0; // of its operands, so far
    const uint32_t number_ = made_++;

    static std::atomic<uint32_t> made_;
};

std::atomic<uint32_t> Core::made_{0};

int64_t now_us() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

void Core::write(uint32_t offset, uint32_t value) {
    model_->s_axi_awvalid = model_->s_axi_wvalid = 1;
    model_->s_axi_awaddr = offset;
    model_->s_axi_wdata = value;
    model_->s_axi_bready = 1;
    for (settle(); !model_->s_axi_awready; settle())
        tick();
    tick();
    model_->s_axi_awvalid = model_->s_axi_wvalid = 0;
    tick();
}

uint32_t Core::read(uint32_t offset) {
    model_->s_axi_arvalid = 1;
    model_->s_axi_araddr = offset;
    model_->s_axi_rready = 0;
    for (settle(); !model_->s_axi_arready; settle())
        tick();
    tick();
    model_->s_axi_arvalid = 0;
    const uint32_t value = model_->s_axi_rdata;
    model_->s_axi_rready = 1;
    tick();
    return value;
}

void Core::begin_transfer(const Operand &operand, bool inward) {
    model_->dma_inward = inward;
    model_->dma_address = operand.address;
    model_->dma_row_bytes = static_cast<uint32_t>(operand.bytes);
    model_->dma_rows = 1;
    model_->dma_stride = 0;
    model_->dma_start = 1;
    tick();
    model_->dma_start = 0;
}

// Nothing comes of this beat, however long one waits.
bool Core::stalls(ta_rtl_fault fault, uint64_t beats) {
    if (fault_ != fault || beats < after_)
        return false;
    model_->s_axis_tvalid = model_->m_axis_tready = 0;
    for (uint64_t i = 0; i < kQuiet; ++i)
        tick();
    return true;
}

// False: the other side never answers.
bool Core::move_in(const Operand &operand, const uint8_t *bytes) {
    begin_transfer(operand, true);
    for (uint64_t done = 0; model_->dma_busy;) {
        if (stalls(TA_RTL_READ_HANGS, beats_))
            return false;
        uint64_t beat = 0;
        const uint64_t left = operand.bytes - done;
        std::memcpy(&beat, bytes + done, left < kBeat ? left : kBeat);
        model_->s_axis_tdata = beat;
        model_->s_axis_tvalid = left != 0;
        model_->s_axis_terror = fault_ == TA_RTL_READ_ERROR && beats_ == after_;
        settle();
        if (model_->s_axis_tvalid && model_->s_axis_tready) {
            done += left < kBeat ? left : kBeat;
            ++beats_;
        }
        tick();
    }
    model_->s_axis_tvalid = model_->s_axis_terror = 0;
    return true;
}

bool Core::move_out(const Operand &operand, uint8_t *bytes) {
    begin_transfer(operand, false);
    for (uint64_t done = 0; model_->dma_busy;) {
        const uint64_t beats = done / kBeat;
        if (stalls(TA_RTL_WRITE_HANGS, beats))
            return false;
        model_->m_axis_tready = 1;
        model_->m_axis_terror = fault_ == TA_RTL_WRITE_ERROR && beats == after_;
        settle();
        if (model_->m_axis_tvalid && !model_->m_axis_terror) {
            const uint64_t beat = model_->m_axis_tdata;
            std::memcpy(bytes + done, &beat, model_->m_axis_tcount);
            done += model_->m_axis_tcount;
        }
        tick();
    }
    model_->m_axis_tready = model_->m_axis_terror = 0;
    return true;
}

// Until the core, or the reset controller, tells of the end. False: nobody does.
bool Core::command_ends() {
    const uint64_t started = clock_;
    uint64_t lost = UINT64_MAX; // when
    for (; clock_ - started <= kPatience && (lost == UINT64_MAX || clock_ - lost <= kQuiet); tick()) {
        if (model_->irq && fault_ != TA_RTL_INTERRUPT_LOST)
            return true;
        if (model_->irq)
            lost = clock_;
        if ((fault_ != TA_RTL_RESET && fault_ != TA_RTL_RESET_UNSEEN) || clock_ - started != after_)
            continue;
        model_->reset = 1;
        tick();
        model_->reset = 0;
        if (fault_ == TA_RTL_RESET)
            return true;
        lost = clock_;
    }
    return false;
}

// The memory of the engine is the one its input lies in.
void Core::strap(uint32_t *registers, const ta_window *windows, uint32_t count) {
    const ta_window *own = count != 0 ? windows : nullptr;
    for (uint32_t i = 0; i < count; ++i)
        if (ta_window_at(&windows[i], 1, at(registers, TA_CONV2D_ENGINE_INPUT), 1) != nullptr)
            own = &windows[i];
    const bool seen = own != nullptr && own->address <= UINT32_MAX;
    model_->memory_base = seen ? static_cast<uint32_t>(own->address) : 0;
    model_->memory_bytes = !seen ? 0 : own->bytes < TA_RTL_MEMORY_BYTES ? own->bytes : TA_RTL_MEMORY_BYTES;
}

// When, and what it took.
struct Record {
    uint32_t core;
    int64_t begun_us;
    uint64_t command, access, transfer;
};

void log_cycles(const uint32_t *registers, const Record &record) {
    static std::mutex lock;
    const char *path = std::getenv("TARGET_ARCH_RTL_CYCLES");
    if (path == nullptr)
        return;
    const std::lock_guard<std::mutex> guard(lock);
    std::FILE *file = std::fopen(path, "a");
    if (file == nullptr)
        return;
    std::fprintf(file, "conv2d_engine %" PRIu32 " %" PRId64 " %" PRId64, record.core, record.begun_us, now_us());
    for (uint32_t i = 0; i < TA_CONV2D_ENGINE_WORDS; ++i)
        std::fprintf(file, " %" PRIu32, registers[TA_CONV2D_ENGINE_IN_HEIGHT / 4u + i]);
    std::fprintf(file, " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", record.command, record.access, record.transfer);
    std::fclose(file);
}

ta_status Core::run(uint32_t *registers, const ta_window *windows, uint32_t count) {
    const auto word = [&](uint32_t offset) { return static_cast<uint64_t>(at(registers, offset) & 0xffffu); };
    const uint64_t taps = word(TA_CONV2D_ENGINE_KERNEL_HEIGHT) * word(TA_CONV2D_ENGINE_KERNEL_WIDTH) *
                          word(TA_CONV2D_ENGINE_IN_CHANNELS);
    const Operand input = {at(registers, TA_CONV2D_ENGINE_INPUT), word(TA_CONV2D_ENGINE_IN_HEIGHT) *
                                                                      word(TA_CONV2D_ENGINE_IN_WIDTH) *
                                                                      word(TA_CONV2D_ENGINE_IN_CHANNELS)};
    const Operand weights = {at(registers, TA_CONV2D_ENGINE_WEIGHTS), taps * word(TA_CONV2D_ENGINE_OUT_CHANNELS)};
    const Operand parameters = {at(registers, TA_CONV2D_ENGINE_PARAMETERS),
                                12u * word(TA_CONV2D_ENGINE_OUT_CHANNELS)};
    const Operand output = {at(registers, TA_CONV2D_ENGINE_OUTPUT), word(TA_CONV2D_ENGINE_OUT_HEIGHT) *
                                                                        word(TA_CONV2D_ENGINE_OUT_WIDTH) *
                                                                        word(TA_CONV2D_ENGINE_OUT_CHANNELS)};

    if (at(registers, TA_CONV2D_ENGINE_START) != 1u) {
        at(registers, TA_CONV2D_ENGINE_START) = 0;
        return TA_OK;
    }
    strap(registers, windows, count);
    const uint64_t fault = armed.exchange(TA_RTL_SOUND);
    fault_ = static_cast<ta_rtl_fault>(fault & 0xffu);
    after_ = fault >> 8;
    beats_ = 0;
    const int64_t begun_us = now_us();

    // What is no operand stays outside: the core says so itself.
    const uint64_t begun = clock_;
    for (const Operand &operand : {input, weights, parameters})
        if (const uint8_t *bytes = ta_window_at(windows, count, operand.address, operand.bytes))
            if (!move_in(operand, bytes))
                return TA_ERROR_TIMEOUT;
    uint64_t transfer = clock_ - begun;

    uint64_t access = clock_;
    write(TA_CONV2D_ENGINE_STATUS, TA_CONV2D_ENGINE_STATUS_NONE);
    for (uint32_t i = TA_CONV2D_ENGINE_INPUT / 4u; i < TA_CONV2D_ENGINE_REGISTERS; ++i)
        write(4u * i, registers[i]);
    write(TA_CONV2D_ENGINE_START, 1);
    access = clock_ - access;
    if (!command_ends())
        return TA_ERROR_TIMEOUT;
    const uint64_t ended = clock_;
    while (read(TA_CONV2D_ENGINE_START) != 0) {
    }
    at(registers, TA_CONV2D_ENGINE_STATUS) = read(TA_CONV2D_ENGINE_STATUS);
    at(registers, TA_CONV2D_ENGINE_START) = 0;
    access += clock_ - ended;

    const uint64_t leaving = clock_;
    if (at(registers, TA_CONV2D_ENGINE_STATUS) == TA_CONV2D_ENGINE_STATUS_DONE) {
        if (!move_out(output, ta_window_at(windows, count, output.address, output.bytes)))
            return TA_ERROR_TIMEOUT;
        tick(); // STATUS follows the transfer by a cycle
        at(registers, TA_CONV2D_ENGINE_STATUS) = read(TA_CONV2D_ENGINE_STATUS);
    }
    transfer += clock_ - leaving;
    log_cycles(registers, {number_, begun_us, model_->cycles, access, transfer});
    return TA_OK;
}

ta_status run(uint32_t *registers, const ta_window *windows, uint32_t window_count) {
    static thread_local std::unique_ptr<Core> core;
    if (core == nullptr)
        core.reset(new Core);
    return core->run(registers, windows, window_count);
}

} // namespace

extern "C" {
extern const ta_simulator ta_conv2d_engine_simulator;
const ta_simulator ta_conv2d_engine_simulator = {"conv2d_engine", TA_CONV2D_ENGINE_REGISTERS,
                                                 TA_CONV2D_ENGINE_START, run};

void ta_conv2d_engine_fail(ta_rtl_fault fault, uint32_t after) {
    armed = static_cast<uint64_t>(after) << 8 | fault;
}
}
