// A CUDA driver and a run-time compiler that need no GPU: kernels run on the CPU, thread by thread.
//
// What the port uses of the driver API, by its documentation. Every stream is a thread with a queue, so that
// work is as asynchronous as on a device. Device memory is memory of a range of its own, filled with noise; a
// copy names which side is which, and a wrong side is an error. "Compiling" CUDA C makes a shared library with
// the C++ compiler of this computer, and the "PTX" is its path.
//
// The environment plants faults: CUDA_ON_CPU_FAULT is `launch` (a kernel fails), `copy` (a copy fails) or
// `hang` (a kernel does not end), `stall` (a copy does not end) or `lost` (the context is gone when a kernel is
// launched), once until it names none, and only after CUDA_ON_CPU_FAULT_AT kernels or copies.
#include <dlfcn.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kNotFound = 500, kNotReady = 600, kLaunchFailed = 719,
              kContextIsDestroyed = 709;

std::mutex lock;
std::map<uintptr_t, size_t> device_memory, pinned;
int sticky = kSuccess;
bool fault_is_spent = false;
long work_count = 0;

struct Event {
    std::mutex mutex;
    long recorded = 0, happened = 0;
};

struct Stream {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> queue;
    bool leaving = false;
    std::thread thread{[this] { work(); }};

    void work() {
        std::unique_lock<std::mutex> hold(mutex);
        while (!leaving || !queue.empty()) {
            if (queue.empty()) {
                changed.wait(hold);
                continue;
            }
            auto next = queue.front();
            queue.pop_front();
            hold.unlock();
            next();
            hold.lock();
        }
    }

    void put(std::function<void()> piece) {
        std::lock_guard<std::mutex> hold(mutex);
        queue.push_back(std::move(piece));
        changed.notify_all();
    }
};

using Kernel = void (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
struct Module;
struct Function {
    Module *module;
    Kernel kernel;
    int parameters;
};
struct Module {
    void *library;
    void (*place)(unsigned, unsigned);
    std::map<std::string, Function> functions;
};

bool faulty(const char *kind) {
    const char *wanted = std::getenv("CUDA_ON_CPU_FAULT");
    const char *at = std::getenv("CUDA_ON_CPU_FAULT_AT");
    std::lock_guard<std::mutex> hold(lock);
    if (wanted == nullptr) fault_is_spent = false, work_count = 0;
    if (wanted == nullptr || std::strcmp(wanted, kind) != 0 || fault_is_spent) return false;
    if (work_count++ < (at != nullptr ? std::atol(at) : 0)) return false;
    fault_is_spent = true;
    return true;
}

void spoil(int result) {
    std::lock_guard<std::mutex> hold(lock);
    sticky = result;
}

int state() {
    std::lock_guard<std::mutex> hold(lock);
    return sticky;
}

bool within(const std::map<uintptr_t, size_t> &ranges, uintptr_t address, size_t bytes) {
    std::lock_guard<std::mutex> hold(lock);
    auto found = ranges.upper_bound(address);
    if (found == ranges.begin()) return false;
    --found;
    return address >= found->first && address + bytes <= found->first + found->second;
}

bool on_device(uintptr_t address, size_t bytes) { return within(device_memory, address, bytes); }

void copy_rows(uintptr_t target, size_t target_pitch, uintptr_t source, size_t source_pitch, size_t width,
               size_t height) {
    if (state() != kSuccess) return;
    if (faulty("copy")) return spoil(kLaunchFailed);
    if (faulty("stall")) sleep(1);
    for (size_t row = 0; row < height; row++)
        std::memcpy(reinterpret_cast<void *>(target + row * target_pitch),
                    reinterpret_cast<const void *>(source + row * source_pitch), width);
}

struct Side {
    size_t x_bytes, y;
    int memory_type;
    const void *host;
    unsigned long long device;
    void *array;
    size_t pitch;
};
struct Copy2d {
    Side source, target;
    size_t width, height;
};

// The address of a side, 0 where it is not on the side that the copy says.
uintptr_t address_of(const Side &side, size_t width, size_t height) {
    const auto host = reinterpret_cast<uintptr_t>(side.host);
    const auto at = side.memory_type == 1 ? host : static_cast<uintptr_t>(side.device);
    return on_device(at, (height - 1) * side.pitch + width) == (side.memory_type == 2) ? at : 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return kSuccess; }
int cuDeviceGetCount(int *count) {
    const char *wanted = std::getenv("CUDA_ON_CPU_DEVICES");
    *count = wanted != nullptr ? std::atoi(wanted) : 1;
    return kSuccess;
}
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, kSuccess; }
int cuDeviceGetName(char *name, int bytes, int) { return std::snprintf(name, bytes, "a CPU"), kSuccess; }
int cuDeviceGetAttribute(int *value, int attribute, int) { return *value = attribute == 75 ? 8 : 7, kSuccess; }
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &device_memory, state(); }
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
int cuDevicePrimaryCtxReset_v2(int) { return spoil(kSuccess), kSuccess; }
int cuCtxSetCurrent(void *) { return kSuccess; }

int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
    void *made = std::malloc(bytes);
    *pointer = reinterpret_cast<uintptr_t>(made);
    std::lock_guard<std::mutex> hold(lock);
    device_memory[*pointer] = bytes;
    return kSuccess;
}
int cuMemFree_v2(unsigned long long pointer) {
    std::free(reinterpret_cast<void *>(pointer));
    std::lock_guard<std::mutex> hold(lock);
    return device_memory.erase(pointer) == 1 ? kSuccess : kInvalidValue;
}
int cuMemsetD8_v2(unsigned long long pointer, unsigned char byte, size_t bytes) {
    if (!on_device(pointer, bytes)) return kInvalidValue;
    return std::memset(reinterpret_cast<void *>(pointer), byte, bytes), kSuccess;
}
int cuMemHostRegister_v2(void *start, size_t bytes, unsigned) {
    std::lock_guard<std::mutex> hold(lock);
    return pinned[reinterpret_cast<uintptr_t>(start)] = bytes, kSuccess;
}
int cuMemHostUnregister(void *start) {
    std::lock_guard<std::mutex> hold(lock);
    return pinned.erase(reinterpret_cast<uintptr_t>(start)) == 1 ? kSuccess : kInvalidValue;
}

int cuStreamCreate(Stream **stream, unsigned) { return *stream = new Stream, kSuccess; }
int cuStreamDestroy_v2(Stream *stream) {
    stream->put([] {});
    {
        std::lock_guard<std::mutex> hold(stream->mutex);
        stream->leaving = true;
        stream->changed.notify_all();
    }
    stream->thread.join();
    delete stream;
    return kSuccess;
}
int cuEventCreate(Event **event, unsigned) { return *event = new Event, kSuccess; }
int cuEventDestroy_v2(Event *event) { return delete event, kSuccess; }
int cuEventRecord(Event *event, Stream *stream) {
    std::lock_guard<std::mutex> hold(event->mutex);
    const long turn = ++event->recorded;
    stream->put([event, turn] {
        std::lock_guard<std::mutex> inner(event->mutex);
        event->happened = turn;
    });
    return kSuccess;
}
int cuEventQuery(Event *event) {
    std::lock_guard<std::mutex> hold(event->mutex);
    if (event->happened != event->recorded) return kNotReady;
    return state();
}

int cuMemcpyAsync(unsigned long long target, unsigned long long source, size_t bytes, Stream *stream) {
    if (state() != kSuccess) return state();
    stream->put([=] { copy_rows(target, 0, source, 0, bytes, 1); });
    return kSuccess;
}
int cuMemcpy2DAsync_v2(const Copy2d *copy, Stream *stream) {
    const auto source = address_of(copy->source, copy->width, copy->height);
    const auto target = address_of(copy->target, copy->width, copy->height);
    if (source == 0 || target == 0) return kInvalidValue;
    const Copy2d one = *copy;
    stream->put([=] { copy_rows(target, one.target.pitch, source, one.source.pitch, one.width, one.height); });
    return kSuccess;
}

int cuModuleLoadData(Module **module, const void *image) {
    void *library = dlopen(static_cast<const char *>(image), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return 200;
    auto place = reinterpret_cast<void (*)(unsigned, unsigned)>(dlsym(library, "cuda_on_cpu_place"));
    *module = new Module{library, place, {}};
    return kSuccess;
}
int cuModuleUnload(Module *module) { return dlclose(module->library), delete module, kSuccess; }
int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    void *symbol = dlsym(module->library, name);
    if (symbol == nullptr) return kNotFound;
    const auto count = reinterpret_cast<int (*)(const char *)>(dlsym(module->library, "cuda_on_cpu_parameters"));
    module->functions[name] = Function{module, reinterpret_cast<Kernel>(symbol), count(name)};
    *function = &module->functions[name];
    return kSuccess;
}
int cuLaunchKernel(Function *function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned, Stream *stream, void **parameters, void **) {
    uint64_t p[8] = {};
    if (faulty("lost")) spoil(kContextIsDestroyed);
    if (state() != kSuccess) return state();
    for (int i = 0; i < function->parameters && i < 8; i++) {
        p[i] = *static_cast<uint64_t *>(parameters[i]);
        if (!on_device(p[i], 1) && !within(pinned, p[i], 1)) return kInvalidValue;
    }
    const Kernel kernel = function->kernel;
    const auto place = function->module->place;
    stream->put([=] {
        if (state() != kSuccess) return;
        if (faulty("launch")) return spoil(kLaunchFailed);
        if (faulty("hang")) sleep(std::getenv("CUDA_ON_CPU_FAULT_S") ? 1 : 4);
        for (unsigned block = 0; block < blocks; block++)
            for (unsigned thread = 0; thread < threads; thread++) {
                place(block, thread);
                kernel(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
            }
    });
    return kSuccess;
}
int cuGetErrorName(int result, const char **name) {
    *name = result == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OTHER";
    return kSuccess;
}

// The compiler. What CUDA C has beyond C++, as far as these kernels use it.
static const char *const kPrelude = R"(
#include <algorithm>
#include <cmath>
#include <cstring>
using std::max; using std::min;
static thread_local struct { unsigned x; } blockIdx, threadIdx;
#define __global__
#define __launch_bounds__(threads)
#define __restrict__ __restrict
extern "C" void cuda_on_cpu_place(unsigned block, unsigned thread) { blockIdx.x = block; threadIdx.x = thread; }
)";

struct Program {
    std::string source, path, log;
};

int nvrtcCreateProgram(Program **program, const char *source, const char *, int, const char *const *,
                       const char *const *) {
    return *program = new Program{source, "", ""}, kSuccess;
}
int nvrtcDestroyProgram(Program **program) { return delete *program, kSuccess; }

// How many parameters each kernel has, counted in the text.
static std::string counts(const std::string &source) {
    std::string text = "extern \"C\" int cuda_on_cpu_parameters(const char *name) {\n";
    const std::string mark = "extern \"C\" __global__";
    for (size_t at = source.find(mark); at != std::string::npos; at = source.find(mark, at + 1)) {
        const size_t close = source.find(") {", at), last = source.rfind('(', close);
        size_t begin = last;
        while (source[begin - 1] != ' ') begin--;
        long count = 1;
        for (size_t i = last; i < close; i++) count += source[i] == ',';
        text += "  if (!std::strcmp(name, \"" + source.substr(begin, last - begin) + "\")) return " +
                std::to_string(count) + ";\n";
    }
    return text + "  return 0;\n}\n";
}

int nvrtcCompileProgram(Program *program, int, const char *const *) {
    char folder[] = "/tmp/cuda_on_cpu_XXXXXX";
    if (mkdtemp(folder) == nullptr) return 1;
    const std::string base = std::string(folder) + "/module";
    std::ofstream(base + ".cpp") << kPrelude << program->source << counts(program->source);
    const std::string command = "c++ -std=c++17 -O1 -ffp-contract=off -fPIC -shared -o " + base + ".so " + base +
                                ".cpp 2> " + base + ".log";
    const int result = std::system(command.c_str());
    std::ifstream log(base + ".log");
    program->log.assign(std::istreambuf_iterator<char>(log), {});
    program->path = base + ".so";
    return result == 0 ? kSuccess : 6;
}
int nvrtcGetPTXSize(Program *program, size_t *bytes) { return *bytes = program->path.size() + 1, kSuccess; }
int nvrtcGetPTX(Program *program, char *text) { return std::strcpy(text, program->path.c_str()), kSuccess; }
int nvrtcGetProgramLogSize(Program *program, size_t *bytes) { return *bytes = program->log.size() + 1, kSuccess; }
int nvrtcGetProgramLog(Program *program, char *text) { return std::strcpy(text, program->log.c_str()), kSuccess; }

}  // extern "C"
