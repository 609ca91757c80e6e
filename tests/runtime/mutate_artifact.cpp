// mutate_artifact FILE [COUNT [FIRST [SEED]]]: damages an artifact in COUNT
// ways (default 1000; half with stored, half with recomputed hashes) and runs
// what still loads. Exit code 1 and the mutation's number where one goes
// unnoticed; a crash is a crash. FIRST repeats one: mutate_artifact
// lenet.gradus 1 4711.

#include "mutations.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace gradus::test;

static int64_t number(int count, char **arguments, int i, int64_t otherwise) {
  return i < count ? std::atoll(arguments[i]) : otherwise;
}

static bool run(const std::vector<uint8_t> &file, Hashes hashes,
                const char *name, uint64_t seed, int64_t first, int64_t count) {
  constexpr int64_t kBatch = 500;
  MutationCounts counts;
  std::string wrong;
  for (int64_t done = 0; done < count && wrong.empty(); done += kBatch) {
    int64_t batch = count - done < kBatch ? count - done : kBatch;
    std::fprintf(stderr, "%s hashes: mutations %lld to %lld\n", name,
                 static_cast<long long>(first + done),
                 static_cast<long long>(first + done + batch - 1));
    wrong = runMutations(file, hashes, seed, first + done, batch, counts);
  }
  std::printf("%s hashes: %lld refused, %lld ran%s%s\n", name,
              static_cast<long long>(counts.refused),
              static_cast<long long>(counts.ran), wrong.empty() ? "" : ": ",
              wrong.c_str());
  return wrong.empty();
}

int main(int count, char **arguments) {
  if (count < 2) {
    std::fprintf(stderr,
                 "usage: mutate_artifact FILE [COUNT [FIRST [SEED]]]\n");
    return 2;
  }
  std::ifstream stream(arguments[1], std::ios::binary);
  std::vector<uint8_t> file{std::istreambuf_iterator<char>(stream), {}};
  if (file.empty()) {
    std::fprintf(stderr, "%s: cannot read it\n", arguments[1]);
    return 2;
  }
  if (std::string words = runWhole(file); !words.empty()) {
    std::fprintf(stderr, "%s: does not run undamaged: %s\n", arguments[1],
                 words.c_str());
    return 2;
  }
  int64_t each = (number(count, arguments, 2, 1000) + 1) / 2;
  int64_t first = number(count, arguments, 3, 0);
  auto seed = static_cast<uint64_t>(number(count, arguments, 4, 1));
  bool stored = run(file, Hashes::stored, "stored", seed, first, each);
  bool recomputed =
      run(file, Hashes::recomputed, "recomputed", seed, first, each);
  return stored && recomputed ? 0 : 1;
}
