// NVTX's protocol: the profiler's library exports one function, which asks for
// tables of ours by number; one of these gives, for each module, pointers to
// which it assigns its own functions. Numbers and layouts are nvtxTypes.h's.

#include "runtime/device/profiler.h"

#include "runtime/flat.h"
#include "runtime/shared_library.h"
#include "runtime/status.h"

#include <cstdlib>

namespace gradus::runtime {

namespace {

using Function = void (*)();

/// The number of functions of each module, counting the number 0, which none
/// has: core, cuda, opencl, cudart, core2, sync.
constexpr unsigned kFunctions[] = {0, 16, 9, 15, 7, 16, 7};
constexpr unsigned kModules = std::size(kFunctions), kMostFunctions = 16;
/// The numbers of the core functions that we call, nvtxRangePushA and
/// nvtxRangePop.
constexpr unsigned kCore = 1, kPush = 9, kPop = 11;

/// The profiler's functions; null for those that it lacks.
Function given[kModules][kMostFunctions];
Function *places[kModules][kMostFunctions + 1];

int placesOf(int module, Function ***table, unsigned *count) {
  if (module < 1 || module >= int(kModules))
    return 0;
  for (unsigned i = 1; i < kFunctions[module]; ++i)
    places[module][i] = &given[module][i];
  *table = places[module];
  *count = kFunctions[module];
  return 1;
}

void ignoreVersion(uint32_t) {}

struct Callbacks {
  size_t bytes;
  int (*placesOf)(int module, Function ***table, unsigned *count);
};
struct Version {
  size_t bytes;
  uint32_t version, reserved;
  void (*setProfilers)(uint32_t);
};

const void *tableOf(uint32_t which) {
  static const Callbacks callbacks = {sizeof(Callbacks), placesOf};
  static const Version version = {sizeof(Version), 3, 0, ignoreVersion};
  constexpr uint32_t kCallbacks = 1, kVersion = 3;
  if (which == kCallbacks)
    return &callbacks;
  return which == kVersion ? &version : nullptr;
}

/// Called once. A library that cannot be opened is ignored, as NVIDIA's header
/// does: a step does not fail for it.
bool attach() {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path)
    return false;
  auto library = SharedLibrary::open(path, SharedLibrary::Imports::whenCalled);
  if (!library.ok())
    return false;
  using Begin = int(const void *(*)(uint32_t));
  auto *begin = library->function<Begin>("InitializeInjectionNvtx2");
  return begin && begin(tableOf) && given[kCore][kPush] && given[kCore][kPop];
}

} // namespace

bool profilerListens() {
  static const bool listens = attach();
  return listens;
}

void ProfilerRange::push(const std::string &name) {
  reinterpret_cast<int (*)(const char *)>(given[kCore][kPush])(name.c_str());
  isOpen_ = true;
}

void ProfilerRange::pop() { reinterpret_cast<int (*)()>(given[kCore][kPop])(); }

std::string profilerName(const artifact::Command &command) {
  std::string name = textOf(command.name());
  size_t nodes = countOf(command.nodes());
  for (size_t i = 0; i < nodes; ++i)
    append(name, i ? ", " : " (", textOf(command.nodes()->Get(i)));
  return nodes ? name + ")" : name;
}

} // namespace gradus::runtime
