// Both compile their own program, of another batch; see one_process.h.

#include "one_process.h"

#include <cmath>

using namespace gradus;

/// A rank divides the gradients of its samples by other numbers than one
/// process. In bf16 what is rounded off then differs, unless the numbers differ
/// by a power of two: half of a last bit, in each of up to three layers. What
/// is summed up over steps is compared by the losses alone, as a number may
/// fall to the other side of a ReLU's zero.
Limits gradus::limitsOf(const Case &wanted, int ranks) {
  if (!wanted.isNarrow || (ranks & (ranks - 1)) == 0)
    return {.gradients = Limits().gradients * wanted.cancellation};
  double half = 0x1p-9;
  return {3 * half, 3 * half, INFINITY};
}

static double number(const HostTensor &tensor, int64_t index) {
  return tensor.isFloat ? tensor.floats[index]
                        : static_cast<double>(tensor.integers[index]);
}

/// The largest difference, as a part of the largest number that is expected.
static double gapOf(const HostTensor &found, const HostTensor &expected) {
  double largest = 0, gap = 0;
  if (found.size() != expected.size())
    return INFINITY;
  for (int64_t i = 0; i < expected.size(); ++i) {
    double have = number(found, i), want = number(expected, i);
    if (std::isnan(have) && std::isnan(want))
      continue;
    largest = std::max(largest, std::fabs(want));
    // Not std::max, which would lose a NaN.
    gap = std::fabs(have - want) <= gap ? gap : std::fabs(have - want);
  }
  return gap == 0 ? 0 : gap / largest;
}

/// Whether a state has the sum of a rank's own gradients, or factors.
static bool isOwn(llvm::StringRef name) {
  return name.starts_with("accumulation/");
}

void gradus::expectGap(const NamedTensors &found, const NamedTensors &expected,
                       double limit, double &largest) {
  for (const auto &[name, want] : expected) {
    if (isOwn(name))
      continue;
    ASSERT_TRUE(found.count(name)) << name;
    double gap = gapOf(found.at(name), want);
    EXPECT_LE(gap, want.isFloat ? limit : 0)
        << name << " begins with " << number(found.at(name), 0) << ", expected "
        << number(want, 0);
    largest = std::max(largest, gap);
  }
}

runtime::SessionOptions gradus::oneThread() {
  runtime::SessionOptions options;
  options.threads = 1;
  return options;
}

/// The states of one process, but those of which ranks have parts.
static NamedTensors comparable(Compiled &alone, Compiled &rank) {
  NamedTensors states = alone.states();
  for (const runtime::StateInfo &state : rank.session().states())
    if (state.whole)
      states.erase(state.name);
  return states;
}

/// Returns the states at the end.
static NamedTensors expectOn(const Case &wanted, int ranks,
                             const std::vector<char> &artifact) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks");
  Compiled whole(filled(wanted.program, kSamples * ranks, wanted.recipe),
                 oneThread());
  RankSessions group(artifact, ranks);
  Limits limits = limitsOf(wanted, ranks);
  Gaps gaps;
  for (int step = 0; step < wanted.steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    NamedTensors batch = batchOf(whole, step, 1);
    if (wanted.change)
      wanted.change(batch, step, ranks);
    NamedTensors expected = whole.run("train", batch);
    for (const NamedTensors &found : group.run("train", batch))
      if (!wanted.hasOwnOutputs)
        expectGap(found, expected, limits.losses, gaps.losses);
    if (step == wanted.firstUpdate)
      expectGap(group.on(0).states(), comparable(whole, group.on(0)),
                limits.gradients, gaps.gradients);
  }
  NamedTensors states = group.on(0).states();
  expectGap(states, comparable(whole, group.on(0)), limits.states, gaps.states);
  gaps.record(ranks);
  group.expectReplicas();
  return states;
}

/// Returns the states at the end, with the last of the numbers of ranks.
NamedTensors gradus::expectOneProcess(const Case &wanted) {
  NamedTensors states;
  std::vector<char> artifact;
  for (int ranks : ranksToTest()) {
    std::string keys = wanted.distribution;
    size_t number = keys.find("RANKS");
    if (number != keys.npos)
      keys.replace(number, 5, std::to_string(ranks) + " : i64");
    if (artifact.empty() || number != keys.npos)
      artifact = artifactOf(onRanks(wanted.program, wanted.recipe, keys));
    states = expectOn(wanted, ranks, artifact);
  }
  return states;
}

void Gaps::record(int ranks) const {
  for (auto [name, gap] : {std::pair{"gradients", gradients},
                           {"losses", losses},
                           {"states", states}})
    testing::Test::RecordProperty(
        std::string(name) + "_on_" + std::to_string(ranks),
        std::to_string(std::lround(gap * 1e9)) + "e-9");
}

void gradus::ignore(NamedTensors &batch, int64_t first, int64_t last) {
  auto labels = batch.at("label").integers.begin();
  std::fill(labels + first, labels + last, -100);
}

void gradus::ignoreUnequally(NamedTensors &batch, int, int ranks) {
  for (int64_t rank = 0; rank < ranks; ++rank)
    ignore(batch, rank * kSamples,
           (rank + 1) * kSamples - std::min<int64_t>(rank, kSamples));
  if (ranks == 1)
    batch.at("label").integers[1] = 3;
}

void gradus::overflow(NamedTensors &batch, int step, int ranks) {
  if (step % 5 == 2)
    batch.at("x").floats.back() = INFINITY;
}
