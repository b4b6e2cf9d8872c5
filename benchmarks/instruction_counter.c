/* A plug-in of QEMU's user mode: how many instructions each function executes.
 *
 *     qemu-aarch64 -plugin libinstruction_counter.so,out=FILE PROGRAM
 *
 * writes one line `COUNT FUNCTION` for each function of the program, in no order; `?` collects code without a
 * symbol. Blocks of translated code are counted whole, where they begin. One thread.
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
struct instruction *qemu_plugin_tb_get_insn(const struct block *block, size_t index);
const char *qemu_plugin_insn_symbol(const struct instruction *instruction);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { FUNCTIONS = 4096, BLOCKS = 1 << 16, NAME = 128 };

struct function {
    char name[NAME];
    uint64_t count;
};

struct counted {
    struct function *function;
    uint64_t instructions;
};

static struct function functions[FUNCTIONS] = {{"?", 0}};
static struct counted blocks[BLOCKS];
static size_t function_count = 1, block_count;
static char output[4096];

static struct function *find(const char *name)
{
    if (name == NULL)
        return functions;
    for (size_t i = 1; i < function_count; i++)
        if (strncmp(functions[i].name, name, NAME - 1) == 0)
            return &functions[i];
    if (function_count == FUNCTIONS)
        return functions;
    (void)snprintf(functions[function_count].name, NAME, "%s", name);
    return &functions[function_count++];
}

static void executed(unsigned core, void *data)
{
    const struct counted *block = data;
    (void)core;
    block->function->count += block->instructions;
}

static void translated(plugin_id id, struct block *block)
{
    struct counted *made = &blocks[block_count];
    (void)id;
    if (block_count + 1 < BLOCKS)
        block_count++;
    made->function = find(qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(block, 0)));
    made->instructions = qemu_plugin_tb_n_insns(block);
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, READS_NO_REGISTERS, made);
}

static void ended(plugin_id id, void *data)
{
    FILE *file = fopen(output, "w");
    (void)id;
    (void)data;
    if (file == NULL)
        return;
    for (size_t i = 0; i < function_count; i++)
        if (functions[i].count != 0)
            (void)fprintf(file, "%" PRIu64 " %s\n", functions[i].count, functions[i].name);
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
