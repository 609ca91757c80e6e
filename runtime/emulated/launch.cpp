// Threads run until they wait; a warp continues when all of its threads wait
// for the same shuffle, the block when all wait for the same barrier.

#include "runtime/emulated/launch.h"

#include "runtime/emulated/fiber.h"
#include "runtime/emulated/shadow.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace gradus::runtime::emulated {

//===-- memory ------------------------------------------------------------===//

Memory::Memory() = default;
Memory::~Memory() = default;

void Memory::add(void *data, int64_t bytes, int64_t element) {
  insert({reinterpret_cast<uintptr_t>(data), bytes, element,
          std::make_unique<Shadow>()});
}

void Memory::addConstant(const void *data, int64_t bytes) {
  insert({reinterpret_cast<uintptr_t>(data), bytes, 1, nullptr});
}

void Memory::insert(Range range) {
  auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), range.start,
      [](uintptr_t start, const Range &each) { return start < each.start; });
  ranges_.insert(after, std::move(range));
}

void Memory::beginLaunch() {
  for (Range &range : ranges_)
    if (range.shadow)
      range.shadow->reset(range.bytes, range.element);
}

Memory::Range *Memory::find(const void *address, int64_t bytes,
                            int64_t &offset) {
  auto wanted = reinterpret_cast<uintptr_t>(address);
  auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), wanted,
      [](uintptr_t start, const Range &each) { return start < each.start; });
  if (after == ranges_.begin())
    return nullptr;
  Range &range = *std::prev(after);
  offset = int64_t(wanted - range.start);
  return offset + bytes <= range.bytes ? &range : nullptr;
}

namespace {

constexpr int64_t kWarp = 32;

//===-- a block -----------------------------------------------------------===//

/// The arguments of Services::access.
struct Access {
  int64_t buffer, index, elements, bytes, alignment, writes;
};

enum class Wait { none, barrier, warpBarrier, shuffle };

const char *nameOf(Wait wait) {
  switch (wait) {
  case Wait::barrier:
    return "a barrier";
  case Wait::warpBarrier:
    return "a barrier of its warp";
  case Wait::shuffle:
    return "a shuffle";
  case Wait::none:
    return "nothing";
  }
  return "";
}

class Block;

/// A thread and the reason why it waits.
struct Runner : Thread {
  Block *owner = nullptr;
  Fiber fiber;
  Wait wait = Wait::none;
  int64_t site = 0;
  int32_t value = 0, mask = 0, received = 0;
  uint32_t warpBarriers = 0;

  void waitFor(Wait what, int64_t where) {
    wait = what;
    site = where;
    fiber.yield();
  }
  /// Says where the thread waits, or that it has ended.
  std::string state() const {
    return fiber.isDone() ? "has ended" : inWords("waits at ", nameOf(wait));
  }
};

class Block {
public:
  Block(const Launch &launch, Memory &memory);
  Status run(int64_t number);
  int64_t operations() const; // of the last block

  void check(Runner &runner, const Access &access, const char *address);
  Entry entry() const { return launch_.entry; }

private:
  bool start(int64_t number);
  bool runWarp(int64_t first);
  bool resumeReady(int64_t first, int64_t end);
  bool waitsAlike(int64_t first, int64_t end);
  void finishShuffle(int64_t first, int64_t end);
  bool passBarrier();
  bool fail(const Runner &runner, const std::string &what);
  bool readsConstant(const Access &access, const char *address) const;
  bool passes(Runner &runner, const Access &access, const char *address);
  std::string touch(Runner &runner, const Access &access, const char *address);
  std::string note(const Runner &runner, const Access &access, int64_t offset,
                   Shadow &shadow) const;

  const Launch &launch_;
  Memory &memory_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<int64_t> warps_; // first threads, in the order they run
  std::vector<char> shared_;
  Shadow sharedShadow_;
  uint32_t barriers_ = 0;
  Status failure_;
};

//===-- services ----------------------------------------------------------===//

void waitAtBarrier(Thread *thread, int64_t site) {
  static_cast<Runner *>(thread)->waitFor(Wait::barrier, site);
}

void waitAtWarpBarrier(Thread *thread, int64_t site) {
  static_cast<Runner *>(thread)->waitFor(Wait::warpBarrier, site);
}

int32_t shuffleXor(Thread *thread, int64_t site, int32_t value, int32_t mask) {
  Runner &runner = *static_cast<Runner *>(thread);
  runner.value = value;
  runner.mask = mask;
  runner.waitFor(Wait::shuffle, site);
  return runner.received;
}

void noteAccess(Thread *thread, int64_t buffer, int64_t index, int64_t elements,
                int64_t bytes, int64_t alignment, int64_t writes,
                void *address) {
  Runner &runner = *static_cast<Runner *>(thread);
  runner.owner->check(runner,
                      {buffer, index, elements, bytes, alignment, writes},
                      static_cast<const char *>(address));
}

const Services services = {waitAtBarrier, waitAtWarpBarrier, shuffleXor,
                           noteAccess,
#define GRADUS_FUNCTION(name)                                                  \
  [](float x) { return std::name(x); }, [](double x) { return std::name(x); },
                           GRADUS_EMULATED_UNARY(GRADUS_FUNCTION)
#undef GRADUS_FUNCTION
#define GRADUS_FUNCTION(name)                                                  \
  [](float x, float y) { return std::name(x, y); },                            \
      [](double x, double y) { return std::name(x, y); },
                               GRADUS_EMULATED_BINARY(GRADUS_FUNCTION)
#undef GRADUS_FUNCTION
};

//===-- running -----------------------------------------------------------===//

Block::Block(const Launch &launch, Memory &memory)
    : launch_(launch), memory_(memory), shared_(launch.shared + 64) {
  for (int64_t i = 0; i < launch.threads; ++i)
    runners_.push_back(std::make_unique<Runner>());
  for (int64_t first = 0; first < launch.threads; first += kWarp)
    warps_.push_back(first);
  std::mt19937 random(launch.seed);
  if (launch.seed)
    std::shuffle(warps_.begin(), warps_.end(), random);
}

// A sanitizer would look for the function's type before its first byte, where
// loaded code has nothing.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void runEntry(void *runner) {
  auto *self = static_cast<Runner *>(runner);
  self->owner->entry()(self);
}

bool Block::start(int64_t number) {
  auto address = reinterpret_cast<uintptr_t>(shared_.data());
  char *shared = shared_.data() + (64 - address % 64) % 64;
  std::memset(shared, 0xFF, launch_.shared); // NaNs
  sharedShadow_.reset(launch_.shared, 1);
  for (int64_t i = 0; i < launch_.threads; ++i) {
    Runner &runner = *runners_[i];
    Thread &thread = runner;
    thread = {const_cast<void **>(launch_.arguments.data()),
              shared,
              &services,
              i,
              number,
              launch_.threads,
              launch_.blocks};
    runner.owner = this;
    runner.wait = Wait::none;
    if (!runner.fiber.start(runEntry, &runner))
      return fail(runner, "no memory for its stack");
  }
  return true;
}

Status Block::run(int64_t number) {
  if (!start(number))
    return failure_;
  do
    for (int64_t first : warps_)
      if (!runWarp(first))
        return failure_;
  while (passBarrier());
  return failure_;
}

int64_t Block::operations() const {
  int64_t all = 0;
  for (const auto &runner : runners_)
    all += runner->operations;
  return all;
}

/// Runs a warp until its threads wait for the block or have ended.
bool Block::runWarp(int64_t first) {
  int64_t end = std::min(first + kWarp, launch_.threads);
  while (true) {
    if (!resumeReady(first, end))
      return false;
    bool waits = std::any_of(
        runners_.begin() + first, runners_.begin() + end, [](auto &runner) {
          return !runner->fiber.isDone() && runner->wait != Wait::barrier;
        });
    if (!waits)
      return true;
    if (!waitsAlike(first, end))
      return false;
    finishShuffle(first, end);
  }
}

bool Block::resumeReady(int64_t first, int64_t end) {
  for (int64_t i = first; i < end; ++i)
    if (!runners_[i]->fiber.isDone() && runners_[i]->wait == Wait::none) {
      runners_[i]->fiber.resume();
      if (!failure_.ok())
        return false;
    }
  return true;
}

/// Checks that all threads of a range wait at the same site.
bool Block::waitsAlike(int64_t first, int64_t end) {
  auto waits = [](const Runner &runner) {
    return !runner.fiber.isDone() && runner.wait != Wait::none;
  };
  int64_t one = first; // one that waits
  while (!waits(*runners_[one]))
    ++one;
  for (int64_t i = first; i < end; ++i) {
    Runner &runner = *runners_[i], &other = *runners_[one];
    if (!waits(runner) || runner.wait != other.wait ||
        runner.site != other.site)
      return fail(other,
                  inWords("waits at ", nameOf(other.wait), " that thread ", i,
                          " does not reach, which ", runner.state()));
  }
  return true;
}

void Block::finishShuffle(int64_t first, int64_t end) {
  for (int64_t i = first; i < end; ++i) {
    Runner &runner = *runners_[i];
    int64_t from = first + ((i - first) ^ runner.mask);
    if (runner.wait == Wait::shuffle)
      runner.received = from < end ? runners_[from]->value : runner.value;
    else
      ++runner.warpBarriers;
  }
  for (int64_t i = first; i < end; ++i)
    runners_[i]->wait = Wait::none;
}

/// Whether there is more to run: all threads waited at the barrier.
bool Block::passBarrier() {
  auto isDone = [](auto &runner) { return runner->fiber.isDone(); };
  if (std::all_of(runners_.begin(), runners_.end(), isDone) ||
      !waitsAlike(0, launch_.threads))
    return false;
  ++barriers_;
  for (auto &runner : runners_)
    runner->wait = Wait::none;
  return true;
}

bool Block::fail(const Runner &runner, const std::string &what) {
  failure_ = failed("kernel ", launch_.name, ", block ", runner.block,
                    ", thread ", runner.thread, ": ", what);
  return false;
}

//===-- checking ----------------------------------------------------------===//

static std::string nameOf(const Access &access) {
  if (access.buffer == kAddress)
    return "an address";
  return access.buffer < 0 ? inWords("shared memory ", -1 - access.buffer)
                           : inWords("argument ", access.buffer);
}

/// Never returns to a thread that made an error; it must not hold anything that
/// needs to be freed.
void Block::check(Runner &runner, const Access &access, const char *address) {
  if (!passes(runner, access, address))
    runner.fiber.yield();
}

static bool isShared(const Access &access) {
  return access.buffer < 0 && access.buffer != kAddress;
}

static bool isInside(const Access &access) {
  return access.index >= 0 && access.index < access.elements;
}

/// Alignments are powers of two.
static bool isAligned(const Access &access, const char *address) {
  auto place = reinterpret_cast<uintptr_t>(address);
  return (place & uint64_t(access.alignment - 1)) == 0;
}

/// Whether an access is a correct read of a constant, as most are: no race is
/// possible then.
bool Block::readsConstant(const Access &access, const char *address) const {
  if (access.writes || isShared(access) || !isInside(access) ||
      !isAligned(access, address))
    return false;
  int64_t offset;
  const Memory::Range *range = memory_.find(address, access.bytes, offset);
  return range && !range->shadow;
}

bool Block::passes(Runner &runner, const Access &access, const char *address) {
  if (readsConstant(access, address))
    return true;
  std::string wrong = touch(runner, access, address);
  return wrong.empty() || fail(runner, wrong);
}

std::string Block::touch(Runner &runner, const Access &access,
                         const char *address) {
  const char *verb = access.writes ? "writes" : "reads";
  if (!isInside(access))
    return inWords(verb, " element ", access.index, " of ", nameOf(access),
                   ", which has ", access.elements);
  if (!isAligned(access, address))
    return inWords(verb, " ", access.bytes, " bytes of ", nameOf(access),
                   " at an address that is no multiple of ", access.alignment);
  int64_t offset = address - runner.shared;
  Shadow *shadow = &sharedShadow_;
  if (!isShared(access)) {
    Memory::Range *range = memory_.find(address, access.bytes, offset);
    if (!range)
      return inWords(verb, " ", access.bytes, " bytes of ", nameOf(access),
                     " outside of the device's memory");
    shadow = range->shadow.get();
  }
  std::string wrong;
  if (shadow)
    wrong = note(runner, access, offset, *shadow);
  if (wrong.empty() && !isShared(access) && memory_.watch)
    wrong = memory_.watch(address, access.bytes, access.writes);
  if (wrong.empty() && !shadow)
    wrong = "writes what kernels only read";
  return wrong.empty() ? wrong
                       : inWords("element ", access.index, " of ",
                                 nameOf(access), ": ", wrong);
}

std::string Block::note(const Runner &runner, const Access &access,
                        int64_t offset, Shadow &shadow) const {
  Moment now{int32_t(runner.block), int32_t(runner.thread), barriers_,
             runner.warpBarriers};
  return access.writes ? shadow.write(offset, access.bytes, now)
                       : shadow.read(offset, access.bytes, now,
                                     /*mustBeWritten=*/isShared(access));
}

} // namespace

Status run(const Launch &launch, Memory &memory, int64_t &operations) {
  memory.beginLaunch();
  Block block(launch, memory);
  for (int64_t number = 0; number < launch.blocks; ++number) {
    GRADUS_TRY(block.run(number));
    operations += block.operations();
  }
  return Status();
}

Status run(const Launch &launch, Memory &memory) {
  int64_t operations = 0;
  return run(launch, memory, operations);
}

} // namespace gradus::runtime::emulated
