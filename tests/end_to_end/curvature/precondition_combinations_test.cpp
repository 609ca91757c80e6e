// Preconditioning with each other method, through compiled graphs.

#include "trained.h"

#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

namespace {

Json every(int64_t updates) { return {{"refresh", {{"every", updates}}}}; }

Json withRate(double rate, Json optimizer = Json::object()) {
  Json all = {{"type", "sgd"}, {"learning_rate", rate}};
  all.update(optimizer);
  return {{"optimizer", all}};
}

std::vector<Network> networks() {
  return {denseNetwork(), imageNetwork(), tokenNetwork()};
}

/// The first layer with its norm, and the second.
Json groupsOfLayers() {
  return Json::array(
      {Json::array({"fc1.*", "norm.*"}), Json::array({"fc2.*"})});
}

bool isFactor(llvm::StringRef name) {
  return name.starts_with("precondition/");
}

double meanOf(llvm::ArrayRef<double> numbers) {
  double sum = 0;
  for (double number : numbers)
    sum += number;
  return sum / numbers.size();
}

/// The change of a parameter in a run's next step.
std::vector<double> moved(Trained &run, const std::string &name,
                          int64_t update = 0) {
  std::vector<double> before = run.state(name);
  run.step(update);
  return change(before, run.state(name));
}

} // namespace

//===-- accumulation ------------------------------------------------------===//

TEST(WithAccumulation, MicroBatchesAreOneBatch) {
  for (const Network &network : networks())
    for (const char *type : {"thor", "kfac"}) {
      Json keys = every(2);
      keys["type"] = type;
      Trained whole(network, preconditioned(keys)),
          parts(network, preconditioned(keys, {{"accumulation", 4}}), 2);
      for (int64_t update = 0; update < 5; ++update) {
        std::string variant = whole.step(update);
        for (int64_t first : {0, 2, 4})
          EXPECT_EQ(parts.step(update, first),
                    update % 2 ? "train_accumulate"
                               : "train_accumulate_refresh");
        EXPECT_EQ(parts.step(update, 6), variant);
      }
      expectClose(parts.parameters(), whole.parameters(), 1e-4);
    }
}

TEST(WithAccumulation, AnOverflowInOneBatchRepeatsIt) {
  Json more = {{"accumulation", 2},
               {"loss_scale", {{"type", "dynamic"}, {"initial", 64}}}};
  Trained calm(denseNetwork(), preconditioned(every(2), more), 4),
      struck(denseNetwork(), preconditioned(every(2), more), 4);
  for (int64_t update = 0; update < 3; ++update)
    for (int64_t first : {0, 4}) {
      std::string before = struck.overflow(),
                  variant = calm.step(update, first);
      EXPECT_EQ(before, variant);
      EXPECT_EQ(struck.step(update, first), variant);
    }
  expectSame(struck.parameters(), calm.parameters());
}

/// A layer norm is divided by its own curvature, for which all labels of the
/// update count: 3 in the first batch, 1 in the second.
TEST(WithAccumulation, LabelsOfAllBatchesCountForALayerNorm) {
  Json keys = every(1), more = withRate(1.0);
  keys["kinds"] = {"layer_norm"};
  more["accumulation"] = 2;
  Trained run(denseNetwork(), preconditioned(keys, more), 4),
      same(denseNetwork(), plain(more), 4);
  // Another update before, whose labels do not count any more.
  for (bool isFirst : {true, false}) {
    NamedTensors start = run.parameters();
    for (const auto &[name, value] : start)
      same.compiled().setState(name, value);
    for (int64_t first : {0, 4}) {
      NamedTensors inputs = run.inputs(isFirst ? 0 : 1, first);
      if (!isFirst)
        for (int64_t i = first ? 1 : 3; i < 4; ++i)
          inputs.at("label").integers[i] = -100;
      run.stepOn(inputs);
      same.stepOn(inputs);
    }
    double samples = isFirst ? 8 : 4;
    for (const char *name : {"norm.weight", "norm.bias"}) {
      std::vector<double> from = start.at(name).floats,
                          gradient = change(same.state(name), from),
                          found = change(run.state(name), from);
      for (size_t i = 0; i < from.size(); ++i) {
        double g = gradient[i],
               expected = g / (g * g / samples + std::sqrt(0.03));
        EXPECT_NEAR(found[i], expected, 1e-5) << name;
      }
    }
  }
}

//===-- loss scale --------------------------------------------------------===//

TEST(WithLossScale, APowerOfTwoChangesNoBit) {
  for (const Network &network : networks()) {
    Trained plainly(network, preconditioned(every(2)));
    plainly.steps(0, 4);
    for (double scale : {0.25, 8.0, 65536.0}) {
      Trained scaled(
          network, preconditioned(
                       every(2), {{"loss_scale",
                                   {{"type", "static"}, {"initial", scale}}}}));
      scaled.steps(0, 4);
      expectSame(scaled.states(), plainly.states(), {"loss_scale", "step/"});
    }
  }
}

/// A group's factors are divided by the square of its own scale, and gradients
/// get the other's where they pass from one group to the next.
TEST(WithLossScale, PowersOfTwoOfGroupsChangeNoBit) {
  Json groups = {{"type", "group"},
                 {"groups", groupsOfLayers()},
                 {"initial", {4096.0, 8.0}},
                 {"growth", 1.0}};
  Trained plainly(denseNetwork(), preconditioned(every(2))),
      scaled(denseNetwork(),
             preconditioned(every(2), {{"loss_scale", groups}}));
  plainly.steps(0, 5);
  scaled.steps(0, 5);
  EXPECT_EQ(scaled.state("loss_scale/0"), std::vector<double>{4096});
  expectSame(scaled.states(), plainly.states(), {"step/"});
}

TEST(WithLossScale, AnOverflowOfAGroupRunsTheRefreshAgain) {
  Json more = {{"loss_scale",
                {{"type", "group"},
                 {"groups", groupsOfLayers()},
                 {"initial", 64.0},
                 {"growth", 1.0}}}};
  Trained calm(denseNetwork(), preconditioned(every(3), more)),
      struck(denseNetwork(), preconditioned(every(3), more));
  const std::vector<std::string> ofSteps = {"loss_scale", "step",
                                            "skipped_steps"};
  for (int64_t update = 0; update < 4; ++update) {
    NamedTensors before = struck.states();
    std::string tried = struck.overflow();
    expectSame(struck.states(), before, ofSteps);
    EXPECT_EQ(tried, calm.step(update));
    EXPECT_EQ(struck.step(update), tried);
    expectClose(struck.parameters(), calm.parameters(), 1e-5);
  }
  EXPECT_EQ(struck.count("skipped_steps"), 4);
}

TEST(WithLossScale, AnOverflowChangesNothingAndTheRefreshRunsAgain) {
  for (bool isMean : {false, true}) {
    Json keys = {{"type", isMean ? "kfac" : "thor"},
                 {"refresh", {{"every", 4}}}},
         more = {{"loss_scale", {{"type", "dynamic"}, {"initial", 1024}}}};
    if (isMean)
      keys["refresh"]["measure_every"] = 2;
    const std::vector<std::string> ofSteps = {"loss_scale", "step",
                                              "skipped_steps"};
    Trained calm(denseNetwork(), preconditioned(keys, more)),
        struck(denseNetwork(), preconditioned(keys, more));
    for (int64_t update = 0; update < 6; ++update) {
      NamedTensors before = struck.states();
      std::string tried = struck.overflow();
      expectSame(struck.states(), before, ofSteps);
      std::string variant = calm.step(update);
      EXPECT_EQ(tried, variant);
      EXPECT_EQ(struck.step(update), variant);
      expectSame(struck.states(), calm.states(), ofSteps);
    }
    EXPECT_EQ(struck.count("skipped_steps"), 6);
  }
}

//===-- freezing ----------------------------------------------------------===//

TEST(WithFreezing, ARefreshTrainsEverything) {
  Json freeze = {{"gradient_freeze", {{"groups", 2}, {"strategy", {0, 1}}}}};
  Trained run(plainNetwork(), preconditioned(every(3), freeze)),
      free(plainNetwork(), preconditioned(every(3)));
  std::vector<std::string> expected = {
      "train_refresh", "train_cut1", "train",        "train_refresh",
      "train",         "train_cut1", "train_refresh"};
  std::vector<std::vector<double>> first;
  for (int64_t update = 0; update < 7; ++update) {
    EXPECT_EQ(run.step(update), expected[update]);
    first.push_back(run.state("fc1.weight"));
    if (update < 2) {
      free.step(update);
      // A cut of the step multiplies by the same inverses.
      expectClose({{"", run.states().at("fc2.weight")}},
                  {{"", free.states().at("fc2.weight")}}, 1e-6);
    }
  }
  for (int64_t update = 1; update < 7; ++update)
    EXPECT_EQ(first[update] == first[update - 1], update == 1 || update == 5);
}

TEST(WithFreezing, WhatRestsForGoodHasNoFactors) {
  Json freeze = {{"gradient_freeze", {{"last_layers", 1}}}};
  Trained run(plainNetwork(), preconditioned(every(2), freeze)),
      fixed(plainNetwork(), preconditioned(every(2)));
  NamedTensors start = run.parameters();
  EXPECT_EQ(run.step(0), "train_refresh");
  EXPECT_EQ(run.step(1), "train");
  EXPECT_EQ(run.state("fc1.weight"), start.at("fc1.weight").floats);
  EXPECT_FALSE(run.states().contains("precondition/inputs/fc1.weight"));
  Trained once(run);
  once.step(0);
  fixed.step(0);
  expectClose({{"", once.states().at("fc2.weight")}},
              {{"", fixed.states().at("fc2.weight")}}, 1e-6);
}

TEST(WithFreezing, PhasesAreRefused) {
  for (const char *phases : {"from", "until"}) {
    Json freeze = {{"gradient_freeze", {{phases, {{"fc1.*", 3}}}}}};
    EXPECT_EQ(refusalOf(plainNetwork(), preconditioned(every(2), freeze)),
              "recipe: gradient_freeze has phases, by `from` or `until`, which "
              "exclude methods with variants of the step before it, such as "
              "precondition");
  }
}

//===-- methods on gradients ----------------------------------------------===//

/// The norm that is clipped is that of directions, the one that is reported is
/// the gradient's.
TEST(WithClipping, ADirectionIsClipped) {
  Json more = withRate(1.0);
  more["metrics"] = {"gradient_norm"};
  Trained plainly(denseNetwork(), plain(more)),
      free(denseNetwork(), preconditioned(every(2), more));
  more["clip"] = {{"type", "global_norm"}, {"value", 0.125}};
  Trained clipped(denseNetwork(), preconditioned(every(2), more));
  NamedTensors start = free.parameters();
  double gradient = plainly.compiled()
                        .run("train", plainly.inputs(0))
                        .at("gradient_norm")
                        .floats[0];
  for (Trained *run : {&free, &clipped})
    EXPECT_NEAR(run->compiled()
                    .run("train", run->inputs(0))
                    .at("gradient_norm")
                    .floats[0],
                gradient, 1e-6 * gradient);
  std::vector<double> way, shorter;
  for (const auto &[name, from] : start) {
    llvm::append_range(way, change(from.floats, free.state(name)));
    llvm::append_range(shorter, change(from.floats, clipped.state(name)));
  }
  EXPECT_GT(std::abs(normOf(way) - gradient), 0.1 * gradient);
  EXPECT_NEAR(normOf(shorter), 0.125, 1e-5);
  for (size_t i = 0; i < way.size(); ++i)
    EXPECT_NEAR(shorter[i], way[i] * 0.125 / normOf(way), 1e-5);
}

/// Decay is added to the direction, and not divided by the curvature.
TEST(WithWeightDecay, CoupledDecayIsAddedToTheDirection) {
  Trained without(denseNetwork(), preconditioned(every(2), withRate(0.5))),
      with(denseNetwork(),
           preconditioned(every(2), withRate(0.5, {{"weight_decay", 0.25}})));
  NamedTensors start = with.parameters();
  without.step(0);
  with.step(0);
  for (const auto &[name, from] : start) {
    HostTensor expected = without.states().at(name);
    for (int64_t i = 0; i < from.size(); ++i)
      expected.floats[i] -= 0.5 * 0.25 * from.floats[i];
    expectClose({{name, with.states().at(name)}}, {{name, expected}}, 1e-6);
  }
}

TEST(WithWeightDecay, DecoupledDecayIsOfTheWeight) {
  Json adamw = {{"type", "adamw"}, {"weight_decay", 0.0}};
  Trained without(denseNetwork(),
                  preconditioned(every(2), withRate(0.5, adamw)));
  adamw["weight_decay"] = 0.25;
  Trained with(denseNetwork(), preconditioned(every(2), withRate(0.5, adamw)));
  NamedTensors start = with.parameters();
  without.step(0);
  with.step(0);
  for (const auto &[name, from] : start) {
    HostTensor expected = without.states().at(name);
    for (int64_t i = 0; i < from.size(); ++i)
      expected.floats[i] -= 0.5 * 0.25 * from.floats[i];
    expectClose({{name, with.states().at(name)}}, {{name, expected}}, 1e-6);
  }
}

TEST(WithCentralization, ADirectionIsCentered) {
  for (const char *placement : {"before_weight_decay", "after_weight_decay"}) {
    Json more = withRate(1.0, {{"weight_decay", 0.5}});
    Trained free(denseNetwork(), preconditioned(every(2), more));
    more["gradient_centralization"] = {{"placement", placement}};
    Trained run(denseNetwork(), preconditioned(every(2), more));
    std::vector<double> weight = run.state("fc1.weight"),
                        way = moved(run, "fc1.weight"),
                        plainly = moved(free, "fc1.weight");
    bool isBefore = placement == std::string("before_weight_decay");
    for (size_t row = 0; row < weight.size(); row += 5) {
      double decayed = 0.5 * meanOf({&weight[row], 5});
      EXPECT_NEAR(meanOf({&way[row], 5}), isBefore ? -decayed : 0, 1e-5);
      // The mean of the direction, or of its sum with the decay, is gone.
      double mean = meanOf({&plainly[row], 5});
      for (size_t i = row; i < row + 5; ++i)
        EXPECT_NEAR(way[i], plainly[i] - mean - (isBefore ? decayed : 0), 1e-5);
    }
  }
}

//===-- averages ----------------------------------------------------------===//

TEST(WithEma, TheAverageIsOfTheWeights) {
  Trained plainly(denseNetwork(), preconditioned(every(2))),
      run(denseNetwork(),
          preconditioned(every(2), {{"ema", {{"decay", 0.5}}}}));
  std::vector<double> average;
  for (int64_t update = 0; update < 5; ++update) {
    plainly.step(update);
    run.step(update);
    std::vector<double> weight = plainly.state("fc1.weight");
    EXPECT_EQ(run.state("fc1.weight"), weight);
    if (update == 0)
      average = weight;
    for (size_t i = 0; i < weight.size(); ++i)
      average[i] = 0.5 * (average[i] + weight[i]);
  }
  HostTensor found = run.states().at("ema/average/fc1.weight"), want = found;
  want.floats = average;
  expectClose({{"", found}}, {{"", want}}, 1e-6);
}

TEST(WithLookahead, SlowWeightsFollow) {
  Trained plainly(denseNetwork(), preconditioned(every(2))),
      run(denseNetwork(),
          preconditioned(every(2),
                         {{"lookahead", {{"steps", 3}, {"rate", 0.25}}}}));
  HostTensor want = run.states().at("fc1.weight");
  plainly.steps(0, 3);
  run.steps(0, 3);
  std::vector<double> fast = plainly.state("fc1.weight");
  for (size_t i = 0; i < fast.size(); ++i)
    want.floats[i] += 0.25 * (fast[i] - want.floats[i]);
  expectClose({{"", run.states().at("fc1.weight")}}, {{"", want}}, 1e-6);
}

//===-- rewritten models --------------------------------------------------===//

TEST(WithFcToFn, TheHeadKeepsItsGradient) {
  Json more = withRate(0.5);
  more["fc_to_fn"] = true;
  Trained plainly(plainNetwork(), plain(more)),
      run(plainNetwork(), preconditioned(every(2), more));
  EXPECT_TRUE(run.states().contains("precondition/inputs/fc1.weight"));
  EXPECT_FALSE(run.states().contains("precondition/inputs/fc2.weight"));
  std::vector<double> head = moved(run, "fc2.weight"),
                      expected = moved(plainly, "fc2.weight");
  for (size_t i = 0; i < head.size(); ++i)
    EXPECT_NEAR(head[i], expected[i], 1e-6);
  EXPECT_NE(run.state("fc1.weight"), plainly.state("fc1.weight"));
}

TEST(WithLessBn, LayersWithoutTheirNormalizationArePreconditioned) {
  Network network = imageNetwork();
  network.layers = [](ProgramBuilder &net, Tensor x) {
    WindowOptions window{.size = {3, 3}, .pads = {1, 1}};
    x = net.relu(net.batchNorm("bn0", net.convolution("conv0", x, 4, window)));
    Tensor y =
        net.relu(net.batchNorm("bn1", net.convolution("conv1", x, 4, window)));
    y = net.batchNorm("bn2", net.convolution("conv2", y, 4, window));
    return net.dense("fc", net.globalAveragePool(net.relu(net.add(y, x))), 3);
  };
  Trained run(network, preconditioned(every(2), {{"less_bn", true}}));
  NamedTensors states = run.states();
  int64_t norms = 0;
  for (const auto &[name, tensor] : states)
    norms += llvm::StringRef(name).ends_with(".running_mean");
  EXPECT_LT(norms, 3);
  for (const char *layer : {"conv0", "conv1", "conv2"})
    EXPECT_TRUE(states.contains(std::string("precondition/inputs/") + layer +
                                ".weight"));
  run.steps(0, 5);
  expectFinite(run.states());
  EXPECT_NE(normOf(run.state("precondition/outputs/conv1.weight")), 0);
}

//===-- precision ---------------------------------------------------------===//

/// How far a run in a narrow type is from a wide one, for each parameter: the
/// norm of what differs in its change over some steps, in parts of that change.
static std::map<std::string, double>
deviations(const Network &network, Json recipe, const std::string &precision) {
  Trained wide(network, recipe);
  // At this scale no step overflows.
  recipe["loss_scale"] = {{"type", "static"}, {"initial", 64}};
  recipe["precision"] = precision;
  Trained narrow(network, recipe);
  for (const runtime::StateInfo &info : narrow.session().states())
    if (isFactor(info.name) && info.name != "precondition/kept")
      EXPECT_EQ(info.type.dtype, artifact::DType::f32) << info.name;
  NamedTensors start = wide.parameters();
  wide.steps(0, 4);
  narrow.steps(0, 4);
  expectFinite(narrow.states());
  std::map<std::string, double> parts;
  for (const auto &[name, from] : start) {
    std::vector<double> expected = change(from.floats, wide.state(name)),
                        found = change(from.floats, narrow.state(name));
    parts[name] = normOf(change(expected, found)) / normOf(expected);
  }
  return parts;
}

/// Defect 11: an EmbeddingLookup's factors are of f16. A direction is as near
/// to that of f32 as the gradient is, up to its own roundings.
TEST(WithPrecision, NarrowStepsAreNearAndFactorsWide) {
  Json keys = every(2);
  keys["damping"] = 1.0;
  for (auto [precision, part] :
       {std::pair("bf16", 0x1p-6), std::pair("f16", 0x1p-9)})
    for (const Network &network : networks()) {
      SCOPED_TRACE(precision);
      auto ofGradients = deviations(network, plain(), precision),
           ofDirections = deviations(network, preconditioned(keys), precision);
      for (const auto &[name, deviation] : ofDirections)
        EXPECT_LE(deviation, 2 * ofGradients.at(name) + part) << name;
    }
}

//===-- labels that do not count ------------------------------------------===//

/// Defect 14: the size of a batch must be given, and be right. A label that
/// does not count is not in it.
TEST(WithMaskedLabels, OnlyWhatCountsIsCounted) {
  Network one = plainNetwork();
  one.layers = [](ProgramBuilder &net, Tensor x) {
    return net.dense("fc", x, 4, /*bias=*/false);
  };
  Trained run(one, preconditioned(every(1)));
  NamedTensors all = run.inputs(0), masked = all;
  for (int64_t i = 0; i < kSamples; ++i) {
    if (i >= 4)
      masked.at("label").integers[i] = -100;
    // The first half of the samples twice: as a batch of 4, or of 8.
    all.at("label").integers[i] = all.at("label").integers[i % 4];
    for (int64_t k = 0; k < 5; ++k)
      for (NamedTensors *each : {&all, &masked})
        each->at("x").floats[5 * i + k] = all.at("x").floats[5 * (i % 4) + k];
  }
  Trained other(run);
  run.stepOn(all);
  other.stepOn(masked);
  // Half of the rows have no gradient, so G is half of what it was. With
  // W = (G + r)^-1 and H = (G / 2 + r)^-1 that is 2 W = H + r W H.
  HostTensor whole = run.states().at("precondition/outputs/fc.weight"),
             half = other.states().at("precondition/outputs/fc.weight");
  EXPECT_EQ(run.state("precondition/inputs/fc.weight"),
            other.state("precondition/inputs/fc.weight"));
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t column = 0; column < 4; ++column) {
      double product = 0;
      for (int64_t k = 0; k < 4; ++k)
        product += whole.floats[4 * row + k] * half.floats[4 * k + column];
      EXPECT_NEAR(2 * whole.floats[4 * row + column],
                  half.floats[4 * row + column] + std::sqrt(0.03) * product,
                  1e-4);
    }
}

//===-- optimizers --------------------------------------------------------===//

/// An adaptive optimizer's first step has the signs of the direction.
TEST(WithAdamW, ADirectionIsWhatItAdaptsTo) {
  Json adamw = {{"type", "adamw"}, {"weight_decay", 0.0}, {"epsilon", 1e-12}};
  Trained plainly(denseNetwork(), preconditioned(every(2), withRate(1.0))),
      run(denseNetwork(), preconditioned(every(2), withRate(0.125, adamw)));
  std::vector<double> direction = moved(plainly, "fc1.weight"),
                      way = moved(run, "fc1.weight");
  for (size_t i = 0; i < way.size(); ++i)
    if (std::abs(direction[i]) > 1e-6)
      EXPECT_NEAR(way[i], std::copysign(0.125, direction[i]), 1e-4);
  run.steps(1, 6);
  expectFinite(run.states());
}

/// The first step of LAMB has the norm of the weights, times the rate.
TEST(WithLamb, ADirectionIsWhatItAdaptsTo) {
  Json lamb = {{"type", "lamb"}, {"weight_decay", 0.0}};
  Trained plainly(denseNetwork(), preconditioned(every(2), withRate(1.0))),
      run(denseNetwork(),
          preconditioned(every(2), withRate(0.125, {{"type", "lamb"}})));
  double weight = normOf(run.state("fc1.weight"));
  std::vector<double> direction = moved(plainly, "fc1.weight"),
                      way = moved(run, "fc1.weight");
  EXPECT_NEAR(normOf(way), 0.125 * weight, 1e-4);
  int64_t alike = 0;
  for (size_t i = 0; i < way.size(); ++i)
    alike += (way[i] > 0) == (direction[i] > 0);
  EXPECT_GE(alike, int64_t(way.size()) * 9 / 10);
  run.steps(1, 6);
  expectFinite(run.states());
}

TEST(WithMuon, ItIsRefused) {
  EXPECT_EQ(
      refusalOf(plainNetwork(),
                preconditioned(every(2), {{"optimizer", {{"type", "muon"}}}})),
      "recipe: precondition excludes the optimizer muon, which "
      "fc1.weight has: it preconditions gradients itself");
}
