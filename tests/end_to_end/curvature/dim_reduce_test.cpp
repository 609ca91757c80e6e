// Steps in a subspace through compiled graphs, against a model of the rule in
// f64 that knows of the network only its loss and its gradient; with each other
// method; and each defect of MindSpore's DimReduce that ours does not have.

#include "subspace_model.h"
#include "temporary_folder.h"

#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

namespace {

constexpr const char *kInverse = "dim_reduce/inverse_hessian";
constexpr const char *kAccepted = "dim_reduce/accepted";

std::vector<Network> networks() {
  return {denseNetwork(), imageNetwork(), tokenNetwork()};
}

/// The network with a factor on its output, by which the loss is steeper.
Network steep(const Network &network, double factor) {
  Network result = network;
  result.layers = [layers = network.layers, factor](ProgramBuilder &net,
                                                    Tensor x) {
    return net.scale(layers(net, x), factor);
  };
  return result;
}

} // namespace

//===-- the rule ----------------------------------------------------------===//

/// Batches differ, so pairs of gradients are of different losses, and some
/// trials fail, none of them by so little that another machine may accept it.
TEST(Reduced, FollowsTheRuleInF64) {
  int64_t accepted = 0, refused = 0, shortened = 0;
  for (const Network &network : networks())
    for (double factor : {2.0, 6.0}) {
      SCOPED_TRACE(factor);
      Network own = steep(network, factor);
      Alone run(own, reduced(5, sgd(0.01, 0.9)));
      Model model(own, run, 0.01, 0.9);
      for (int64_t update = 0; update < 8; ++update) {
        run.step(update);
        model.step(update);
        SCOPED_TRACE(update);
        ASSERT_GT(model.margin, kClear);
        expectNearlyEqual(flat(run.parameters()), model.weights, 1e-4);
        Vector inverse;
        for (const Vector &row : model.inverse)
          llvm::append_range(inverse, row);
        expectNearlyEqual(run.state(kInverse), inverse, 1e-3);
        ASSERT_EQ(run.count(kAccepted), model.accepted);
      }
      accepted += model.accepted;
      refused += 8 - model.accepted;
      shortened += model.shortened;
    }
  EXPECT_GT(accepted, 8);
  EXPECT_GT(refused, 0);
  EXPECT_GT(shortened, 0);
}

TEST(Reduced, MovesInItsSubspaceAlone) {
  for (const Network &network : networks()) {
    expectClear(network, reduced(3));
    Alone run(network, reduced(3, still()));
    std::vector<Vector> rows = basisOf(run);
    Vector start = flat(run.parameters());
    for (int64_t update = 0; update < 4; ++update)
      run.step(0);
    ASSERT_GT(run.count(kAccepted), 0);
    Vector moved = change(start, flat(run.parameters())), rest = moved;
    for (const Vector &row : rows)
      rest = along(rest, -product(row, moved), row);
    EXPECT_GT(normOf(moved), 0);
    EXPECT_LT(normOf(rest), 1e-5 * normOf(moved));
  }
}

/// The optimizer has what is orthogonal to the subspace.
TEST(Reduced, LeavesTheRestToTheOptimizer) {
  for (const Network &network : networks()) {
    expectClear(network, reduced(3));
    Alone run(network, reduced(3, sgd(1))), quiet(network, reduced(3, still()));
    Vector start = flat(run.parameters());
    run.step(0);
    quiet.step(0);
    ASSERT_EQ(run.count(kAccepted), quiet.count(kAccepted));
    Vector rest = change(flat(quiet.parameters()), flat(run.parameters()));
    EXPECT_GT(normOf(rest), 0);
    for (const Vector &row : basisOf(run))
      EXPECT_LT(std::abs(product(row, rest)), 1e-5 * normOf(rest));
  }
}

/// MindSpore cuts the rows into slices and loses some (section 8.7).
TEST(Reduced, UsesAnyNumberOfDirections) {
  Network network = steep(denseNetwork(), 6);
  for (int64_t components : {1, 2, 7, 33}) {
    Alone run(network, reduced(components, sgd(0.01)));
    Model model(network, run, 0.01, 0);
    for (int64_t update = 0; update < 3; ++update) {
      run.step(update);
      model.step(update);
    }
    EXPECT_GT(model.margin, kClear);
    expectNearlyEqual(flat(run.parameters()), model.weights, 1e-4);
    EXPECT_EQ(run.states().at(kInverse).shape,
              (llvm::SmallVector<int64_t>{components, components}));
  }
}

TEST(Reduced, HasTheSameBitsOnAnyNumberOfThreads) {
  for (const Network &network : networks()) {
    Trained one(network, reduced(4, {{"deterministic", true}}), kSamples,
                {.threads = 1});
    one.steps(0, 5);
    for (int threads : {2, 4}) {
      Trained many(one, {.threads = threads});
      many.steps(0, 5);
      expectSame(many.states(), one.states());
    }
  }
}

//===-- checkpoints -------------------------------------------------------===//

TEST(Checkpoint, GoesOnToTheBitFromEachStep) {
  for (const Json &more :
       {Json::object(), Json{{"accumulation", 2}},
        Json{{"loss_scale", {{"type", "dynamic"}, {"initial", 8}}}}}) {
    SCOPED_TRACE(more.dump());
    Trained whole(denseNetwork(), reduced(4, more));
    TemporaryFolder folder;
    auto pathOf = [&folder](int64_t step) {
      return folder.file(std::to_string(step) + ".safetensors");
    };
    for (int64_t at = 0; at < 7; ++at) {
      ASSERT_TRUE(whole.session().saveCheckpoint(pathOf(at)).ok());
      whole.step(at);
    }
    ASSERT_GT(whole.count(kAccepted), 0);
    for (int64_t at = 0; at < 7; ++at) {
      Trained resumed(whole);
      ASSERT_TRUE(resumed.session().loadCheckpoint(pathOf(at)).ok());
      resumed.steps(at, 7);
      SCOPED_TRACE(at);
      expectSame(resumed.states(), whole.states());
    }
  }
}

TEST(Checkpoint, HasNoBasisAndKnowsAnother) {
  TemporaryFolder folder;
  std::string path = folder.file("basis.safetensors");
  Trained run(denseNetwork(), reduced(2)), other(denseNetwork(), reduced(3));
  run.steps(0, 2);
  ASSERT_TRUE(run.session().saveCheckpoint(path).ok());
  auto file = runtime::Safetensors::open(path);
  ASSERT_TRUE(file.ok());
  for (const runtime::NamedTensor &tensor : file->tensors())
    EXPECT_EQ(tensor.name.find("dim_reduce/basis"), tensor.name.npos);
  EXPECT_EQ(file->metadata().count("fixed_hash"), 1u);
  runtime::Status refused = other.session().loadCheckpoint(path);
  EXPECT_NE(refused.message().find(
                "is of a run with other values of the artifact's fixed states, "
                "such as dim_reduce/basis/fc1.weight: their hash is "),
            std::string::npos)
      << refused.message();
  // Its parameters alone go with any basis.
  EXPECT_TRUE(
      other.session().loadCheckpoint(path, runtime::Restore::parameters).ok());
  expectSame(other.parameters(), run.parameters());
}

//===-- defects of section 8.7 --------------------------------------------===//

/// MindSpore divides the gradient's part in the subspace twice, and what is
/// left not at all.
TEST(Defect, ALossScaleChangesNoBit) {
  for (const Network &network : networks()) {
    Trained plainly(network, reduced(3, sgd(0.01, 0.9)));
    plainly.steps(0, 4);
    ASSERT_GT(plainly.count(kAccepted), 0);
    Json more = sgd(0.01, 0.9);
    more["loss_scale"] = {{"type", "static"}, {"initial", 1024.0}};
    Trained scaled(network, reduced(3, more));
    scaled.steps(0, 4);
    expectSame(scaled.states(), plainly.states(), {"loss_scale"});
  }
}

/// MindSpore passes scales of groups over. These are powers of two in each
/// step.
TEST(Defect, ScalesOfGroupsChangeNoBit) {
  Trained plainly(denseNetwork(), reduced(3, sgd(0.01, 0.9)));
  plainly.steps(0, 4);
  ASSERT_GT(plainly.count(kAccepted), 0);
  Json more = sgd(0.01, 0.9);
  more["loss_scale"] = {
      {"type", "group"},
      {"groups", {Json::array({"fc1*", "norm*"}), Json::array({"fc2*"})}},
      {"initial", Json::array({64.0, 8.0})},
      {"growth", 2.0}};
  Trained scaled(denseNetwork(), reduced(3, more));
  scaled.steps(0, 4);
  expectSame(scaled.states(), plainly.states());
  EXPECT_GT(scaled.state("loss_scale/0"), scaled.state("loss_scale/1"));
}

/// The running statistics by name.
NamedTensors statisticsOf(const Trained &run) {
  NamedTensors statistics;
  for (const auto &[name, tensor] : run.states())
    if (llvm::StringRef(name).contains(".running_"))
      statistics[name] = tensor;
  return statistics;
}

/// MindSpore's trials move the running statistics, too. Here a step's are those
/// of its batch at the weights that it begins with; what the trials would
/// write is something else.
TEST(Defect, TrialsWriteNoStatistics) {
  Network network = imageNetwork();
  network.layers = [](ProgramBuilder &net, Tensor x) {
    x = net.batchNorm("bn", net.convolution("conv", x, 4, {.size = {3, 3}}));
    return net.dense("fc", net.flatten(net.relu(x)), 3);
  };
  Alone run(network, reduced(3)), same(network, plain()),
      trying(network, plain());
  ASSERT_EQ(statisticsOf(run).size(), 2u);
  for (int64_t update = 0; update < 3; ++update) {
    NamedTensors before = run.parameters(), statistics = statisticsOf(run);
    for (const auto &[name, tensor] : before)
      same.compiled().setState(name, tensor);
    int64_t accepted = run.count(kAccepted);
    run.step(update);
    same.step(update);
    expectClose(statisticsOf(run), statisticsOf(same), 1e-6);
    ASSERT_EQ(run.count(kAccepted), accepted + 1);
    // The weights of the accepted trial, but for what the optimizer moves.
    for (const auto &[name, tensor] : run.parameters())
      trying.compiled().setState(name, tensor);
    for (const auto &[name, tensor] : statistics)
      trying.compiled().setState(name, tensor);
    trying.step(update);
    for (const auto &[name, tensor] : statisticsOf(trying)) {
      Vector found = statisticsOf(run).at(name).floats;
      EXPECT_GT(normOf(change(tensor.floats, found)), 1e-4 * normOf(found));
    }
  }
}

/// MindSpore's trials draw other dropout: the loss falls or not by the masks.
TEST(Defect, TrialsHaveTheStepsDropout) {
  Network network = denseNetwork();
  network.layers = [](ProgramBuilder &net, Tensor x) {
    x = net.relu(net.dense("fc1", x, 6));
    mlir::OpBuilder builder(x.value().getContext());
    builder.setInsertionPointAfterValue(x.value());
    Tensor dropped(DropoutOp::create(builder, x.value().getLoc(), x.value(),
                                     builder.getF64FloatAttr(0.5)));
    return net.dense("fc2", dropped, 4);
  };
  Alone run(network, reduced(3, sgd(0.01, 0.9)));
  Model model(network, run, 0.01, 0.9), other(network, run, 0.01, 0.9);
  other.drawsLater = 1000;
  for (int64_t update = 0; update < 8; ++update) {
    run.step(update);
    model.step(update);
    other.step(update);
    SCOPED_TRACE(update);
    ASSERT_GT(model.margin, kClear);
    ASSERT_EQ(run.count(kAccepted), model.accepted);
    expectNearlyEqual(flat(run.parameters()), model.weights, 1e-4);
  }
  EXPECT_GT(model.accepted, 0);
  EXPECT_NE(other.accepted, model.accepted);
}

//===-- other methods -----------------------------------------------------===//

/// Trials are of the last micro-batch, whose own loss is f0.
TEST(With, AccumulationHasTheMeanGradient) {
  Alone run(denseNetwork(), reduced(3, with(still(), {{"accumulation", 2}})));
  std::vector<Vector> rows = basisOf(run);
  Vector start = flat(run.parameters());
  EXPECT_EQ(run.step(0), "train_accumulate");
  EXPECT_EQ(flat(run.parameters()), start);
  EXPECT_EQ(run.step(1), "train");
  Vector gradient(start.size(), 0.0), way = gradient;
  Slope slope(denseNetwork());
  double loss = 0, slopeAlong = 0;
  for (int64_t update : {0, 1}) {
    Vector own;
    loss = slope.at(start, slope.inputs(update), update, &own);
    gradient = along(gradient, 0.5, own);
  }
  for (const Vector &row : rows) {
    double inside = product(row, gradient);
    way = along(way, -inside, row);
    slopeAlong -= inside * inside;
  }
  double bound = loss + 0.4 * slopeAlong,
         there = slope.at(along(start, 1, way), slope.inputs(1), 1);
  ASSERT_GT(bound - there, kClear * loss);
  EXPECT_EQ(run.count(kAccepted), 1);
  expectNearlyEqual(change(start, flat(run.parameters())), way, 1e-4);
}

TEST(With, AnOverflowChangesNothing) {
  Trained run(
      denseNetwork(),
      reduced(3, {{"loss_scale", {{"type", "dynamic"}, {"initial", 1024}}}}));
  run.steps(0, 2);
  NamedTensors before = run.states();
  run.overflow();
  expectSame(run.states(), before, {"loss_scale", "step", "skipped_steps"});
  run.step(2);
  expectFinite(run.states());
}

/// The mean of parameters is of those that the step ends with.
TEST(With, AverageIsOfWhereTheStepEnds) {
  Json more = sgd(0.1);
  more["ema"] = {{"decay", 0.5}};
  Trained run(denseNetwork(), reduced(3, more)),
      same(denseNetwork(), reduced(3, sgd(0.1)));
  run.step(0);
  same.step(0);
  expectSame(run.parameters(), same.parameters());
  for (const auto &[name, tensor] : run.parameters())
    EXPECT_EQ(run.state("ema/average/" + name), tensor.floats) << name;
}

/// Decoupled decay is of the value that the optimizer moves.
TEST(With, AnOptimizerStartsWhereTheStepLeads) {
  auto adamw = [](double decay) {
    return Json{
        {"optimizer",
         {{"type", "adamw"}, {"learning_rate", 0.1}, {"weight_decay", decay}}}};
  };
  expectClear(denseNetwork(), reduced(3));
  Alone moved(denseNetwork(), reduced(3, still())),
      plainly(denseNetwork(), reduced(3, adamw(0))),
      run(denseNetwork(), reduced(3, adamw(0.5)));
  for (Trained *each : {&moved, &plainly, &run})
    each->step(0);
  ASSERT_EQ(run.count(kAccepted), 1);
  expectNearlyEqual(
      flat(run.parameters()),
      along(flat(plainly.parameters()), -0.05, flat(moved.parameters())), 1e-6);
}

/// Clipping is of what the optimizer has, the rest.
TEST(With, ClippingBoundsTheRestAlone) {
  Json more = sgd(1);
  more["clip"] = {{"type", "global_norm"}, {"value", 1e-3}};
  expectClear(denseNetwork(), reduced(3));
  Alone quiet(denseNetwork(), reduced(3, still())),
      run(denseNetwork(), reduced(3, more));
  quiet.step(0);
  run.step(0);
  ASSERT_EQ(run.count(kAccepted), 1);
  EXPECT_NEAR(normOf(change(flat(quiet.parameters()), flat(run.parameters()))),
              1e-3, 1e-5);
}

/// The trial's margin is more than roundings to 16 bits move it.
TEST(With, SixteenBitsTrialsAreOfRoundedWeights) {
  expectClear(imageNetwork(), reduced(64), 0, 0.02);
  for (const char *precision : {"bf16", "f16"}) {
    Json more = still();
    more["precision"] = precision;
    more["loss_scale"] = {{"type", "static"}, {"initial", 8.0}};
    Alone run(imageNetwork(), reduced(64, more)),
        wide(imageNetwork(), reduced(64, still()));
    Vector start = flat(run.parameters());
    run.step(0);
    wide.step(0);
    ASSERT_EQ(run.count(kAccepted), wide.count(kAccepted)) << precision;
    Vector expected = change(start, flat(wide.parameters()));
    EXPECT_LT(
        normOf(along(change(start, flat(run.parameters())), -1, expected)),
        0.1 * normOf(expected))
        << precision;
  }
}

/// Directions may have zeros for what is not trained, and nothing else.
TEST(With, WhatIsFrozenStays) {
  Network network = plainNetwork();
  network.still = {"fc1.weight", "fc1.bias"};
  Json group = {{"match", {"fc1.*"}}, {"frozen", true}};
  for (const Json &more :
       {Json{{"fixed", {"fc1.*"}}}, Json{{"trainable", {"fc2.*"}}},
        Json{{"groups", Json::array({group})}}}) {
    SCOPED_TRACE(more.dump());
    Trained run(network, reduced(2, more));
    NamedTensors start = run.parameters();
    run.steps(0, 3);
    ASSERT_GT(run.count(kAccepted), 0);
    for (const auto &[name, tensor] : start)
      if (llvm::is_contained(network.still, name))
        EXPECT_EQ(run.state(name), tensor.floats) << name;
      else
        EXPECT_NE(run.state(name), tensor.floats) << name;
  }
}

//===-- what is refused ---------------------------------------------------===//

TEST(Refused, IsWhatDoesNotGoWithASubspace) {
  struct Case {
    Json more;
    const char *words;
  };
  Json muon = {{"optimizer", {{"type", "muon"}}}}, maximize = sgd(0.1);
  maximize["optimizer"]["maximize"] = true;
  for (const Case &each :
       {Case{{{"gradient_freeze", {{"groups", 2}}}},
             "recipe: dim_reduce excludes gradient_freeze: its directions move "
             "all trained parameters in each step"},
        Case{{{"precondition", "thor"}},
             "recipe: dim_reduce excludes precondition: its steps follow from "
             "gradients of the loss, and a preconditioned gradient is none"},
        Case{muon, "recipe: dim_reduce excludes the optimizer muon, which "
                   "fc1.weight has"},
        Case{maximize, "recipe: dim_reduce excludes maximize"},
        Case{{{"fixed", {"fc1.*"}}},
             "recipe: dim_reduce.basis moves what is not trained here: "
             "fc1.weight, fc1.bias; train that, or make a basis of "
             "checkpoints that do not differ in it"}}) {
    std::string said = refusalOf(plainNetwork(), reduced(2, each.more));
    EXPECT_NE(said.find(each.words), said.npos) << said;
  }
}
