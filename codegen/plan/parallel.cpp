// Threads take numbers from one counter until none is left.

#include "codegen/plan/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

void gradus::parallelFor(size_t count, llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next = 0;
  auto takeTurns = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  size_t others = std::min<size_t>(std::thread::hardware_concurrency(), count);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < others; ++i)
    threads.emplace_back(takeTurns);
  takeTurns();
  for (std::thread &thread : threads)
    thread.join();
}
