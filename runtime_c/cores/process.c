#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cores/process.h"
#include "load/elf.h"
#include "target_arch/runtime.h"

enum { ARGUMENT_BYTES = 48, COMMAND_WORDS = 6, ROOM_FOR_FILES = 32 };

extern char **environ;

static const ta_process *process_of(const ta_core *core)
{
    return (const ta_process *)(const void *)core; /* its first member */
}

/* Put a file behind a memory, without a change of its bytes. */
static ta_status share(ta_shared *shared)
{
    if (shared->file != 0)
        return TA_OK;
    FILE *stream = tmpfile(); /* gone with this program */
    if (stream == NULL)
        return TA_ERROR_DEVICE;
    const int file = fileno(stream);
    const int kept = fwrite(shared->base, 1, shared->bytes, stream) == shared->bytes && fflush(stream) == 0;
    const int closes = fcntl(file, F_SETFD, FD_CLOEXEC) == 0;
    if (!kept || !closes ||
        mmap(shared->base, shared->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
        (void)fclose(stream);
        return TA_ERROR_DEVICE;
    }
    shared->file = file;
    return TA_OK;
}

static uint32_t rooms_of(const ta_process *process, ta_elf_room *rooms)
{
    for (uint32_t i = 0; i < process->memory_count; i++) {
        const ta_process_memory *memory = &process->memories[i];
        const ta_elf_room room = {memory->physical, memory->device, memory->shared->bytes, memory->shared->base};
        rooms[i] = room;
    }
    return process->memory_count;
}

/* Is the image of this description, and which device address has its mailbox? */
static ta_status check_resources(const ta_process *process, const ta_soc *soc, const ta_elf *elf,
                                 ta_address *mailbox)
{
    const uint8_t *content = NULL;
    uint32_t bytes = 0;
    if (ta_elf_note(elf, TA_RESOURCES_NOTE_NAME, TA_RESOURCES_NOTE_TYPE, &content, &bytes) != TA_OK ||
        bytes != sizeof(ta_resources))
        return TA_ERROR_IMAGE;
    const uint64_t version = ta_elf_number(content + offsetof(ta_resources, version), 4);
    const uint64_t functions = ta_elf_number(content + offsetof(ta_resources, function_count), 4);
    const uint64_t hash = ta_elf_number(content + offsetof(ta_resources, abi_hash), 8);
    *mailbox = ta_elf_number(content + offsetof(ta_resources, mailbox), 8);
    if (version != TA_MAILBOX_VERSION || functions != process->function_count || hash != soc->abi_hash)
        return TA_ERROR_ABI_MISMATCH;
    return TA_OK;
}

ta_status ta_process_load(const ta_core *core, const ta_soc *soc, const uint8_t *image, uint32_t bytes)
{
    const ta_process *process = process_of(core);
    ta_elf_room rooms[TA_PROCESS_MAX_MEMORIES];
    ta_address mailbox = 0;
    ta_elf elf;
    process->state->entry = 0;
    if (process->memory_count > TA_PROCESS_MAX_MEMORIES)
        return TA_ERROR_ARGUMENT;
    ta_status status = ta_elf_open(&elf, image, bytes, process->machine);
    if (status == TA_OK)
        status = check_resources(process, soc, &elf, &mailbox);
    for (uint32_t i = 0; i < process->memory_count && status == TA_OK; i++)
        status = share(process->memories[i].shared);
    if (status != TA_OK)
        return status;
    const uint32_t room_count = rooms_of(process, rooms);
    uint8_t *found = ta_elf_byte(rooms, room_count, mailbox, sizeof(ta_mailbox));
    if (found == NULL || ta_elf_place(&elf, rooms, room_count) != TA_OK)
        return TA_ERROR_IMAGE;
    process->state->mailbox = (volatile ta_mailbox *)(void *)found;
    process->state->entry = elf.entry;
    return TA_OK;
}

/* Start the emulator. Files of the child: the doorbell, then the memories. */
static ta_status spawn(const ta_process *process, int doorbell)
{
    static char arguments[TA_PROCESS_MAX_MEMORIES][ARGUMENT_BYTES]; /* the port's lock is held */
    char *command[COMMAND_WORDS + TA_PROCESS_MAX_MEMORIES + 1u];
    posix_spawn_file_actions_t actions;
    uint32_t words = 0;
    pid_t pid = 0;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return TA_ERROR_DEVICE;
    /* Twice, so that no number is written over before it was copied. */
    int failed = posix_spawn_file_actions_adddup2(&actions, doorbell, ROOM_FOR_FILES);
    for (; process->command[words] != NULL && words < COMMAND_WORDS; words++)
        command[words] = (char *)(uintptr_t)process->command[words]; /* the child's alone, never written */
    for (uint32_t i = 0; i < process->memory_count; i++) {
        const ta_process_memory *memory = &process->memories[i];
        failed |= posix_spawn_file_actions_adddup2(&actions, memory->shared->file, (int)(ROOM_FOR_FILES + 1u + i));
        (void)snprintf(arguments[i], ARGUMENT_BYTES, "%llx:%lx:%lx", (unsigned long long)memory->device,
                       (unsigned long)memory->shared->bytes, (unsigned long)(TA_FIRST_MEMORY_FILE + i));
        command[words++] = arguments[i];
    }
    command[words] = NULL;
    for (uint32_t i = 0; i <= process->memory_count; i++)
        failed |= posix_spawn_file_actions_adddup2(&actions, (int)(ROOM_FOR_FILES + i), (int)(TA_DOORBELL + i));
    for (uint32_t i = 0; i <= process->memory_count; i++)
        failed |= posix_spawn_file_actions_addclose(&actions, (int)(ROOM_FOR_FILES + i));
    if (failed == 0)
        failed = posix_spawnp(&pid, command[0], &actions, NULL, command, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    process->state->pid = failed == 0 ? (long)pid : 0;
    return failed == 0 ? TA_OK : TA_ERROR_DEVICE;
}

/* 1 where the core rang, 0 where it did not in time, -1 where it is gone. A timeout of -1 is for ever. */
static int rung(const ta_process *process, int timeout_ms)
{
    struct pollfd door = {process->state->doorbell, POLLIN, 0};
    uint8_t ring = 0;
    int ready = 0;
    do
        ready = poll(&door, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return 0;
    return ready > 0 && recv(process->state->doorbell, &ring, 1, 0) == 1 ? 1 : -1;
}

static int send_all(const ta_process *process, const void *bytes, size_t count)
{
    return send(process->state->doorbell, bytes, count, MSG_NOSIGNAL) == (ssize_t)count;
}

ta_status ta_process_start(const ta_core *core)
{
    const ta_process *process = process_of(core);
    int ends[2];
    if (process->state->pid != 0)
        return TA_OK;
    if (process->state->entry == 0)
        return TA_ERROR_STATE;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return TA_ERROR_DEVICE;
    process->state->doorbell = ends[0];
    const int closes = fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
    ta_status status = closes ? spawn(process, ends[1]) : TA_ERROR_DEVICE;
    (void)close(ends[1]);
    if (status == TA_OK && send_all(process, &process->state->entry, sizeof process->state->entry)) {
        const int up = rung(process, TA_PROCESS_PATIENCE_MS);
        status = up > 0 ? TA_OK : up == 0 ? TA_ERROR_TIMEOUT : TA_ERROR_DEVICE;
    } else
        status = TA_ERROR_DEVICE;
    if (status != TA_OK) {
        const ta_address entry = process->state->entry;
        if (process->state->pid == 0)
            (void)close(ends[0]);
        (void)ta_process_stop(core);
        process->state->entry = entry; /* loaded, not started */
    }
    return status;
}

ta_status ta_process_stop(const ta_core *core)
{
    const ta_process *process = process_of(core);
    process->state->entry = 0;
    if (process->state->pid == 0)
        return TA_OK;
    ta_process_halt(core);
    while (waitpid((pid_t)process->state->pid, NULL, 0) < 0)
        if (errno != EINTR)
            break;
    (void)close(process->state->doorbell);
    process->state->pid = 0;
    process->state->fault = 0;
    return TA_OK;
}

void ta_process_halt(const ta_core *core)
{
    const long pid = process_of(core)->state->pid;
    if (pid > 0)
        (void)kill((pid_t)pid, SIGKILL); /* it is ours until `stop` has waited for it */
}

static void write_request(const ta_process *process, uint32_t function, const ta_address *operands, uint32_t count)
{
    volatile ta_mailbox *mailbox = process->state->mailbox;
    mailbox->function = function;
    mailbox->operand_count = count;
    for (uint32_t i = 0; i < count; i++)
        mailbox->operands[i] = operands[i];
    __sync_synchronize();
    mailbox->request = mailbox->answer + 1u;
    __sync_synchronize();
}

/* Stop the core for good where it can have seen nothing but the request. */
static void reset_in_the_middle(const ta_process *process)
{
    int how = 0;
    const uint8_t ring = 1;
    (void)kill((pid_t)process->state->pid, SIGSTOP);
    (void)waitpid((pid_t)process->state->pid, &how, WUNTRACED);
    (void)send_all(process, &ring, 1);
    ta_process_halt(&process->core);
}

static ta_status request(const ta_process *process, uint32_t fault)
{
    const uint8_t ring = 1;
    if (fault == TA_PROCESS_RESETS)
        reset_in_the_middle(process);
    else if (fault != TA_PROCESS_REQUEST_LOST && !send_all(process, &ring, 1))
        return TA_ERROR_DEVICE;
    if (fault == TA_PROCESS_ANSWER_LOST && rung(process, -1) < 0)
        return TA_ERROR_DEVICE;
    return rung(process, -1) > 0 ? TA_OK : TA_ERROR_DEVICE;
}

/* For benchmarks: with TARGET_ARCH_CORE_LOG=FILE in the environment, a line for each call: the machine of the
 * core, the number of the function, how many instructions it took, where the core counts them. */
static void log_call(const ta_process *process, uint32_t number)
{
    const char *path = getenv("TARGET_ARCH_CORE_LOG");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file == NULL)
        return;
    const unsigned long counted = process->state->mailbox->counted;
    (void)fprintf(file, "%lu %lu %lu\n", (unsigned long)process->machine, (unsigned long)number, counted);
    (void)fclose(file);
}

ta_status ta_process_call(const ta_core *core, ta_function function, const ta_address *operands, uint32_t count)
{
    const ta_process *process = process_of(core);
    const volatile ta_mailbox *mailbox = process->state->mailbox;
    uint32_t number = 0;
    while (number < process->function_count && process->functions[number] != function)
        number++;
    if (number == process->function_count || count > TA_MAILBOX_OPERANDS)
        return TA_ERROR_DEVICE; /* its firmware does not have it */
    const uint32_t fault = process->state->fault;
    process->state->fault = 0;
    write_request(process, number, operands, count);
    const ta_status status = request(process, fault);
    if (status != TA_OK)
        return status;
    __sync_synchronize();
    log_call(process, number);
    return mailbox->answer == mailbox->request && mailbox->status == TA_OK ? TA_OK : TA_ERROR_DEVICE;
}

void ta_process_fail(const ta_process *process, uint32_t fault)
{
    process->state->fault = fault;
}
