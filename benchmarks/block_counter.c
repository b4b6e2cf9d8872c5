/* A plug-in of QEMU: how often each block of translated code is executed.
 *
 *     qemu-system-arm -plugin libblock_counter.so,out=FILE ...
 *     qemu-aarch64 -plugin libblock_counter.so,out=FILE PROGRAM
 *
 * writes one line `ADDRESS INSTRUCTIONS COUNT FUNCTION` for each block, the address in hexadecimal, in the order of
 * translation; a block that is translated again has a line of its own. The function is that where the block begins,
 * `?` where QEMU knows no symbol. One core.
 *
 * QEMU's header is in no package of Debian, so what is used of interface version 1 is declared here. Source:
 * QEMU, docs/devel/tcg-plugins.rst.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t plugin_id;
struct block;
struct instruction;
struct about;

enum { READS_NO_REGISTERS = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id, struct block *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct block *block, void (*executed)(unsigned, void *), int flags,
                                          void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct block *block);
uint64_t qemu_plugin_tb_vaddr(const struct block *block);
struct instruction *qemu_plugin_tb_get_insn(const struct block *block, size_t index);
const char *qemu_plugin_insn_symbol(const struct instruction *instruction);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { BLOCKS = 1 << 18 };

struct counted {
    uint64_t address, instructions, count;
    const char *function; /* kept by QEMU as long as it runs */
};

static struct counted blocks[BLOCKS];
static size_t block_count;
static char output[4096];

static void executed(unsigned core, void *data)
{
    struct counted *block = data;
    (void)core;
    block->count++;
}

static void translated(plugin_id id, struct block *block)
{
    struct counted *made = &blocks[block_count];
    (void)id;
    if (block_count + 1 < BLOCKS)
        block_count++;
    made->address = qemu_plugin_tb_vaddr(block);
    made->instructions = qemu_plugin_tb_n_insns(block);
    made->function = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(block, 0));
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, READS_NO_REGISTERS, made);
}

static void ended(plugin_id id, void *data)
{
    FILE *file = fopen(output, "w");
    (void)id;
    (void)data;
    if (file == NULL)
        return;
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].count != 0)
            (void)fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 " %s\n", blocks[i].address, blocks[i].instructions,
                          blocks[i].count, blocks[i].function == NULL ? "?" : blocks[i].function);
    (void)fclose(file);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const struct about *about, int count,
                                                               char **arguments)
{
    (void)about;
    if (count != 1 || strncmp(arguments[0], "out=", 4) != 0)
        return -1;
    (void)snprintf(output, sizeof output, "%s", arguments[0] + 4);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
