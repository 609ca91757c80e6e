// Damaging an artifact in the ways that disks, copies and forgers do.

#include "mutations.h"

#include "collectives/equal_ranks.h"
#include "runtime/session/session.h"
#include "test_artifact.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace gradus::test {

namespace {

using Random = std::mt19937_64;
using Bytes = std::vector<uint8_t>;

struct Range {
  size_t begin, end;
};

size_t below(Random &random, size_t limit) {
  return limit ? random() % limit : 0;
}

/// Where machine code and its signatures lie.
std::vector<Range> trustedRanges(std::span<const uint8_t> file) {
  std::vector<Range> ranges;
  const auto *header = artifact::GetSizePrefixedHeader(file.data());
  auto add = [&](const artifact::Section *section) {
    if (section)
      ranges.push_back(
          {section->offset(), section->offset() + section->size()});
  };
  for (const artifact::Plan *plan : *header->plans()) {
    add(plan->code());
    add(plan->kernels());
    for (unsigned i = 0; plan->images() && i < plan->images()->size(); ++i)
      add(plan->images()->Get(i)->code());
  }
  return ranges;
}

/// Mutations of the header are the interesting ones: half of all.
size_t pickPlace(Random &random, const Bytes &file) {
  size_t header = flatbuffers::ReadScalar<uint32_t>(file.data()) + 4;
  bool inHeader = random() % 2 && header < file.size();
  return below(random, inHeader ? header : file.size());
}

void writeWord(Random &random, Bytes &file, size_t at) {
  static constexpr uint64_t kWords[] = {0,
                                        1,
                                        2,
                                        63,
                                        64,
                                        0x7f,
                                        0x80,
                                        0xff,
                                        0xffff,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        uint64_t{1} << 62,
                                        uint64_t{1} << 63,
                                        ~uint64_t{0},
                                        ~uint64_t{63}};
  uint64_t word = kWords[below(random, std::size(kWords))];
  size_t size = size_t{1} << below(random, 4);
  at = at / size * size;
  std::memcpy(file.data() + at, &word, std::min(size, file.size() - at));
}

/// Adds a little to a number: sizes that are off by one.
void nudge(Random &random, Bytes &file, size_t at) {
  uint64_t word = 0;
  size_t size = size_t{1} << below(random, 4);
  at = at / size * size;
  size = std::min(size, file.size() - at);
  std::memcpy(&word, file.data() + at, size);
  word += below(random, 129) - 64;
  std::memcpy(file.data() + at, &word, size);
}

void moveBytes(Random &random, Bytes &file, size_t at) {
  size_t from = pickPlace(random, file);
  size_t size =
      std::min({1 + below(random, 64), file.size() - at, file.size() - from});
  std::memmove(file.data() + at, file.data() + from, size);
}

void changeSize(Random &random, Bytes &file, size_t at) {
  if (random() % 2)
    file.resize(at);
  else
    file.resize(file.size() + 1 + below(random, 200),
                static_cast<uint8_t>(random()));
}

void mutateOnce(Random &random, Bytes &file) {
  size_t at = pickPlace(random, file);
  switch (below(random, 16)) {
  case 0:
    return changeSize(random, file, at);
  case 1:
    return moveBytes(random, file, at);
  case 2:
  case 3:
  case 4:
    return writeWord(random, file, at);
  case 5:
  case 6:
  case 7:
    return nudge(random, file, at);
  case 8:
    file[at] = static_cast<uint8_t>(random());
    return;
  default:
    file[at] ^= static_cast<uint8_t>(1 << below(random, 8));
  }
}

Bytes mutated(std::span<const uint8_t> artifact, Hashes hashes, uint64_t seed,
              int64_t number) {
  Bytes file(artifact.begin(), artifact.end());
  damage(file, seed * 1'000'003 + static_cast<uint64_t>(number));
  if (hashes == Hashes::recomputed)
    forge(file, artifact);
  return file;
}

/// Whether a plan of `file` takes other bytes as its code than the artifact's:
/// forged code, which nobody promises to survive.
bool movesCode(std::span<const uint8_t> artifact,
               const artifact::Header &header) {
  auto ranges = trustedRanges(artifact);
  auto isCode = [&](const artifact::Section *section) {
    return !section ||
           std::any_of(ranges.begin(), ranges.end(), [&](Range range) {
             return section->offset() == range.begin &&
                    section->offset() + section->size() == range.end;
           });
  };
  const auto *before = artifact::GetSizePrefixedHeader(artifact.data());
  for (size_t i = 0; header.plans() && i < header.plans()->size(); ++i) {
    const artifact::Plan *plan = header.plans()->Get(i);
    if (!isCode(plan->code()) || !isCode(plan->kernels()) ||
        i >= before->plans()->size())
      return true;
  }
  return false;
}

/// Empty, or what loading said.
std::string runAll(const Bytes &file, std::span<const uint8_t> original,
                   bool &ran) {
  ran = false;
  auto artifact = runtime::Artifact::fromBytes(file, "mutated");
  if (!artifact.ok())
    return std::string(artifact.status().message());
  if (movesCode(original, (*artifact)->header()))
    return "moves its code";
  auto session = runtime::Session::create(
      *artifact, {.threads = 2, .collectives = std::make_shared<EqualRanks>()});
  if (!session.ok())
    return std::string(session.status().message());
  for (size_t graph = 0; graph < (*session)->graphs().size(); ++graph)
    if (runtime::Status status = (*session)->step(static_cast<int>(graph));
        !status.ok())
      return std::string(status.message());
  ran = true;
  return "";
}

} // namespace

void damage(std::vector<uint8_t> &file, uint64_t seed) {
  Random random(seed);
  for (size_t changes = 1 + below(random, 3);
       changes > 0 && file.size() >= sizeof(uint32_t); --changes)
    mutateOnce(random, file);
}

void forge(std::vector<uint8_t> &damaged, std::span<const uint8_t> whole) {
  for (Range range : trustedRanges(whole))
    if (range.end <= damaged.size())
      std::copy(whole.begin() + static_cast<ptrdiff_t>(range.begin),
                whole.begin() + static_cast<ptrdiff_t>(range.end),
                damaged.begin() + static_cast<ptrdiff_t>(range.begin));
  reseal(damaged);
}

std::string runWhole(std::span<const uint8_t> artifact) {
  bool ran = false;
  return runAll(Bytes(artifact.begin(), artifact.end()), artifact, ran);
}

std::string runMutations(std::span<const uint8_t> artifact, Hashes hashes,
                         uint64_t seed, int64_t first, int64_t count,
                         MutationCounts &counts) {
  for (int64_t number = first; number < first + count; ++number) {
    Bytes file = mutated(artifact, hashes, seed, number);
    bool same =
        std::equal(file.begin(), file.end(), artifact.begin(), artifact.end());
    bool ran = false;
    std::string words = runAll(file, artifact, ran);
    ++(ran ? counts.ran : counts.refused);
    if (ran && !same && hashes == Hashes::stored)
      return "mutation " + std::to_string(number) + " was not noticed";
    if (!ran && words.empty())
      return "mutation " + std::to_string(number) +
             " was refused without words";
  }
  return "";
}

} // namespace gradus::test
