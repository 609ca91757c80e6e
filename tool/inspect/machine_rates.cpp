// Each thread repeats short bursts of multiply-adds, then passes over memory of
// its own, in the widest vectors available; its best burst counts, since other
// processes only make it slower.

#include "tool/inspect/machine_rates.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace gradus::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBursts = 8;
constexpr int kRounds = 8000; // of a burst: some tenths of a millisecond
constexpr int kChains = 12;   // independent sums, to hide latency
constexpr uint64_t kLeastBytes = 64 << 10, kMostBytes = 64 << 20;
constexpr double kMemorySeconds = 2e-3;

typedef float Narrow __attribute__((vector_size(16)));
typedef float Wide __attribute__((vector_size(32)));
typedef float Widest __attribute__((vector_size(64)));

double secondsSince(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// The FLOPs of a burst; the compiler does not know `factor`.
template <typename Vector>
__attribute__((always_inline)) inline double multiplyAdd(float factor,
                                                         float &sink) {
  Vector sums[kChains] = {}, factors = Vector{} + factor;
  for (int round = 0; round < kRounds; ++round)
    for (Vector &sum : sums)
      sum = sum * factors + factors;
  for (const Vector &sum : sums)
    sink += sum[0];
  return 2.0 * kRounds * kChains * sizeof(Vector) / sizeof(float);
}

template <typename Vector>
__attribute__((always_inline)) inline void scale(float *data, size_t count,
                                                 float factor) {
  auto *vectors = reinterpret_cast<Vector *>(data);
  Vector factors = Vector{} + factor;
  for (size_t i = 0; i < count * sizeof(float) / sizeof(Vector); ++i)
    vectors[i] = vectors[i] * factors;
}

struct Loops {
  double (*multiplyAdd)(float factor, float &sink);
  double (*addPairs)(float factor, float &sink); // null: there are none
  void (*scale)(float *data, size_t count, float factor);
};

#ifdef __x86_64__
__attribute__((target("avx512f"))) double multiplyAdd512(float f, float &s) {
  return multiplyAdd<Widest>(f, s);
}
__attribute__((target("avx512f"))) void scale512(float *d, size_t n, float f) {
  scale<Widest>(d, n, f);
}
__attribute__((target("avx512f,avx512bf16"))) double addPairs512(float factor,
                                                                 float &sink) {
  __m512 sums[kChains] = {};
  auto pairs = reinterpret_cast<__m512bh>(_mm512_set1_ps(factor));
  for (int round = 0; round < kRounds; ++round)
    for (__m512 &sum : sums)
      sum = _mm512_dpbf16_ps(sum, pairs, pairs);
  for (const __m512 &sum : sums)
    sink += sum[0];
  return 4.0 * kRounds * kChains * sizeof(__m512) / sizeof(float);
}
__attribute__((target("avx2,fma"))) double multiplyAdd256(float f, float &s) {
  return multiplyAdd<Wide>(f, s);
}
__attribute__((target("avx2,fma"))) void scale256(float *d, size_t n, float f) {
  scale<Wide>(d, n, f);
}
#endif

Loops widestLoops() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f"))
    return {multiplyAdd512,
            __builtin_cpu_supports("avx512bf16") ? addPairs512 : nullptr,
            scale512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {multiplyAdd256, nullptr, scale256};
#endif
  return {multiplyAdd<Narrow>, nullptr, scale<Narrow>};
}

/// The measurement of one thread.
class Probe {
public:
  explicit Probe(uint64_t bytes) : memory_(bytes / sizeof(float) + 16, 1) {}

  void measureFlops(const Loops &loops) {
    for (int burst = 0; burst < kBursts; ++burst) {
      flops = std::max(flops, rateOf(loops.multiplyAdd));
      if (loops.addPairs)
        pairFlops = std::max(pairFlops, rateOf(loops.addPairs));
    }
  }

  void measureBytes(const Loops &loops) {
    auto address = reinterpret_cast<uintptr_t>(memory_.data());
    float *data = memory_.data() + (64 - address % 64) % 64 / sizeof(float);
    size_t count = memory_.size() - 16;
    auto began = Clock::now();
    do {
      auto passed = Clock::now();
      loops.scale(data, count, factor_);
      bytes =
          std::max(bytes, 2.0 * count * sizeof(float) / secondsSince(passed));
    } while (secondsSince(began) < kMemorySeconds);
  }

  double flops = 0, pairFlops = 0, bytes = 0;

private:
  double rateOf(double (*burst)(float factor, float &sink)) {
    auto began = Clock::now();
    double done = burst(factor_, sink_);
    return done / secondsSince(began);
  }

  std::vector<float> memory_;
  volatile float factor_ = 0.999f;
  float sink_ = 0;
};

} // namespace

/// Runs all probes at once; returns the number of threads that the system
/// allowed.
static int runTogether(std::vector<Probe> &probes) {
  Loops loops = widestLoops();
  std::atomic<bool> begun = false;
  std::vector<std::thread> running;
  try {
    for (Probe &probe : probes)
      running.emplace_back([&] {
        begun.wait(false);
        probe.measureFlops(loops);
        probe.measureBytes(loops);
      });
  } catch (const std::system_error &) {
    // A session would have fewer threads, too.
  }
  begun = true;
  begun.notify_all();
  for (std::thread &thread : running)
    thread.join();
  return running.size();
}

MachineRates measureRates(int threads, uint64_t footprint) {
  threads = std::max(1, threads);
  uint64_t bytes = std::clamp(footprint, kLeastBytes, kMostBytes) / threads;
  std::vector<Probe> probes(threads, Probe(bytes));
  int ran = runTogether(probes);
  if (ran == 0) {
    probes.front().measureFlops(widestLoops());
    probes.front().measureBytes(widestLoops());
  }
  MachineRates rates;
  rates.threads = std::max(1, ran);
  for (const Probe &probe : probes) {
    rates.flops += probe.flops;
    rates.pairFlops += probe.pairFlops;
    rates.bytes += probe.bytes;
  }
  return rates;
}

} // namespace gradus::cli
