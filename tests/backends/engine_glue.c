/* One engine as a shared library: its driver, its simulator, and between them a port that is just a register file.
 * ENGINE is the name of the engine; compiled once per engine by tests/backends/conftest.py. */
#include <string.h>

#include "../../runtime_c/include/target_arch/driver.h"
#include "../../runtime_c/ports/host/simulator.h"

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)

extern const ta_driver JOIN(ta_, ENGINE, _driver);
extern const ta_simulator JOIN(ta_, ENGINE, _simulator);

static uint32_t registers[TA_SIMULATOR_MAX_REGISTERS];
static const ta_window *memories;
static uint32_t memory_count;

uint8_t *ta_window_at(const ta_window *windows, uint32_t count, ta_address address, uint64_t bytes) {
    uint32_t index;

    for (index = 0; index < count; ++index) {
        const ta_window *window = &windows[index];
        const uint64_t offset = address - window->address;
        if (address >= window->address && offset <= window->bytes && bytes <= window->bytes - offset) {
            return window->base + offset;
        }
    }
    return NULL;
}

static ta_status read32(const ta_port *port, uint32_t instance, uint32_t offset, uint32_t *value) {
    (void)port;
    (void)instance;
    *value = registers[offset / 4u];
    return TA_OK;
}

static ta_status write32(const ta_port *port, uint32_t instance, uint32_t offset, uint32_t value) {
    const ta_simulator *simulator = &JOIN(ta_, ENGINE, _simulator);

    (void)port;
    (void)instance;
    if (offset / 4u >= simulator->register_count) {
        return TA_ERROR_ARGUMENT;
    }
    registers[offset / 4u] = value;
    return offset == simulator->start_offset ? simulator->run(registers, memories, memory_count) : TA_OK;
}

static ta_port make_port(void) {
    ta_port port;

    memset(&port, 0, sizeof port);
    port.version = TA_PORT_VERSION;
    port.mmio_read32 = read32;
    port.mmio_write32 = write32;
    return port;
}

void engine_reset(const ta_window *windows, uint32_t count) {
    memset(registers, 0, sizeof registers);
    memories = windows;
    memory_count = count;
}

uint32_t engine_register(uint32_t offset) { return registers[offset / 4u]; }

void engine_write(uint32_t offset, uint32_t value) { registers[offset / 4u] = value; }

int engine_poll(void) {
    const ta_port port = make_port();

    return (int)JOIN(ta_, ENGINE, _driver).poll(&port, 0);
}

int engine_start(const uint32_t *words, uint32_t word_count, const ta_address *operands, uint32_t operand_count) {
    const ta_port port = make_port();
    ta_command command;

    command.words = words;
    command.word_count = word_count;
    command.operands = operands;
    command.operand_count = operand_count;
    return (int)JOIN(ta_, ENGINE, _driver).start(&port, 0, &command);
}
