// Ranks that share out what optimizers remember, against ranks that each have
// all of it.

#include "one_process.h"

#include "runtime/session/session_facts.h"

#include <bit>
#include <cstring>

using namespace gradus;

namespace {

std::string distribution(int ranks, const std::string &more) {
  return ", ranks = " + std::to_string(ranks) + " : i64" + more;
}
const std::string kZero = ", zero = 1 : i64";

std::string withOptimizer(const std::string &optimizer) {
  return kCrossEntropy + kKeepAll + ", optimizer = {" + optimizer + "}";
}

using Bits = std::map<std::string, std::vector<uint8_t>>;

/// The bytes of all states but places; of those of which each rank has a part
/// the whole, which the parts of all make.
Bits wholeStates(RankSessions &group) {
  Bits bits = group.replicated(0);
  const auto &states = group.on(0).session().states();
  for (size_t i = 0; i < states.size(); ++i) {
    if (!states[i].whole)
      continue;
    std::vector<uint8_t> &whole = bits[states[i].name];
    for (int rank = 0; rank < group.ranks(); ++rank) {
      auto part = group.on(rank).session().stateBytes(static_cast<int>(i));
      EXPECT_TRUE(part.ok()) << part.status();
      whole.insert(whole.end(), part->begin(), part->end());
    }
    whole.resize(*runtime::bytesOf(*states[i].whole));
  }
  return bits;
}

NamedTensors numbersOf(RankSessions &group, const Bits &bits) {
  NamedTensors numbers;
  for (const runtime::StateInfo &state : group.on(0).session().states())
    if (bits.count(state.name))
      numbers[state.name] =
          unpacked(bits.at(state.name).data(), runtime::typeInFile(state));
  return numbers;
}

struct Wanted {
  const char *program = kDense;
  std::string recipe = kCrossEntropy + kKeepAll; // with an optimizer
  std::string more = {};                         // keys of distribution
  std::function<void(NamedTensors &batch, int step, int ranks)> change = {};
  bool sumsParts = false; // so the last bits are others
  /// The number of slots of which ranks have parts; nothing: all slots that are
  /// larger than 64 bytes.
  std::optional<int> shared = {};
};

int sharedSlots(RankSessions &group) {
  int count = 0;
  for (const runtime::StateInfo &state : group.on(0).session().states())
    count += state.whole.has_value();
  return count;
}

int largeSlots(RankSessions &group) {
  int count = 0;
  for (const runtime::StateInfo &state : group.on(0).session().states())
    count += state.role == artifact::Role::slot && state.bytes > 64;
  return count;
}

/// Also a NaN is the same with and without.
uint64_t lossBits(const NamedTensors &outputs) {
  return std::bit_cast<uint64_t>(outputs.at("loss").floats.at(0));
}

/// Trains 20 steps with and without, and compares losses and states.
void expectPlain(const Wanted &wanted, int ranks) {
  SCOPED_TRACE(wanted.recipe + ", " + std::to_string(ranks) + " ranks");
  auto artifact = [&](const std::string &more) {
    return artifactOf(onRanks(wanted.program, wanted.recipe,
                              distribution(ranks, wanted.more + more)));
  };
  RankSessions plain(artifact(""), ranks), zero(artifact(kZero), ranks);
  EXPECT_EQ(sharedSlots(zero), wanted.shared.value_or(largeSlots(plain)));
  double largest = 0;
  for (int step = 0; step < 20; ++step) {
    NamedTensors batch = batchOf(plain.on(0), step, ranks);
    if (wanted.change)
      wanted.change(batch, step, ranks);
    auto expected = plain.run("train", batch), found = zero.run("train", batch);
    for (int rank = 0; rank < ranks; ++rank)
      if (wanted.sumsParts)
        expectGap(found[static_cast<size_t>(rank)],
                  expected[static_cast<size_t>(rank)], 1e-6, largest);
      else
        EXPECT_EQ(lossBits(found[static_cast<size_t>(rank)]),
                  lossBits(expected[static_cast<size_t>(rank)]))
            << "step " << step;
  }
  zero.expectReplicas();
  Bits expected = wholeStates(plain), found = wholeStates(zero);
  if (wanted.sumsParts)
    expectGap(numbersOf(zero, found), numbersOf(plain, expected), 1e-6,
              largest);
  else
    for (const auto &[name, bits] : expected)
      EXPECT_EQ(found.at(name), bits) << name;
}

void expectPlainOnAll(const Wanted &wanted) {
  for (int ranks : {2, 4})
    expectPlain(wanted, ranks);
}

const std::string kAdamw =
    withOptimizer("type = \"adamw\", learning_rate = 0.01");

} // namespace

/// Parts of 2 ranks are whole multiples of 64 bytes for one weight and end
/// behind the other, and with 4.
TEST(Zero, TrainsTheSameBitsWithEveryElementwiseOptimizer) {
  for (const char *optimizer :
       {"type = \"sgd\", learning_rate = 0.1, momentum = 0.9",
        "type = \"sgd\", learning_rate = 0.1, momentum = 0.9, nesterov = true, "
        "weight_decay = 0.01",
        "type = \"adam\", weight_decay = 0.01",
        "type = \"adamw\", amsgrad = true", "type = \"adamax\"",
        "type = \"nadam\"", "type = \"radam\"",
        "type = \"rmsprop\", momentum = 0.9, centered = true",
        "type = \"adagrad\"", "type = \"adadelta\"", "type = \"asgd\"",
        "type = \"rprop\"", "type = \"lion\""})
    expectPlainOnAll({.recipe = withOptimizer(optimizer)});
}

/// Norms of whole tensors are sums of those of parts.
TEST(Zero, SumsPartsWhereAnUpdateAsksForNorms) {
  for (const char *optimizer :
       {"type = \"lamb\"", "type = \"lars\", learning_rate = 0.1, momentum = "
                           "0.9, weight_decay = 0.01"})
    expectPlainOnAll({.recipe = withOptimizer(optimizer), .sumsParts = true});
  expectPlainOnAll(
      {.recipe = kAdamw + ", clip = {type = \"global_norm\", value = 0.1}",
       .sumsParts = true});
}

TEST(Zero, HoldsWithOtherMethods) {
  expectPlainOnAll(
      {.recipe = kAdamw + ", clip = {type = \"value\", value = 0.01}"});
  expectPlainOnAll({.recipe = kAdamw + ", ema = {decay = 0.9}", .shared = 4});
  expectPlainOnAll(
      {.recipe = kAdamw + ", accumulation = 2 : i64", .shared = 4});
  expectPlainOnAll(
      {.recipe = kAdamw + ", lookahead = {steps = 3 : i64, rate = 0.5}"});
  expectPlainOnAll({.program = kNormalized, .recipe = kAdamw});
  expectPlainOnAll({.recipe = kAdamw, .more = ", bucket_bytes = 512 : i64"});
  expectPlainOnAll({.recipe = kAdamw, .more = ", mean = false"});
}

/// With more ranks than a tensor has lines of 64 bytes the last ones have
/// nothing to do.
TEST(Zero, HoldsWhereRanksAreManyOrOdd) {
  for (int ranks : {3, 7})
    for (const char *program : {kDense, kNormalized})
      expectPlain({.program = program, .recipe = kAdamw}, ranks);
  expectPlain({.recipe = withOptimizer("type = \"lamb\""), .sumsParts = true},
              7);
}

/// An overflow on one rank skips the step on all.
TEST(Zero, SkipsAStepOnAllRanks) {
  std::string guarded = kAdamw + ", on_nonfinite = \"skip\"";
  expectPlainOnAll({.recipe = guarded, .change = overflow});
  expectPlainOnAll({.recipe = kAdamw + ", precision = \"bf16\""});
  expectPlainOnAll({.recipe = kAdamw, .more = ", reduce = \"bf16\""});
  expectPlainOnAll(
      {.recipe = kAdamw + ", loss_scale = {type = \"static\", initial = 128.0}",
       .more = ", reduce = \"half\"",
       .change = overflow});
}

/// Each rank has an N-th of an AdamW's slots, and 64 bytes a tensor. The arena
/// has room for the padding of the last part besides: at most two cache lines a
/// tensor, however many ranks there are, and none where they divide its lines.
TEST(Zero, HasAPartOfTheSlotsAndNoLargerArena) {
  auto wide = [](std::string program) {
    for (auto [small, large] : {std::pair("16", "256"), std::pair("12", "64")})
      for (size_t at = 0; (at = program.find(small, at)) != std::string::npos;
           at += std::strlen(large))
        program.replace(at, 2, large);
    return program;
  };
  for (int ranks : {2, 4, 64, 1024})
    for (bool isWide : {false, true}) {
      SCOPED_TRACE(std::to_string(ranks) +
                   (isWide ? " ranks, wide" : " ranks"));
      std::string program = isWide ? wide(kDense) : kDense;
      auto compiled = [&](const std::string &more) {
        return Compiled(
            onRanks(program.c_str(), kAdamw, distribution(ranks, more)));
      };
      Compiled plain = compiled(""), zero = compiled(kZero);
      auto wholeOf = [&](const std::string &name) {
        const auto &states = plain.session().states();
        return states[static_cast<size_t>(plain.session().findState(name))]
            .bytes;
      };
      int slots = 0;
      for (const runtime::StateInfo &state : zero.session().states())
        if (state.role == artifact::Role::slot) {
          ++slots;
          EXPECT_LE(state.bytes, wholeOf(state.name) / ranks + 64)
              << state.name;
        }
      EXPECT_EQ(slots, 8);
      size_t padding = isWide && ranks <= 4 ? 0 : 2 * 128; // of two tensors
      EXPECT_LE(zero.session().memory().arena,
                plain.session().memory().arena + padding);
      EXPECT_LT(zero.session().memory().state, plain.session().memory().state);
    }
}

/// Muon multiplies matrices of whole gradients, and centering takes the means
/// of their rows.
TEST(Zero, LeavesUpdatesWholeThatNeedWholeGradients) {
  expectPlainOnAll({.recipe = withOptimizer("type = \"muon\""), .shared = 0});
  expectPlainOnAll(
      {.recipe = withOptimizer("type = \"adafactor\""), .shared = 0});
  expectPlainOnAll(
      {.recipe = kAdamw + ", gradient_centralization = true", .shared = 0});
}
