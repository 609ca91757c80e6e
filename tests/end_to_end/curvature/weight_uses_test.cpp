// Weights that are used several times or in parts, through compiled graphs:
// each is trained as the layers are that it stands for.

#include "trained.h"

#include "frontends/recipe/recipe.h"
#include "ir/build.h"

#include <cmath>

using namespace gradus;
using namespace gradus::curvature;

namespace {

/// Names and values of the second network's weights, made of those of the
/// first.
using Translation = std::function<NamedTensors(const NamedTensors &)>;

NamedTensors unchanged(const NamedTensors &parameters) { return parameters; }

/// Rows of one matrix below those of another.
HostTensor below(const HostTensor &top, const HostTensor &bottom) {
  HostTensor result = top;
  result.shape[0] += bottom.shape[0];
  llvm::append_range(result.floats, bottom.floats);
  return result;
}

/// Columns of one matrix beside those of another.
HostTensor beside(const HostTensor &left, const HostTensor &right) {
  HostTensor result =
      zeros(Shape{left.shape[0], left.shape[1] + right.shape[1]});
  result.floats.clear();
  for (int64_t row = 0; row < left.shape[0]; ++row)
    for (const HostTensor *each : {&left, &right})
      for (int64_t column = 0; column < each->shape[1]; ++column)
        result.floats.push_back(each->floats[row * each->shape[1] + column]);
  return result;
}

/// Some keys with which factors, means over time and, by `pi`, the shares of
/// damping take part.
std::vector<Json> someKeys(bool pi = true) {
  return {{{"refresh", {{"every", 2}}}},
          {{"type", "kfac"},
           {"pi", pi},
           {"refresh", {{"every", 4}, {"measure_every", 2}}}},
          {{"block", 6}, {"refresh", {{"every", 1}}}}};
}

/// The same for layers of which a weight consists: they share their damping in
/// one way, and separate layers each in its own.
std::vector<Json> keysOfParts() { return someKeys(/*pi=*/false); }

/// Expects two networks, which compute the same function of weights that
/// correspond, to be trained alike.
void expectSameTraining(const Network &one, const Network &other,
                        const Translation &translated,
                        const std::vector<Json> &keys = someKeys()) {
  for (const Json &precondition : keys) {
    SCOPED_TRACE(precondition.dump());
    Trained first(one, preconditioned(precondition)),
        second(other, preconditioned(precondition));
    for (const auto &[name, value] : translated(first.parameters()))
      second.compiled().setState(name, value);
    NamedTensors start = first.parameters();
    first.steps(0, 5);
    second.steps(0, 5);
    EXPECT_NEAR(second.loss(), first.loss(), 1e-5);
    expectClose(second.parameters(), translated(first.parameters()), 1e-5);
    // A weight that keeps its gradient takes another way.
    Trained plainly(one, plain());
    for (const auto &[name, value] : start)
      plainly.compiled().setState(name, value);
    plainly.steps(0, 5);
    for (const auto &[name, from] : start)
      if (llvm::StringRef(name).ends_with(".weight"))
        EXPECT_GT(normOf(change(plainly.state(name), first.state(name))),
                  1e-2 * normOf(change(from.floats, first.state(name))))
            << name;
  }
}

Network of(Shape sample, std::function<Tensor(ProgramBuilder &, Tensor)> layers,
           int64_t tokens = 0) {
  return {.sample = sample,
          .positions = {},
          .classes = 4,
          .tokens = tokens,
          .layers = std::move(layers)};
}

/// Two tensors next to each other, of which `b` was made last.
Tensor joined(Tensor a, Tensor b, int64_t axis) {
  mlir::OpBuilder builder(b.value().getContext());
  builder.setInsertionPointAfterValue(b.value());
  Shape shape = a.shape();
  shape[axis] += b.shape()[axis];
  return Tensor(ConcatenateOp::create(
      builder, b.value().getLoc(), tensorType(a.value()).clone(shape),
      mlir::ValueRange{a.value(), b.value()}, axis));
}

/// x W^T
Tensor times(ProgramBuilder &net, Tensor x, Tensor weight) {
  return net.matmul(x, weight, /*transposeB=*/true);
}

} // namespace

//===-- parts that are one layer ------------------------------------------===//

/// Queries, keys and values by one weight or by its parts.
TEST(PartsOfAWeight, WithTheSameInputsAreOneLayer) {
  auto head = [](ProgramBuilder &net, Tensor q, Tensor k, Tensor v) {
    return net.dense("fc", net.add(net.multiply(q, net.tanh(k)), v), 4);
  };
  Network whole = of({5}, [=](ProgramBuilder &net, Tensor x) {
    Tensor y = times(net, x, net.parameter("qkv.weight", {12, 5}));
    return head(net, net.slice(y, 1, 0, 4), net.slice(y, 1, 4, 4),
                net.slice(y, 1, 8, 4));
  });
  Network cut = of({5}, [=](ProgramBuilder &net, Tensor x) {
    Tensor weight = net.parameter("qkv.weight", {12, 5});
    // In another order than they lie.
    Tensor v = times(net, x, net.slice(weight, 0, 8, 4)),
           q = times(net, x, net.slice(weight, 0, 0, 4)),
           k = times(net, x, net.slice(weight, 0, 4, 4));
    return head(net, q, k, v);
  });
  expectSameTraining(whole, cut, unchanged);
}

/// As in a linear layer that is written without a concatenation.
TEST(PartsOfAWeight, ThatAddUpAreOneLayer) {
  Network whole = of({10}, [](ProgramBuilder &net, Tensor x) {
    Tensor y = times(net, x, net.parameter("w.weight", {6, 10}));
    return net.dense("fc", net.tanh(y), 4);
  });
  Network cut = of({10}, [](ProgramBuilder &net, Tensor x) {
    Tensor weight = net.parameter("w.weight", {6, 10});
    Tensor left = times(net, net.slice(x, 1, 0, 4), net.slice(weight, 1, 0, 4));
    Tensor right =
        times(net, net.slice(x, 1, 4, 6), net.slice(weight, 1, 4, 6));
    return net.dense("fc", net.tanh(net.add(left, right)), 4);
  });
  expectSameTraining(whole, cut, unchanged);
}

//===-- parts that are layers of their own --------------------------------===//

TEST(PartsOfAWeight, WithOtherInputsAreLayersOfTheirOwn) {
  auto head = [](ProgramBuilder &net, Tensor a, Tensor b) {
    return net.dense("fc", net.add(net.tanh(a), b), 4);
  };
  Network two = of({10}, [=](ProgramBuilder &net, Tensor x) {
    Tensor a = times(net, net.slice(x, 1, 0, 5),
                     net.parameter("a.weight", {6, 5})),
           b = times(net, net.slice(x, 1, 5, 5),
                     net.parameter("b.weight", {6, 5}));
    return head(net, a, b);
  });
  Network cut = of({10}, [=](ProgramBuilder &net, Tensor x) {
    Tensor weight = net.parameter("ab.weight", {12, 5});
    Tensor a = times(net, net.slice(x, 1, 0, 5), net.slice(weight, 0, 0, 6)),
           b = times(net, net.slice(x, 1, 5, 5), net.slice(weight, 0, 6, 6));
    return head(net, a, b);
  });
  // The same weight, lying as inputs by outputs.
  Network turned = of({10}, [=](ProgramBuilder &net, Tensor x) {
    Tensor weight = net.parameter("ab.weight", {5, 12});
    Tensor a = net.matmul(net.slice(x, 1, 0, 5), net.slice(weight, 1, 0, 6)),
           b = net.matmul(net.slice(x, 1, 5, 5), net.slice(weight, 1, 6, 6));
    return head(net, a, b);
  });
  auto joined = [](NamedTensors all) {
    all["ab.weight"] = below(all.at("a.weight"), all.at("b.weight"));
    all.erase("a.weight");
    all.erase("b.weight");
    return all;
  };
  auto transposed = [=](const NamedTensors &parameters) {
    NamedTensors all = joined(parameters);
    HostTensor &weight = all.at("ab.weight"), rows = weight;
    weight.shape = {5, 12};
    for (int64_t i = 0; i < weight.size(); ++i)
      weight.floats[i] = rows.floats[i % 12 * 5 + i / 12];
    return all;
  };
  expectSameTraining(two, cut, joined, keysOfParts());
  expectSameTraining(two, turned, transposed, keysOfParts());
}

/// A part that is twice as large as the other has two blocks for its one.
TEST(PartsOfAWeight, MayBeMultiplesOfTheSmallest) {
  auto head = [](ProgramBuilder &net, Tensor a, Tensor b) {
    b = net.add(net.slice(b, 1, 0, 6), net.tanh(net.slice(b, 1, 6, 6)));
    return net.dense("fc", net.add(net.tanh(a), b), 4);
  };
  Network two = of({10}, [=](ProgramBuilder &net, Tensor x) {
    Tensor a = times(net, net.slice(x, 1, 0, 5),
                     net.parameter("a.weight", {6, 5})),
           b = times(net, net.slice(x, 1, 5, 5),
                     net.parameter("b.weight", {12, 5}));
    return head(net, a, b);
  });
  Network cut = of({10}, [=](ProgramBuilder &net, Tensor x) {
    Tensor weight = net.parameter("ab.weight", {18, 5});
    Tensor a = times(net, net.slice(x, 1, 0, 5), net.slice(weight, 0, 0, 6)),
           b = times(net, net.slice(x, 1, 5, 5), net.slice(weight, 0, 6, 12));
    return head(net, a, b);
  });
  auto joined = [](NamedTensors all) {
    all["ab.weight"] = below(all.at("a.weight"), all.at("b.weight"));
    all.erase("a.weight");
    all.erase("b.weight");
    return all;
  };
  expectSameTraining(two, cut, joined,
                     {{{"block", 6}, {"refresh", {{"every", 2}}}}});
}

TEST(PartsOfAWeight, WithOtherOutputsAreLayersOfTheirOwn) {
  auto head = [](ProgramBuilder &net, Tensor a, Tensor b) {
    return net.dense("fc", net.add(net.tanh(a), b), 4);
  };
  Network two = of({10}, [=](ProgramBuilder &net, Tensor x) {
    Tensor a = times(net, net.slice(x, 1, 0, 5),
                     net.parameter("a.weight", {6, 5})),
           b = times(net, net.slice(x, 1, 5, 5),
                     net.parameter("b.weight", {6, 5}));
    return head(net, a, b);
  });
  Network cut = of({10}, [=](ProgramBuilder &net, Tensor x) {
    Tensor weight = net.parameter("ab.weight", {6, 10});
    Tensor a = times(net, net.slice(x, 1, 0, 5), net.slice(weight, 1, 0, 5)),
           b = times(net, net.slice(x, 1, 5, 5), net.slice(weight, 1, 5, 5));
    return head(net, a, b);
  });
  expectSameTraining(
      two, cut,
      [](NamedTensors all) {
        all["ab.weight"] = beside(all.at("a.weight"), all.at("b.weight"));
        all.erase("a.weight");
        all.erase("b.weight");
        return all;
      },
      keysOfParts());
}

//===-- uses of a whole weight --------------------------------------------===//

/// The steps of a sequence, one by one or as rows of one product. Autodiff
/// joins many into one product by itself.
TEST(UsesOfAWeight, AreRowsOfOneLayer) {
  for (int64_t steps : {2, 3, 6}) {
    SCOPED_TRACE(steps);
    auto head = [=](ProgramBuilder &net, std::vector<Tensor> hidden) {
      Tensor sum = hidden.front();
      for (int64_t step = 1; step < steps; ++step)
        sum = net.add(net.scale(net.tanh(sum), 0.5), hidden[step]);
      return net.dense("fc", sum, 4);
    };
    Network once = of({steps, 5}, [=](ProgramBuilder &net, Tensor x) {
      Tensor y = net.tanh(times(net, x, net.parameter("w.weight", {6, 5})));
      std::vector<Tensor> hidden;
      for (int64_t step = 0; step < steps; ++step)
        hidden.push_back(net.flatten(net.slice(y, 1, step, 1)));
      return head(net, hidden);
    });
    Network unrolled = of({steps, 5}, [=](ProgramBuilder &net, Tensor x) {
      Tensor weight = net.parameter("w.weight", {6, 5});
      std::vector<Tensor> hidden;
      for (int64_t step = 0; step < steps; ++step)
        hidden.push_back(net.tanh(
            times(net, net.flatten(net.slice(x, 1, step, 1)), weight)));
      return head(net, hidden);
    });
    expectSameTraining(once, unrolled, unchanged);
  }
}

TEST(UsesOfAWeight, OfATableAreReadsOfOne) {
  auto head = [](ProgramBuilder &net, Tensor a, Tensor b) {
    return net.dense("fc", net.flatten(net.add(a, net.tanh(b))), 4);
  };
  Network once = of(
      {4},
      [=](ProgramBuilder &net, Tensor x) {
        Tensor y = net.lookUp(net.parameter("table.weight", {7, 5}), x);
        return head(net, net.slice(y, 1, 0, 2), net.slice(y, 1, 2, 2));
      },
      7);
  Network twice = of(
      {4},
      [=](ProgramBuilder &net, Tensor x) {
        Tensor table = net.parameter("table.weight", {7, 5});
        return head(net, net.lookUp(table, net.slice(x, 1, 0, 2)),
                    net.lookUp(table, net.slice(x, 1, 2, 2)));
      },
      7);
  expectSameTraining(once, twice, unchanged);
}

/// Rows that lie in two weights are rows of one table where the model looks up
/// both at once.
TEST(UsesOfAWeight, AsAPartOfATableAreThoseOfItsRows) {
  auto head = [](ProgramBuilder &net, Tensor table, Tensor x) {
    return net.dense("fc", net.flatten(net.tanh(net.lookUp(table, x))), 4);
  };
  Network two = of(
      {4},
      [=](ProgramBuilder &net, Tensor x) {
        Tensor first = net.parameter("first.weight", {4, 5}),
               last = net.parameter("last.weight", {3, 5});
        return head(net, joined(first, last, 0), x);
      },
      7);
  Network whole = of(
      {4},
      [=](ProgramBuilder &net, Tensor x) {
        return head(net, net.parameter("table.weight", {7, 5}), x);
      },
      7);
  expectSameTraining(
      two, whole,
      [](NamedTensors all) {
        all["table.weight"] =
            below(all.at("first.weight"), all.at("last.weight"));
        all.erase("first.weight");
        all.erase("last.weight");
        return all;
      },
      keysOfParts());
}

/// The table of tokens is the weight of the last layer, too: its rows are
/// inputs of one and outputs of the other.
TEST(UsesOfAWeight, AsTableAndAsHeadKeepItsGradient) {
  Network tied = tokenNetwork();
  tied.layers = [](ProgramBuilder &net, Tensor x) {
    Tensor table = net.parameter("table.weight", {7, 5});
    x = net.dense("hidden", net.lookUp(table, x), 5);
    return times(net, net.tanh(x), table);
  };
  Json sgd = {{"optimizer", {{"type", "sgd"}, {"learning_rate", 1.0}}}};
  Trained run(tied, preconditioned({{"refresh", {{"every", 2}}}}, sgd)),
      plainly(tied, plain(sgd));
  EXPECT_FALSE(run.states().contains("precondition/inputs/table.weight"));
  EXPECT_TRUE(run.states().contains("precondition/inputs/hidden.weight"));
  run.step(0);
  plainly.step(0);
  expectClose({{"", run.states().at("table.weight")}},
              {{"", plainly.states().at("table.weight")}}, 1e-6);
}

//===-- convolutions ------------------------------------------------------===//

namespace {

/// A run of a program in text, whose recipe has the given preconditioning.
std::string programOf(const std::string &states, const std::string &layers,
                      const Json &precondition) {
  auto read = recipe::read(preconditioned(precondition).dump(), "recipe");
  EXPECT_TRUE(read.ok()) << read.status();
  mlir::MLIRContext context;
  std::string recipe;
  llvm::raw_string_ostream stream(recipe);
  recipe::toAttribute(*read, context).print(stream);
  std::string text =
      "gradus.program @network attributes {recipe = " + recipe + "} {\n";
  for (llvm::StringRef state : llvm::split(states, "\n"))
    if (!state.empty())
      text += ("gradus.state @" + state +
               " {role = #gradus.role<parameter>, init = #gradus.init<uniform, "
               "0.5 : f64>}\n")
                  .str();
  return text +
         "gradus.graph @predict(%x: tensor<8x4x6x6xf32>) -> (output: "
         "tensor<8x3xf32>) {\n" +
         layers + "gradus.return %y : tensor<8x3xf32>\n}\n}\n";
}

/// What comes behind the images %h of 4 channels and a size.
std::string headOf(int64_t size) {
  std::string images = "tensor<8x4x" + std::to_string(size) + "x" +
                       std::to_string(size) + "xf32>";
  return "%t = math.tanh %h : " + images +
         "\n%m = gradus.reduce mean %t axes [2, 3] : " + images +
         " -> tensor<8x4xf32>\n" + R"(
  %f = gradus.read @f : tensor<3x4xf32>
  %y = gradus.matmul %m, %f transposed : tensor<8x4xf32>, tensor<3x4xf32> -> tensor<8x3xf32>
)";
}

NamedTensors imagesOf(int64_t step) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  return {{"x", randomTensor(mlir::RankedTensorType::get({8, 4, 6, 6},
                                                         builder.getF32Type()),
                             step + 1)},
          {"label",
           randomTensor(mlir::RankedTensorType::get({8}, builder.getI64Type()),
                        step + 7, 3)}};
}

void train(Compiled &run) {
  for (int64_t step = 0; step < 4; ++step)
    run.run("train", imagesOf(step));
}

/// Trains two runs from the parameters of the second.
void expectTrainedAlike(Compiled &run, Compiled &other,
                        const std::vector<std::string> &parameters) {
  for (const std::string &name : parameters)
    run.setState(name, other.states().at(name));
  train(run);
  train(other);
  EXPECT_TRUE(run.states().contains("precondition/inputs/w"));
  for (const std::string &name : parameters)
    expectClose({{name, run.states().at(name)}},
                {{name, other.states().at(name)}}, 1e-5);
}

} // namespace

/// A transposed convolution of one element and stride 1 is a convolution by the
/// transposed weight, and both are dense layers for each position.
TEST(TransposedConvolution, OfOneElementIsTheOther) {
  for (const Json &keys : someKeys()) {
    Compiled forward(programOf("w : tensor<4x4x1x1xf32>\nf : tensor<3x4xf32>",
                               std::string(R"(
  %w = gradus.read @w : tensor<4x4x1x1xf32>
  %h = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<8x4x6x6xf32>, tensor<4x4x1x1xf32> -> tensor<8x4x6x6xf32>
)") + headOf(6),
                               keys)),
        transposed(programOf("w : tensor<4x4x1x1xf32>\nf : tensor<3x4xf32>",
                             std::string(R"(
  %w = gradus.read @w : tensor<4x4x1x1xf32>
  %h = gradus.convolution_backward_data %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<8x4x6x6xf32>, tensor<4x4x1x1xf32> -> tensor<8x4x6x6xf32>
)") + headOf(6),
                             keys));
    ASSERT_TRUE(forward.ok() && transposed.ok());
    auto turned = [](HostTensor weight) {
      HostTensor rows = weight;
      for (int64_t i = 0; i < 16; ++i)
        weight.floats[i] = rows.floats[i % 4 * 4 + i / 4];
      return weight;
    };
    transposed.setState("w", turned(forward.states().at("w")));
    transposed.setState("f", forward.states().at("f"));
    train(forward);
    train(transposed);
    ASSERT_TRUE(transposed.states().contains("precondition/inputs/w"));
    expectClose({{"w", turned(transposed.states().at("w"))}},
                {{"w", forward.states().at("w")}}, 1e-5);
  }
}

/// A group is a transposed convolution of its own, of a part of the inputs.
TEST(TransposedConvolution, OfGroupsIsOneOfEach) {
  const char *whole = R"(
  %w = gradus.read @w : tensor<4x2x3x3xf32>
  %h = gradus.convolution_backward_data %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] groups 2 : tensor<8x4x6x6xf32>, tensor<4x2x3x3xf32> -> tensor<8x4x6x6xf32>
)",
             *apart = R"(
  %a = gradus.read @a : tensor<2x2x3x3xf32>
  %b = gradus.read @b : tensor<2x2x3x3xf32>
  %first = gradus.slice %x starts [0, 0, 0, 0] steps [1, 1, 1, 1] : tensor<8x4x6x6xf32> -> tensor<8x2x6x6xf32>
  %last = gradus.slice %x starts [0, 2, 0, 0] steps [1, 1, 1, 1] : tensor<8x4x6x6xf32> -> tensor<8x2x6x6xf32>
  %0 = gradus.convolution_backward_data %first, %a strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x2x6x6xf32>, tensor<2x2x3x3xf32> -> tensor<8x2x6x6xf32>
  %1 = gradus.convolution_backward_data %last, %b strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x2x6x6xf32>, tensor<2x2x3x3xf32> -> tensor<8x2x6x6xf32>
  %h = gradus.concatenate %0, %1 axis 1 : tensor<8x2x6x6xf32>, tensor<8x2x6x6xf32> -> tensor<8x4x6x6xf32>
)";
  for (const Json &keys : keysOfParts()) {
    Compiled groups(programOf("w : tensor<4x2x3x3xf32>\nf : tensor<3x4xf32>",
                              whole + headOf(6), keys)),
        two(programOf("a : tensor<2x2x3x3xf32>\nb : tensor<2x2x3x3xf32>\nf : "
                      "tensor<3x4xf32>",
                      apart + headOf(6), keys));
    ASSERT_TRUE(groups.ok() && two.ok());
    groups.setState("w", below(two.states().at("a"), two.states().at("b")));
    groups.setState("f", two.states().at("f"));
    train(groups);
    train(two);
    ASSERT_TRUE(two.states().contains("precondition/inputs/a"));
    expectClose({{"w", groups.states().at("w")}},
                {{"w", below(two.states().at("a"), two.states().at("b"))}},
                1e-5);
  }
}

/// Parts with the same patches, or that add up, are one layer, however many
/// channels each has.
TEST(Convolution, OfUnequalPartsOfAWeightIsOne) {
  const std::string whole = R"(
  %w = gradus.read @w : tensor<4x4x3x3xf32>
  %p = gradus.convolution %x, %w strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<8x4x6x6xf32>
)",
                    outputs = R"(
  %w = gradus.read @w : tensor<4x4x3x3xf32>
  %a = gradus.slice %w starts [0, 0, 0, 0] steps [1, 1, 1, 1] : tensor<4x4x3x3xf32> -> tensor<1x4x3x3xf32>
  %b = gradus.slice %w starts [1, 0, 0, 0] steps [1, 1, 1, 1] : tensor<4x4x3x3xf32> -> tensor<3x4x3x3xf32>
  %0 = gradus.convolution %x, %a strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x4x6x6xf32>, tensor<1x4x3x3xf32> -> tensor<8x1x6x6xf32>
  %1 = gradus.convolution %x, %b strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x4x6x6xf32>, tensor<3x4x3x3xf32> -> tensor<8x3x6x6xf32>
  %p = gradus.concatenate %0, %1 axis 1 : tensor<8x1x6x6xf32>, tensor<8x3x6x6xf32> -> tensor<8x4x6x6xf32>
)",
                    inputs = R"(
  %w = gradus.read @w : tensor<4x4x3x3xf32>
  %a = gradus.slice %w starts [0, 0, 0, 0] steps [1, 1, 1, 1] : tensor<4x4x3x3xf32> -> tensor<4x1x3x3xf32>
  %b = gradus.slice %w starts [0, 1, 0, 0] steps [1, 1, 1, 1] : tensor<4x4x3x3xf32> -> tensor<4x3x3x3xf32>
  %u = gradus.slice %x starts [0, 0, 0, 0] steps [1, 1, 1, 1] : tensor<8x4x6x6xf32> -> tensor<8x1x6x6xf32>
  %v = gradus.slice %x starts [0, 1, 0, 0] steps [1, 1, 1, 1] : tensor<8x4x6x6xf32> -> tensor<8x3x6x6xf32>
  %0 = gradus.convolution %u, %a strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x1x6x6xf32>, tensor<4x1x3x3xf32> -> tensor<8x4x6x6xf32>
  %1 = gradus.convolution %v, %b strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<8x3x6x6xf32>, tensor<4x3x3x3xf32> -> tensor<8x4x6x6xf32>
  %p = arith.addf %0, %1 : tensor<8x4x6x6xf32>
)",
                    bias = R"(
  %c = gradus.read @c : tensor<4xf32>
  %cs = gradus.broadcast %c dims [1] : tensor<4xf32> -> tensor<8x4x6x6xf32>
  %h = arith.addf %p, %cs : tensor<8x4x6x6xf32>
)";
  std::vector<std::pair<std::string, Json>> cuts = {
      {inputs, {{"bias", "joined"}, {"refresh", {{"every", 2}}}}}};
  for (const Json &keys : someKeys())
    cuts.insert(cuts.end(), {{outputs, keys}, {inputs, keys}});
  for (const auto &[cut, keys] : cuts) {
    SCOPED_TRACE(keys.dump());
    const std::string states = "w : tensor<4x4x3x3xf32>\nc : tensor<4xf32>\n"
                               "f : tensor<3x4xf32>";
    Compiled one(programOf(states, whole + bias + headOf(6), keys)),
        parts(programOf(states, cut + bias + headOf(6), keys));
    ASSERT_TRUE(one.ok() && parts.ok());
    expectTrainedAlike(parts, one, {"w", "c", "f"});
  }
}

/// Windows over two parts of an image are positions of one, where the parts
/// have the lines that both need.
TEST(Convolution, OfTwoImagesHasThePositionsOfBoth) {
  const char *whole = R"(
  %w = gradus.read @w : tensor<4x4x3x3xf32>
  %h = gradus.convolution %x, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<8x4x6x6xf32>, tensor<4x4x3x3xf32> -> tensor<8x4x4x4xf32>
)",
             *parts = R"(
  %w = gradus.read @w : tensor<4x4x3x3xf32>
  %top = gradus.slice %x starts [0, 0, 0, 0] steps [1, 1, 1, 1] : tensor<8x4x6x6xf32> -> tensor<8x4x3x6xf32>
  %rest = gradus.slice %x starts [0, 0, 1, 0] steps [1, 1, 1, 1] : tensor<8x4x6x6xf32> -> tensor<8x4x5x6xf32>
  %0 = gradus.convolution %top, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<8x4x3x6xf32>, tensor<4x4x3x3xf32> -> tensor<8x4x1x4xf32>
  %1 = gradus.convolution %rest, %w strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<8x4x5x6xf32>, tensor<4x4x3x3xf32> -> tensor<8x4x3x4xf32>
  %h = gradus.concatenate %0, %1 axis 2 : tensor<8x4x1x4xf32>, tensor<8x4x3x4xf32> -> tensor<8x4x4x4xf32>
)";
  for (const Json &keys : someKeys()) {
    Compiled one(programOf("w : tensor<4x4x3x3xf32>\nf : tensor<3x4xf32>",
                           whole + headOf(4), keys)),
        two(programOf("w : tensor<4x4x3x3xf32>\nf : tensor<3x4xf32>",
                      parts + headOf(4), keys));
    ASSERT_TRUE(one.ok() && two.ok());
    expectTrainedAlike(two, one, {"w", "f"});
  }
}
