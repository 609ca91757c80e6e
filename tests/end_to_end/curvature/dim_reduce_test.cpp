// Steps in a subspace through compiled graphs, against a model of the rule in
// f64 that knows of the network only its loss and its gradient; with each other
// method; and each defect of MindSpore's DimReduce that ours does not have.

#include "temporary_folder.h"
#include "trained.h"

#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

namespace {

constexpr const char *kInverse = "dim_reduce/inverse_hessian";
constexpr const char *kAccepted = "dim_reduce/accepted";

std::vector<Network> networks() {
  return {denseNetwork(), imageNetwork(), tokenNetwork()};
}

Json sgd(double rate, double momentum = 0) {
  return {{"optimizer",
           {{"type", "sgd"}, {"learning_rate", rate}, {"momentum", momentum}}}};
}

/// Rates at which the optimizer moves nothing.
Json still() { return sgd(1e-30); }

using Vector = std::vector<double>;

double product(const Vector &one, const Vector &other) {
  double sum = 0;
  for (size_t i = 0; i < one.size(); ++i)
    sum += one[i] * other.at(i);
  return sum;
}

/// a + factor * b
Vector along(const Vector &a, double factor, const Vector &b) {
  Vector result;
  for (size_t i = 0; i < a.size(); ++i)
    result.push_back(a[i] + factor * b.at(i));
  return result;
}

/// All tensors one after the other, in the order of their names.
Vector flat(const NamedTensors &tensors) {
  Vector all;
  for (const auto &[name, tensor] : tensors)
    llvm::append_range(all, tensor.floats);
  return all;
}

/// The rows of a run's basis, each in the order of `flat`.
std::vector<Vector> basisOf(const Trained &run) {
  std::vector<Vector> rows;
  for (const auto &[name, tensor] : run.states()) {
    if (!llvm::StringRef(name).starts_with("dim_reduce/basis/"))
      continue;
    rows.resize(tensor.shape.front());
    size_t size = tensor.floats.size() / rows.size();
    for (size_t row = 0; row < rows.size(); ++row)
      rows[row].insert(rows[row].end(), tensor.floats.begin() + row * size,
                       tensor.floats.begin() + (row + 1) * size);
  }
  return rows;
}

/// The network's loss and gradient at any weights, from a run that descends.
class Slope {
public:
  Slope(const Network &network, Json more = Json::object())
      : run_(network, plain([&] {
               more.update(sgd(1));
               return more;
             }())) {}

  /// Returns the loss; `gradient` becomes that of the parameters.
  double at(const Vector &weights, int64_t update, Vector *gradient = nullptr) {
    size_t begin = 0;
    for (auto &[name, tensor] : run_.parameters()) {
      tensor.floats.assign(weights.begin() + begin,
                           weights.begin() + begin + tensor.size());
      begin += tensor.size();
      run_.compiled().setState(name, tensor);
    }
    Vector before = flat(run_.parameters());
    run_.step(update);
    if (gradient)
      *gradient = change(flat(run_.parameters()), before);
    return run_.loss();
  }

private:
  Trained run_;
};

/// Section 8.5 of the rule, with numbers of f64.
class Model {
public:
  Model(const Network &network, const Trained &run, double rate,
        double momentum)
      : weights(flat(run.parameters())), slope_(network), rows_(basisOf(run)),
        rate_(rate), momentum_(momentum), last_(rows_.size(), 0.0),
        stepped_(rows_.size(), 0.0), moment_(weights.size(), 0.0) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      inverse.emplace_back(rows_.size(), 0.0);
      inverse[i][i] = 1;
    }
  }

  void step(int64_t update) {
    Vector gradient, inside;
    double loss = slope_.at(weights, update, &gradient);
    for (const Vector &row : rows_)
      inside.push_back(product(row, gradient));
    std::vector<Vector> before = inverse;
    learn(along(inside, -1, last_));
    Vector d;
    for (const Vector &row : inverse)
      d.push_back(-product(row, inside));
    double length = search(loss, product(inside, d), outside(d), update);
    moment_ = along(along(gradient, -1, outside(inside)), momentum_, moment_);
    weights = along(along(weights, length, outside(d)), -rate_, moment_);
    if (length == 0) {
      inverse = before;
      return;
    }
    ++accepted;
    last_ = inside;
    stepped_ = along(Vector(d.size(), 0.0), length, d);
  }

  Vector weights;
  std::vector<Vector> inverse;
  int64_t accepted = 0, shortened = 0;

private:
  Vector outside(const Vector &inside) const {
    Vector result(weights.size(), 0.0);
    for (size_t row = 0; row < rows_.size(); ++row)
      result = along(result, inside[row], rows_[row]);
    return result;
  }

  /// H becomes E^T H E + s s^T / q with E = I - y s^T / q.
  void learn(const Vector &y) {
    size_t n = y.size();
    double q = product(y, stepped_);
    if (!(q > 1e-20))
      return;
    auto e = [&](size_t i, size_t j) {
      return double(i == j) - y[i] * stepped_[j] / q;
    };
    std::vector<Vector> result(n, Vector(n, 0.0));
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) {
        for (size_t a = 0; a < n; ++a)
          for (size_t b = 0; b < n; ++b)
            result[i][j] += e(a, i) * inverse[a][b] * e(b, j);
        result[i][j] += stepped_[i] * stepped_[j] / q;
      }
    inverse = result;
  }

  double search(double loss, double predicted, const Vector &direction,
                int64_t update) {
    for (double length : {1.0, 0.55}) {
      double there = slope_.at(along(weights, length, direction), update);
      if (loss + 0.4 * length * predicted > there) {
        shortened += length < 1;
        return length;
      }
    }
    return 0;
  }

  Slope slope_;
  std::vector<Vector> rows_;
  double rate_, momentum_;
  Vector last_, stepped_, moment_;
};

void expectNearlyEqual(const Vector &found, const Vector &expected,
                       double part) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0;
  for (double number : expected)
    largest = std::max(largest, std::abs(number));
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], part * largest) << "element " << i;
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
/// trials fail.
TEST(Reduced, FollowsTheRuleInF64) {
  int64_t accepted = 0, refused = 0, shortened = 0;
  for (const Network &network : networks())
    for (double factor : {1.0, 6.0}) {
      SCOPED_TRACE(factor);
      Network own = steep(network, factor);
      Trained run(own, reduced(5, sgd(0.01, 0.9)));
      Model model(own, run, 0.01, 0.9);
      for (int64_t update = 0; update < 8; ++update) {
        run.step(update);
        model.step(update);
        SCOPED_TRACE(update);
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
    Trained run(network, reduced(3, still()));
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
    Trained run(network, reduced(3, sgd(1))),
        quiet(network, reduced(3, still()));
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
  for (int64_t components : {1, 2, 7, 33}) {
    Trained run(denseNetwork(), reduced(components, sgd(0.01)));
    Model model(denseNetwork(), run, 0.01, 0);
    for (int64_t update = 0; update < 3; ++update) {
      run.step(update);
      model.step(update);
    }
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

/// MindSpore's trials move the running statistics, and draw other dropout.
TEST(Defect, TrialsWriteNoStatistics) {
  Network network = imageNetwork();
  network.layers = [](ProgramBuilder &net, Tensor x) {
    x = net.batchNorm("bn", net.convolution("conv", x, 4, {.size = {3, 3}}));
    return net.dense("fc", net.flatten(net.relu(x)), 3);
  };
  Trained run(network, reduced(3)), same(network, plain());
  run.step(0);
  same.step(0);
  ASSERT_GT(run.count(kAccepted), 0);
  NamedTensors states = run.states();
  for (const auto &[name, tensor] : same.states())
    if (llvm::StringRef(name).contains("running")) {
      EXPECT_EQ(states.at(name).floats, tensor.floats) << name;
    }
}

//===-- other methods -----------------------------------------------------===//

/// Trials are of the last micro-batch, whose own loss is f0.
TEST(With, AccumulationHasTheMeanGradient) {
  Json more = still();
  more["accumulation"] = 2;
  Trained run(denseNetwork(), reduced(3, more));
  std::vector<Vector> rows = basisOf(run);
  Vector start = flat(run.parameters());
  EXPECT_EQ(run.step(0), "train_accumulate");
  EXPECT_EQ(flat(run.parameters()), start);
  EXPECT_EQ(run.step(1), "train");
  ASSERT_EQ(run.count(kAccepted), 1);
  Vector gradient(start.size(), 0.0);
  Slope slope(denseNetwork());
  for (int64_t update : {0, 1}) {
    Vector own;
    slope.at(start, update, &own);
    gradient = along(gradient, 0.5, own);
  }
  Vector moved = change(start, flat(run.parameters()));
  double length = product(rows[0], moved) / -product(rows[0], gradient);
  EXPECT_TRUE(std::abs(length - 1) < 1e-3 || std::abs(length - 0.55) < 1e-3)
      << length;
  for (const Vector &row : rows)
    EXPECT_NEAR(product(row, moved), -length * product(row, gradient),
                1e-4 * normOf(gradient));
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
  Trained moved(denseNetwork(), reduced(3, still())),
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
  Trained quiet(denseNetwork(), reduced(3, still())),
      run(denseNetwork(), reduced(3, more));
  quiet.step(0);
  run.step(0);
  ASSERT_EQ(run.count(kAccepted), 1);
  EXPECT_NEAR(normOf(change(flat(quiet.parameters()), flat(run.parameters()))),
              1e-3, 1e-5);
}

TEST(With, SixteenBitsTrialsAreOfRoundedWeights) {
  for (const char *precision : {"bf16", "f16"}) {
    Json more = still();
    more["precision"] = precision;
    more["loss_scale"] = {{"type", "static"}, {"initial", 8.0}};
    Trained run(imageNetwork(), reduced(3, more)),
        wide(imageNetwork(), reduced(3, still()));
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
        Case{{{"distribution", {{"mode", "data_parallel"}}}},
             "recipe: dim_reduce is not built yet for distribution.mode "
             "\"data_parallel\""},
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
