// The rate of our all-reduce beside that of MPI_Allreduce, in one run, in turn:
//
//   mpirun --bind-to none -n 2 build/bin/gradus_bench_all_reduce [ROUNDS]
//
// prints for each size the best and the median of both, and their ratio. One
// thread a rank runs both.

#include "runtime/collectives/mpi/mpi_communicator.h"
#include "runtime/collectives/sum_tree.h"

#define OMPI_SKIP_MPICXX
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace gradus::runtime;

namespace {

using Clock = std::chrono::steady_clock;

/// Gigabytes of the buffer in a second, from when all have begun.
template <typename Run> double rateOf(uint64_t bytes, const Run &run) {
  MPI_Barrier(MPI_COMM_WORLD);
  auto start = Clock::now();
  run();
  double own = std::chrono::duration<double>(Clock::now() - start).count(), all;
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return static_cast<double>(bytes) / all * 1e-9;
}

double median(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

double best(const std::vector<double> &rates) {
  return *std::max_element(rates.begin(), rates.end());
}

void compare(SumTree &tree, int rank, uint64_t bytes, int rounds) {
  uint64_t count = bytes / sizeof(float);
  std::vector<float> ours(count), theirs(count);
  std::vector<double> our, their;
  for (int round = -1; round < rounds; ++round) { // the first warms up
    std::fill(ours.begin(), ours.end(), 1.f);
    std::fill(theirs.begin(), theirs.end(), 1.f);
    double a = rateOf(bytes, [&] {
      if (Status status = tree.run({.data = ours.data(), .count = count});
          !status.ok())
        std::fprintf(stderr, "%s\n", status.message().c_str()), std::exit(1);
    });
    double b = rateOf(bytes, [&] {
      MPI_Allreduce(MPI_IN_PLACE, theirs.data(), static_cast<int>(count),
                    MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    });
    if (round < 0)
      continue;
    our.push_back(a);
    their.push_back(b);
  }
  if (ours != theirs)
    std::fprintf(stderr, "the sums differ\n"), std::exit(1);
  if (rank == 0)
    std::printf("%7.2f MB: Gradus %6.2f GB/s (median %6.2f), MPI_Allreduce "
                "%6.2f GB/s (median %6.2f), ratio %.2f (of medians %.2f)\n",
                static_cast<double>(bytes) * 1e-6, best(our), median(our),
                best(their), median(their), best(our) / best(their),
                median(our) / median(their));
}

} // namespace

int main(int count, char **arguments) {
  int rounds = count > 1 ? std::atoi(arguments[1]) : 20;
  auto communicator = openMpiCommunicator();
  if (!communicator.ok()) {
    std::fprintf(stderr, "%s\n", communicator.status().message().c_str());
    return 1;
  }
  Liveness liveness(**communicator, {});
  SumTree tree(liveness);
  for (uint64_t bytes = 1 << 20; bytes <= 100 << 20; bytes *= 10)
    compare(tree, (*communicator)->rank(), bytes, rounds);
  bool isOrderly = liveness.end().ok();
  (*communicator)->leave(isOrderly);
  return isOrderly ? 0 : 1;
}
