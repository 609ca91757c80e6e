// Ranks that train on their own for some updates and then meet.

#include "one_process.h"

using namespace gradus;

namespace {

/// The optimizer of the meetings.
struct Outer {
  double rate = 1, momentum = 0;
  bool nesterov = false;

  std::string text() const {
    return ", outer = {learning_rate = " + std::to_string(rate) +
           ", momentum = " + std::to_string(momentum) +
           ", nesterov = " + (nesterov ? "true" : "false") + "}";
  }
};

std::string local(int every, const Outer &outer) {
  return ", reduce = \"local\", every = " + std::to_string(every) + " : i64" +
         outer.text();
}

/// Ranks as processes that know nothing of each other, and the arithmetic of
/// their meetings in f64.
class Apart {
public:
  Apart(const Case &wanted, int ranks, const Outer &outer) : outer_(outer) {
    std::vector<char> artifact =
        artifactOf(filled(wanted.program, kSamples, wanted.recipe));
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back(std::make_unique<Compiled>(artifact, oneThread()));
    met_ = ranks_[0]->states();
  }

  void step(const NamedTensors &batch) {
    runtime::Session &session = ranks_[0]->session();
    const auto &train = session.graphs()[session.findGraph("train")];
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      ranks_[rank]->run("train", partOf(batch, train, static_cast<int>(rank)));
  }

  void meet() {
    std::vector<NamedTensors> states;
    for (auto &rank : ranks_)
      states.push_back(rank->states());
    for (auto &[name, tensor] : states[0]) {
      if (!tensor.isFloat)
        continue;
      for (size_t i = 0; i < tensor.floats.size(); ++i) {
        double sum = 0;
        for (const NamedTensors &each : states)
          sum += each.at(name).floats[i];
        double mean = sum / static_cast<double>(states.size());
        tensor.floats[i] = isParameter(name) ? moved(name, i, mean) : mean;
      }
      for (auto &rank : ranks_)
        rank->setState(name, tensor);
    }
    met_ = states[0];
  }

  NamedTensors states() const { return ranks_[0]->states(); }
  Compiled &first() { return *ranks_[0]; }

private:
  bool isParameter(const std::string &name) {
    runtime::Session &session = ranks_[0]->session();
    return session.states()[session.findState(name)].role ==
           artifact::Role::parameter;
  }

  double moved(const std::string &name, size_t i, double mean) {
    std::vector<double> &momentum = momentum_[name];
    momentum.resize(met_.at(name).floats.size());
    double start = met_.at(name).floats[i], way = start - mean;
    momentum[i] = outer_.momentum * momentum[i] + way;
    double step =
        outer_.nesterov ? way + outer_.momentum * momentum[i] : momentum[i];
    return start - outer_.rate * step;
  }

  Outer outer_;
  std::vector<std::unique_ptr<Compiled>> ranks_;
  NamedTensors met_;
  std::map<std::string, std::vector<double>> momentum_;
};

/// Expects that all ranks have one state, but their places.
void expectOneState(RankSessions &group) {
  NamedTensors first = group.on(0).states();
  for (int rank = 1; rank < group.ranks(); ++rank)
    for (const auto &[name, state] : group.on(rank).states())
      if (name != "distribution.rank")
        EXPECT_TRUE(state.floats == first.at(name).floats &&
                    state.integers == first.at(name).integers)
            << name << " of rank " << rank;
}

void expectMeetings(const Case &wanted, int every, const Outer &outer) {
  std::vector<char> artifact =
      artifactOf(onRanks(wanted.program, wanted.recipe, local(every, outer)));
  for (int ranks : ranksToTest()) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    RankSessions group(artifact, ranks);
    Apart apart(wanted, ranks, outer);
    double largest = 0;
    for (int step = 0; step < 3 * every; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      NamedTensors batch = batchOf(apart.first(), step, ranks);
      group.run("train", batch);
      apart.step(batch);
      if ((step + 1) % every == 0) {
        apart.meet();
        expectOneState(group);
      }
      expectGap(group.on(0).states(), apart.states(), 1e-5, largest);
    }
  }
}

const std::string kAdamw = kCrossEntropy + kKeepAll +
                           ", optimizer = {type = \"adamw\", learning_rate = "
                           "0.01}, schedule = {learning_rate = {type = "
                           "\"cosine\", steps = 20 : i64}}";

} // namespace

/// The mean of weights that one update has changed is what the mean gradient
/// makes of them, where the update is linear in gradients.
TEST(LocalSteps, ThatMeetInEachUpdateAreDataParallel) {
  expectOneProcess({.distribution = local(1, {}), .hasOwnOutputs = true});
}

TEST(LocalSteps, MeetAtTheirMean) {
  expectMeetings({}, 3, {});
  expectMeetings({.recipe = kAdamw}, 4, {});
}

TEST(LocalSteps, AverageRunningStatisticsWhereTheyMeet) {
  expectMeetings({.program = kNormalized, .recipe = kCrossEntropy}, 3, {});
}

TEST(LocalSteps, GoOnFromWhereTheOuterOptimizerComesTo) {
  expectMeetings({.recipe = kAdamw}, 4, {0.7, 0.9, true});
  expectMeetings({.recipe = kAdamw}, 3, {0.5, 0.5, false});
  expectMeetings({}, 1, {0.7, 0.9, true});
}

TEST(LocalSteps, ComputeLossesOfTheirOwnSamples) {
  Case wanted{.recipe = kCrossEntropy + kKeepAll};
  RankSessions group(
      artifactOf(onRanks(wanted.program, wanted.recipe, local(4, {}))), 2);
  Compiled alone(filled(wanted.program, kSamples, wanted.recipe), oneThread());
  const auto &train =
      alone.session().graphs()[alone.session().findGraph("train")];
  NamedTensors batch = batchOf(alone, 0, 2);
  ignore(batch, 1, kSamples);
  std::vector<NamedTensors> found = group.run("train", batch);
  double largest = 0;
  for (int rank = 1; rank >= 0; --rank) {
    Compiled own(filled(wanted.program, kSamples, wanted.recipe), oneThread());
    expectGap(found[static_cast<size_t>(rank)],
              own.run("train", partOf(batch, train, rank)), 1e-6, largest);
  }
}
