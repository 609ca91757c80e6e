// Gradients between borders, by the reference evaluator: that of each value is
// the true one times the scale of the value's level.

#include "passes/passes.h"
#include "tests/passes/program_text.h"

#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>

#include <random>

using namespace gradus;
using gradus::testing::PassText;

namespace {

/// A value of the network below, and the highest group behind it.
struct Line {
  std::string name, op;
  int level;
};

/// Two layers are added to again further on, and the first one's weight is used
/// once more at the end.
const std::vector<Line> kNetwork = {
    {"h0", "gradus.matmul %x, %a : M, M -> M", 0},
    {"r0", "gradus.sigmoid %h0 : M", 0},
    {"h1", "gradus.matmul %r0, %b : M, M -> M", 1},
    {"s1", "arith.addf %h1, %r0 : M", 1},
    {"h2", "gradus.matmul %s1, %c : M, M -> M", 2},
    {"s2", "arith.addf %h2, %r0 : M", 2},
    {"t2", "arith.mulf %s2, %s1 : M", 2},
    {"h3", "gradus.matmul %t2, %a : M, M -> M", 2},
    {"side", "arith.mulf %r0, %r0 : M", 0},
    {"sum", "arith.addf %h3, %side : M", 2},
    {"squares", "arith.mulf %sum, %sum : M", 2}};

std::string withTypes(std::string text) {
  for (size_t at; (at = text.find('M')) != std::string::npos;)
    text.replace(at, 1, "tensor<3x3xf32>");
  return text;
}

/// The network with a parameter "LEVEL.NAME" added to each value, so that the
/// parameter's gradient is the value's.
std::string program(const std::string &recipe) {
  std::string states, lines;
  auto state = [&](const std::string &name) {
    states += "gradus.state @\"" + name +
              "\" : M {role = #gradus.role<parameter>, init = "
              "#gradus.init<zeros>}\n";
  };
  for (std::string name : {"a", "b", "c"}) {
    state(name);
    lines += "%" + name + " = gradus.read @" + name + " : M\n";
  }
  for (const Line &line : kNetwork) {
    std::string probe = std::to_string(line.level) + "." + line.name;
    state(probe);
    lines += "%own_" + line.name + " = " + line.op + "\n%probe_" + line.name +
             " = gradus.read @\"" + probe + "\" : M\n%" + line.name +
             " = arith.addf %own_" + line.name + ", %probe_" + line.name +
             " : M\n";
  }
  return withTypes(
      "gradus.program @p attributes {recipe = {" + recipe + "}} {\n" + states +
      "gradus.graph @train(%x: M) -> (loss: tensor<f32>) {\n" + lines +
      "%loss = gradus.reduce mean %squares axes [0, 1] : M -> tensor<f32>\n"
      "gradus.return %loss : tensor<f32>\n}\n}");
}

HostTensor randomMatrix(unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  HostTensor matrix = zeros({3, 3});
  for (double &number : matrix.floats)
    number = uniform(bits);
  return matrix;
}

/// The gradients that autodiff gives, by parameter.
StateMap gradientsOf(const std::string &recipe) {
  PassText text(program(recipe));
  mlir::PassManager manager(&text.context);
  auto &passes = manager.nest<ProgramOp>();
  passes.addPass(createLossScaleBorders());
  passes.addPass(createAutodiff());
  EXPECT_TRUE(succeeded(manager.run(*text.module))) << text.messages;
  StateMap states, gradients;
  unsigned seed = 0;
  for (auto state : text.program().getBody().getOps<StateOp>()) {
    if (state.getRole() != Role::parameter) {
      HostTensor scale = zeros(llvm::ArrayRef<int64_t>{});
      scale.floats[0] = state.getInit()->getValue().getValueAsDouble();
      states[state.getSymName()] = scale;
    } else
      states[state.getSymName()] = randomMatrix(++seed);
  }
  EXPECT_TRUE(succeeded(evaluateGraph(text.program().getGraph("train"),
                                      {randomMatrix(0)}, states, &gradients)));
  return gradients;
}

const std::vector<double> kScales = {1024, 37.5, 0.25};
constexpr const char *kMore =
    ", initial = [1024.0, 37.5, 0.25], minimum = 0.125}";

void expectScaled(const StateMap &found, const StateMap &expected,
                  const std::string &name, double scale) {
  for (int i = 0; i < 9; ++i) {
    double want = expected.lookup(name).floats[i] * scale;
    EXPECT_NEAR(found.lookup(name).floats.at(i), want, 1e-12 * std::abs(want))
        << name;
  }
}

} // namespace

TEST(LossScaleBorders, GiveEachValuesGradientTheScaleOfItsLevel) {
  StateMap plain = gradientsOf("");
  StateMap scaled = gradientsOf(
      R"(loss_scale = {type = "group", groups = [["a", "0.*"], ["b", "1.*"], ["c", "2.*"]])" +
      std::string(kMore));
  ASSERT_EQ(scaled.size(), kNetwork.size() + 3);
  for (const Line &line : kNetwork)
    expectScaled(scaled, plain, std::to_string(line.level) + "." + line.name,
                 kScales[line.level]);
  for (auto [name, level] : {std::pair("a", 0), {"b", 1}, {"c", 2}})
    expectScaled(scaled, plain, name, kScales[level]);
}

/// Parameters have the scale of their group wherever it stands in the network.
TEST(LossScaleBorders, NeedNoOrderOfGroups) {
  StateMap plain = gradientsOf("");
  StateMap scaled = gradientsOf(
      R"(loss_scale = {type = "group", groups = [["c", "*.h*"], ["a", "*.s*", "*.t2"], ["b", "*.r0"]])" +
      std::string(kMore));
  for (auto &[name, level] : std::map<std::string, int>{{"c", 0},
                                                        {"a", 1},
                                                        {"b", 2},
                                                        {"0.h0", 0},
                                                        {"2.h3", 0},
                                                        {"1.s1", 1},
                                                        {"2.t2", 1},
                                                        {"0.side", 1},
                                                        {"0.r0", 2}})
    expectScaled(scaled, plain, name, kScales[level]);
}
