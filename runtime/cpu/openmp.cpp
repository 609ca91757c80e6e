// libgomp's functions as GCC calls them: the few that oneDNN uses.

#include "runtime/cpu/openmp.h"

#include "runtime/cpu/call_memory.h"

#include <algorithm>
#include <atomic>
#include <immintrin.h>
#include <optional>
#include <sched.h>

namespace gradus::runtime {

namespace {

using Body = void (*)(void *data);

/// A parallel region: `size` parts of one body.
struct Team {
  Body body = nullptr;
  void *data = nullptr;
  int size = 1;
  ThreadPool *pool = nullptr;  // runs the parts; null: one after another
  bool inCallMemory = false;   // see cpu/call_memory.h
  std::atomic<int> arrived{0}; // threads at the barrier
  std::atomic<int> phase{0};   // barriers passed

  void wait();
};

/// A loop shared between the parts of a team, statically.
struct Loop {
  long start = 0, step = 1, count = 0, chunk = 0;
  long trip = 0; // chunks that this part has done
};

/// The team and part that a thread is running.
struct Place {
  Team *team = nullptr;
  int number = 0;
  Loop loop;
};

constexpr int kMostNested = 4;

/// Plain data, so that the first use in a thread costs nothing.
struct ThreadFacts {
  ThreadPool *pool = nullptr;
  int logical = 1;
  Place place;
  int depth = 0; // regions that this thread has begun and not ended
};

thread_local ThreadFacts facts;
thread_local Team teams[kMostNested];
thread_local Place outer[kMostNested];

void Team::wait() {
  if (size == 1 || !pool)
    return;
  int now = phase.load(std::memory_order_acquire);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
    arrived.store(0, std::memory_order_relaxed);
    phase.store(now + 1, std::memory_order_release);
    return;
  }
  const int mostSpins = pool->isCrowded() ? 0 : 4096;
  for (int spins = 0; phase.load(std::memory_order_acquire) == now; ++spins) {
    _mm_pause();
    if (spins >= mostSpins)
      sched_yield();
  }
}

void runPart(Team &team, int number) {
  Place saved = facts.place;
  facts.place = {&team, number, {}};
  team.body(team.data);
  facts.place = saved;
}

void runBlock(void *team, int64_t block) {
  // Call memory is open in this thread if it is in the caller's.
  std::optional<CallMemoryScope> memory;
  if (static_cast<Team *>(team)->inCallMemory)
    memory.emplace();
  runPart(*static_cast<Team *>(team), static_cast<int>(block) + 1);
}

int teamSize() { return facts.place.team ? facts.place.team->size : 1; }

//===-- the functions of libgomp ------------------------------------------===//

void parallelStart(Body body, void *data, unsigned threads) {
  int depth = std::min(facts.depth, kMostNested - 1);
  Team &team = teams[depth];
  team.body = body;
  team.data = data;
  team.size = threads ? static_cast<int>(threads) : facts.logical;
  // Inside a region the pool is in use; the part then runs the inner parts
  // itself.
  bool isOutermost = facts.depth == 0 && !facts.place.team;
  team.pool = isOutermost && team.size > 1 ? facts.pool : nullptr;
  team.inCallMemory = CallMemoryScope::isOpen();
  team.arrived = 0;
  if (team.pool) {
    team.pool->start(team.size - 1, runBlock, &team);
    team.pool->wakeCrowd(); // The library also has barriers of its own.
  }
  outer[depth] = facts.place;
  facts.place = {&team, 0, {}};
  ++facts.depth;
}

void parallelEnd() {
  int depth = std::min(facts.depth, kMostNested) - 1;
  Team &team = teams[depth];
  facts.place = outer[depth];
  if (team.pool)
    team.pool->finish();
  else
    for (int number = 1; number < team.size; ++number)
      runPart(team, number);
  --facts.depth; // A part that begins a region needs another team than ours.
}

void barrier() {
  if (facts.place.team)
    facts.place.team->wait();
}

bool nextChunk(long &begin, long &end) {
  Loop &loop = facts.place.loop;
  long size = teamSize(), number = facts.place.number;
  if (loop.chunk == 0) { // Each part gets one range, the first ones longer.
    if (loop.trip++ > 0)
      return false;
    long share = loop.count / size, rest = loop.count % size;
    begin = share * number + std::min(number, rest);
    end = begin + share + (number < rest ? 1 : 0);
  } else {
    begin = (loop.trip++ * size + number) * loop.chunk;
    end = std::min(begin + loop.chunk, loop.count);
  }
  if (begin >= end)
    return false;
  begin = loop.start + begin * loop.step;
  end = loop.start + end * loop.step;
  return true;
}

bool loopNext(long *begin, long *end) { return nextChunk(*begin, *end); }

bool loopStart(long start, long end, long step, long chunk, long *begin,
               long *stop) {
  long rounding = step > 0 ? step - 1 : step + 1;
  long count = std::max(0L, (end - start + rounding) / step);
  facts.place.loop = {start, step, count, chunk, 0};
  return nextChunk(*begin, *stop);
}

void loopEnd() {}

int maxThreads() { return facts.logical; }
int numThreads() { return teamSize(); }
int threadNumber() { return facts.place.number; }
int inParallel() { return teamSize() > 1; }

template <typename Function> void *addressOf(Function *function) {
  return reinterpret_cast<void *>(function);
}

} // namespace

OpenMpScope::OpenMpScope(ThreadPool &pool, int logical)
    : savedPool_(facts.pool), savedLogical_(facts.logical) {
  facts.pool = &pool;
  facts.logical = std::clamp(logical, 1, pool.threads());
}

OpenMpScope::~OpenMpScope() {
  facts.pool = savedPool_;
  facts.logical = savedLogical_;
}

std::span<const OpenMpFunction> openMpFunctions() {
  static const OpenMpFunction functions[] = {
      {"GOMP_parallel_start", addressOf(parallelStart)},
      {"GOMP_parallel_end", addressOf(parallelEnd)},
      {"GOMP_barrier", addressOf(barrier)},
      {"GOMP_loop_static_start", addressOf(loopStart)},
      {"GOMP_loop_static_next", addressOf(loopNext)},
      {"GOMP_loop_end_nowait", addressOf(loopEnd)},
      {"omp_get_max_threads", addressOf(maxThreads)},
      {"omp_get_num_threads", addressOf(numThreads)},
      {"omp_get_thread_num", addressOf(threadNumber)},
      {"omp_in_parallel", addressOf(inParallel)},
  };
  return functions;
}

} // namespace gradus::runtime
