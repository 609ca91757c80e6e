// Measures the selection of the largest hundredth of 20,000,001 numbers beside
// the sum of their squares, which reads them once: `select_bench`, on one core.

#include "runtime/cpu/select_largest.h"

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

using namespace gradus::runtime;

namespace {

constexpr size_t kSize = 20'000'001, kCount = 200'001;

const std::vector<float> &numbers() {
  static const std::vector<float> all = [] {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> drawn(kSize);
    for (float &each : drawn)
      each = normal(random);
    return drawn;
  }();
  return all;
}

void selectLargest(benchmark::State &state) {
  // Codegen would choose this scratch (codegen/artifact/write_select.cpp).
  SelectionScratch scratch{nullptr, 16, 13, 2 * (2 * kCount / 16 + 512)};
  std::vector<float> memory(
      scratch.parts * ((size_t(1) << scratch.digitBits) + scratch.listed * 2));
  scratch.memory = memory.data();
  std::vector<int32_t> indices(kCount);
  std::vector<float> values(kCount);
  ThreadPool pool(1);
  Selection<float> selection({numbers(), nullptr, indices, values}, scratch,
                             pool);
  for (auto _ : state)
    selection.run();
}

void sumOfSquares(benchmark::State &state) {
  const std::vector<float> &all = numbers();
  for (auto _ : state) {
    float lanes[32] = {};
    for (size_t i = 0; i + 32 <= kSize; i += 32)
      for (size_t lane = 0; lane < 32; ++lane)
        lanes[lane] += all[i + lane] * all[i + lane];
    benchmark::DoNotOptimize(lanes);
  }
}

} // namespace

BENCHMARK(selectLargest)->Unit(benchmark::kMillisecond);
BENCHMARK(sumOfSquares)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
