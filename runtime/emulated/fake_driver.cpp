// Forwards each driver call to a method of the only emulated GPU.

#include "runtime/emulated/fake_state.h"

#include <cstdlib>
#include <cstring>

namespace gradus::runtime::cuda {

namespace {

FakeState *current = nullptr;

using Needs = FakeState::Needs;

/// The function in the driver's table for a method.
template <auto method, Needs needs, const char *symbol> struct Call;
template <typename... Arguments, Result (FakeState::*method)(Arguments...),
          Needs needs, const char *symbol>
struct Call<method, needs, symbol> {
  static Result run(Arguments... arguments) {
    std::lock_guard lock(current->mutex());
    Result entered = current->enter(needs, symbol);
    bool works = needs == Needs::release ||
                 (needs == Needs::freeing && current->isLost());
    if (entered != Result::success && !works)
      return entered;
    Result result = (current->*method)(arguments...);
    return entered != Result::success ? entered : result;
  }
};

#define GRADUS_CUDA(needs, name, symbol, parameters)                           \
  constexpr char name##Symbol[] = #symbol;
#include "runtime/cuda/driver/driver.def"
constexpr char kDeclareSymbol[] = "declareAccesses",
               kDiscardSymbol[] = "discard";

/// Returns words that are valid until this thread's next call.
const char *reportOfCurrent() {
  static thread_local std::string words;
  std::lock_guard lock(current->mutex());
  words = current->lastFault();
  return words.c_str();
}

Driver makeTable() {
  Driver driver;
#define GRADUS_CUDA(needs, name, symbol, parameters)                           \
  driver.name = Call<&FakeState::name, Needs::needs, name##Symbol>::run;
#include "runtime/cuda/driver/driver.def"
  driver.declareAccesses =
      Call<&FakeState::declareAccesses, Needs::context, kDeclareSymbol>::run;
  driver.discard =
      Call<&FakeState::discard, Needs::context, kDiscardSymbol>::run;
  driver.report = reportOfCurrent;
  return driver;
}

} // namespace

FakeDriver::FakeDriver(const FakeOptions &options)
    : state_(std::make_unique<FakeState>(options)), driver_(makeTable()) {
  if (current) {
    std::fputs("gradus: a second emulated card in one process\n", stderr);
    std::abort();
  }
  current = state_.get();
}

FakeDriver::~FakeDriver() { current = nullptr; }

void FakeDriver::failAfter(int64_t calls) { state_->failAfter(calls); }
std::string FakeDriver::report() const { return state_->firstFault(); }
std::string FakeDriver::leaks() const { return state_->leaks(); }
const std::vector<std::string> &FakeDriver::log() const {
  return state_->log();
}

//===-- faults -----------------------------------------------------------===//

Result FakeState::enter(Needs needs, const char *function) {
  function_ = function;
  if (needs == Needs::nothing)
    return Result::success;
  if (lost_ == Result::success)
    last_.clear();
  bool givesBack = needs == Needs::release || needs == Needs::freeing;
  if (!givesBack && failAfter_-- == 0)
    return Result::unknown;
  if (!context_.started)
    return refuse(Result::notInitialized, "comes before cuInit");
  if (needs == Needs::init)
    return Result::success;
  if (!context_.isCurrent())
    return refuse(Result::invalidContext, "this thread has no current context");
  if ((needs == Needs::idle || needs == Needs::freeing) &&
      lost_ == Result::success)
    return checkIdle();
  return lost_;
}

Result FakeState::fault(Result result, const std::string &words) {
  if (fault_.empty())
    fault_ = words;
  if (lost_ == Result::success)
    last_ = words;
  return result;
}

Result FakeState::lose(Result result) {
  if (lost_ == Result::success)
    lost_ = result;
  work_.drop();
  return lost_;
}

std::string FakeState::leaks() const {
  size_t allocations = 0, pinned = 0;
  for (const auto &[start, allocation] :
       const_cast<FakeMemory &>(memory_).allocations())
    if (!allocation.freed)
      ++(allocation.pinned ? pinned : allocations);
  std::pair<const char *, size_t> counts[] = {
      {"allocations", allocations},
      {"pinned allocations", pinned},
      {"streams", objects_.streams.size()},
      {"events", objects_.events.size()},
      {"modules", objects_.modules.size()},
      {"graphs", objects_.graphs.size()},
      {"executables", objects_.execs.size()},
      {"contexts", size_t(context_.retains)}};
  std::string list;
  for (auto [what, count] : counts)
    if (count)
      append(list, list.empty() ? "" : ", ", count, " ", what);
  return list;
}

//===-- start -------------------------------------------------------------===//

Result FakeState::init(unsigned) {
  if (options_.devices == 0)
    return Result::noDevice;
  context_.started = true;
  return Result::success;
}

Result FakeState::driverVersion(int *version) {
  *version = 13000;
  return Result::success;
}

Result FakeState::errorName(Result result, const char **text) {
  std::pair<Result, const char *> names[] = {
      {Result::invalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {Result::outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {Result::notInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
      {Result::deviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
      {Result::noDevice, "CUDA_ERROR_NO_DEVICE"},
      {Result::invalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
      {Result::invalidImage, "CUDA_ERROR_INVALID_IMAGE"},
      {Result::invalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {Result::noBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {Result::eccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE"},
      {Result::invalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {Result::illegalState, "CUDA_ERROR_ILLEGAL_STATE"},
      {Result::notFound, "CUDA_ERROR_NOT_FOUND"},
      {Result::notReady, "CUDA_ERROR_NOT_READY"},
      {Result::illegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {Result::launchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {Result::launchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {Result::captureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {Result::captureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
      {Result::captureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
      {Result::unknown, "CUDA_ERROR_UNKNOWN"}};
  for (auto [each, name] : names)
    if (each == result) {
      *text = name;
      return Result::success;
    }
  return Result::invalidValue;
}

Result FakeState::errorString(Result result, const char **text) {
  return errorName(result, text);
}

//===-- the device -------------------------------------------------------===//

Result FakeState::deviceCount(int *count) {
  *count = options_.devices;
  return Result::success;
}

Result FakeState::deviceGet(DeviceNumber *device, int index) {
  if (index < 0 || index >= options_.devices)
    return Result::invalidDevice;
  *device = index;
  return Result::success;
}

Result FakeState::deviceName(char *name, int bytes, DeviceNumber) {
  std::snprintf(name, size_t(bytes), "the emulated GPU");
  return Result::success;
}

Result FakeState::deviceAttribute(int *value, DeviceAttribute attribute,
                                  DeviceNumber) {
  std::pair<DeviceAttribute, int> facts[] = {
      {DeviceAttribute::maxThreadsPerBlock, 1024},
      {DeviceAttribute::maxGridX, INT32_MAX},
      {DeviceAttribute::maxSharedPerBlock, 48 << 10},
      {DeviceAttribute::warpSize, 32},
      {DeviceAttribute::multiprocessors, 4},
      {DeviceAttribute::capabilityMajor, 9},
      {DeviceAttribute::capabilityMinor, 0}};
  for (auto [each, fact] : facts)
    if (each == attribute) {
      *value = fact;
      return Result::success;
    }
  return refuse(Result::invalidValue, "attribute ", int(attribute),
                " is not emulated");
}

Result FakeState::deviceMemory(size_t *bytes, DeviceNumber) {
  *bytes = options_.memoryBytes;
  return Result::success;
}

Result FakeState::contextRetain(Context *context, DeviceNumber) {
  ++context_.retains;
  *context = reinterpret_cast<Context>(this);
  return Result::success;
}

Result FakeState::contextRelease(DeviceNumber) {
  if (context_.retains == 0)
    return refuse(Result::invalidContext, "no context is retained");
  if (--context_.retains == 0)
    context_.threads.clear();
  return Result::success;
}

Result FakeState::contextSetCurrent(Context context) {
  if (context && context_.retains == 0)
    return refuse(Result::invalidContext, "the context was released");
  if (context)
    context_.threads.insert(std::this_thread::get_id());
  else
    context_.threads.erase(std::this_thread::get_id());
  return Result::success;
}

Result FakeState::contextSynchronize() {
  Result result = work_.finishAll();
  return result == Result::success ? result : lose(result);
}

} // namespace gradus::runtime::cuda
