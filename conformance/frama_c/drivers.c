/* Every driver gets every command that ta_init lets pass, and more: any count of words and operands, any values, on a
 * port whose registers answer anything, and may be missing. */
#include "__fc_builtin.h"

#include "conv2d_engine.h"
#include "ethos_u.h"
#include "gemm_npu.h"
#include "gemm_vta.h"
#include "target_arch/runtime.h"

enum { MOST_WORDS = 64 };

static ta_status any_status(void)
{
    return (ta_status)Frama_C_interval(TA_OK, TA_ERROR_DEADLINE);
}

static ta_status any_read(const ta_port *port, uint32_t instance, uint32_t offset, uint32_t *value)
{
    (void)port;
    (void)instance;
    //@ assert offset % 4 == 0;
    *value = Frama_C_unsigned_int_interval(0, UINT32_MAX);
    return any_status();
}

static ta_status any_write(const ta_port *port, uint32_t instance, uint32_t offset, uint32_t value)
{
    (void)port;
    (void)instance;
    (void)value;
    //@ assert offset % 4 == 0;
    return any_status();
}

int main(void)
{
    const ta_driver *const drivers[] = {&ta_conv2d_engine_driver, &ta_gemm_npu_driver, &ta_gemm_vta_driver,
                                        &ta_ethos_u_driver};
    const ta_driver *const driver = drivers[Frama_C_interval(0, 3)];
    const ta_port port = {
        .version = TA_PORT_VERSION,
        .mmio_read32 = Frama_C_nondet(0, 1) ? any_read : NULL,
        .mmio_write32 = Frama_C_nondet(0, 1) ? any_write : NULL,
    };
    uint32_t words[MOST_WORDS];
    ta_address operands[TA_MAX_OPERANDS];
    Frama_C_make_unknown((char *)words, sizeof words);
    Frama_C_make_unknown((char *)operands, sizeof operands);
    const ta_command command = {words, Frama_C_unsigned_int_interval(0, MOST_WORDS), operands,
                                Frama_C_unsigned_int_interval(0, TA_MAX_OPERANDS)};
    const uint32_t instance = Frama_C_unsigned_int_interval(0, UINT32_MAX);
    (void)driver->start(&port, instance, &command);
    (void)driver->poll(&port, instance);
    return 0;
}
