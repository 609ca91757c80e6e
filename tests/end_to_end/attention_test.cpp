// Attention over more keys than a tile has, in a whole step: heads divided
// between threads make the same bits on any number of them, and the step is the
// evaluator's. And a bias of positions that is learned, beside a mask.

#include "compiled.h"
#include "tests/sanitized.h"

using namespace gradus;

namespace {

/// One head and a causal mask, or two and a mask of the input's; both drop. If
/// it is narrow, matmuls read bf16.
struct Long {
  bool causal, narrow;
};

void PrintTo(const Long &l, std::ostream *out) {
  *out << (l.causal ? "causal" : "masked") << (l.narrow ? " bf16" : "");
}

std::string program(const Long &l) {
  bool causal = l.causal;
  std::string heads = causal ? "1" : "2", mask = "tensor<1x1x1x1300xf32>",
              type = "tensor<1x" + heads + "x1300x4xf32>",
              rows = "tensor<1x" + heads + "x1300xf32>";
  std::string text = "gradus.program @p attributes {recipe = {seed = 3, loss = "
                     "{type = \"mse\", output = \"y\"}, optimizer = {type = "
                     "\"sgd\", learning_rate = 100.0}}} {\n";
  for (const char *name : {"q", "k", "v"})
    text += "gradus.state @" + std::string(name) + " : " + type +
            " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n";
  text += "gradus.graph @predict(%m: " + mask + ") -> (y: " + type + ") {\n";
  for (const char *name : {"q", "k", "v"})
    text += "%" + std::string(name) + " = gradus.read @" + name + " : " + type +
            "\n";
  std::string narrow = type, end = l.narrow ? "32" : "";
  narrow.replace(narrow.find("f32"), 3, "bf16");
  for (const char *name : {"q", "k", "v"})
    if (std::string x = "%" + std::string(name); l.narrow)
      text += x + "16 = arith.truncf " + x + " : " + type + " to " + narrow +
              "\n" + x + "32 = arith.extf " + x + "16 : " + narrow + " to " +
              type + "\n";
  return text + "%y, %l:2 = gradus.attention %q" + end + ", %k" + end + ", %v" +
         end + (causal ? " causal" : " mask %m") +
         " {scale = 0.5 : f64, dropout = 0.2 : f64} : (" + type + ", " + type +
         ", " + type + (causal ? "" : ", " + mask) + ") -> (" + type + ", " +
         rows + ", " + rows + ")\ngradus.return %y : " + type + "\n}\n}";
}

HostTensor wave(llvm::ArrayRef<int64_t> shape, double height, double step) {
  HostTensor tensor = zeros(shape);
  for (auto [i, number] : llvm::enumerate(tensor.floats))
    number = height * std::sin(step * i);
  return tensor;
}

NamedTensors inputs(bool causal) {
  return {{"m", wave({1, 1, 1, 1300}, 2, 0.3)},
          {"label", wave({1, causal ? 1 : 2, 1300, 4}, 1, 0.7)}};
}

NamedTensors start(bool causal) {
  NamedTensors states;
  double step = 0.3;
  for (const char *name : {"q", "k", "v"})
    states[name] = wave({1, causal ? 1 : 2, 1300, 4}, 1.5, step += 0.2);
  return states;
}

/// The states after two steps.
template <typename Runner> NamedTensors trained(Runner &runner, bool causal) {
  for (auto &[name, state] : start(causal))
    runner.setState(name, state);
  for (int i = 0; i < 2; ++i)
    runner.run("train", inputs(causal));
  return runner.states();
}

double largestDifference(const HostTensor &x, const HostTensor &y) {
  double largest = 0;
  for (auto [a, b] : llvm::zip_equal(x.floats, y.floats))
    largest = std::max(largest, std::fabs(a - b));
  return largest;
}

NamedTensors trainedBy(int64_t threads, const Long &l) {
  runtime::SessionOptions options;
  options.threads = threads;
  Compiled compiled(program(l), options);
  return trained(compiled, l.causal);
}

class LongAttention : public ::testing::TestWithParam<Long> {};

} // namespace

TEST_P(LongAttention, TrainsToTheSameBitsOnAnyNumberOfThreads) {
  SKIP_WHERE_SANITIZED();
  NamedTensors one = trainedBy(1, GetParam());
  for (int64_t threads : {2, 5})
    for (auto &[name, state] : trainedBy(threads, GetParam()))
      EXPECT_EQ(state.floats, one.at(name).floats) << name;
}

TEST_P(LongAttention, TrainsAsTheEvaluatorDoes) {
  auto [causal, narrow] = GetParam();
  Evaluated evaluated(program(GetParam()));
  NamedTensors expected = trained(evaluated, causal),
               found = trainedBy(2, GetParam());
  if (!narrow)
    return expectNear(found, expected, 1e-5, 1e-5);
  // The evaluator does not round what lies between matmuls to 8 bits; slopes of
  // scores are differences of what is rounded.
  for (auto &[name, before] : start(causal))
    EXPECT_LE(largestDifference(found.at(name), expected.at(name)),
              largestDifference(before, expected.at(name)) / 64)
        << name;
}

INSTANTIATE_TEST_SUITE_P(CausalOrMasked, LongAttention,
                         ::testing::Values(Long{false, false},
                                           Long{true, false}, Long{false, true},
                                           Long{true, true}));

//===-- a learned bias ----------------------------------------------------===//

namespace {

/// A step of attention, and what PyTorch 2's scaled_dot_product_attention and
/// its gradients gave in f32: norms of the rows that are hidden in one way, and
/// of whole gradients with their elements a third and five sixths on.
struct Learned {
  int64_t length, width; // of which code is small ops, or a kernel
  double y[8], dQuery[8], dBias[8], dKey[3], dValue[3];
};

const Learned learned[] = {
    {8,
     4,
     {2.66698442, 2.44863128, 2.1332502, 0.490137098, 0.490137098, 0,
      2.35849528, 2.38668109},
     {0.00888861887, 0.0171028002, 0.0228905276, 0.0269862948, 0.027724173, 0,
      0.0140318532, 0.0104974573},
     {0.0153827067, 0.043669124, 0.0326332406, 0.0352816316, 0.0352126156, 0,
      0.0279097893, 0.0174651941},
     {0.0277375784, -0.000729761901, -0.000613203505},
     {0.0445054241, 0.00409436412, 0.00173761975}},
    {40,
     16,
     {1.75386542, 12.2568742, 1.6205541, 0.535096408, 0.535096408, 0,
      0.845946253, 12.3791185},
     {0.000209249779, 0.00378117555, 0.000216150093, 0.000111949434,
      0.000132259358, 0, 0.00196958442, 0.00382944948},
     {0.00129503257, 0.00462990534, 0.00140384525, 0.000472359499,
      0.00050169702, 0, 0.000924844062, 0.00457241649},
     {0.00842962821, -0.00021171222, 1.84280289e-05},
     {0.00867447659, 5.16385844e-05, 7.37836381e-05}}};

void PrintTo(const Learned &l, std::ostream *out) {
  *out << l.length << " keys";
}

/// Products, a softmax and its test for NaN, as exporters write them. The rate
/// is 1024: what a step takes off is many times the parameters' rounding.
std::string programOf(const Learned &l) {
  std::string t = std::to_string(l.length), d = std::to_string(l.width),
              heads = "tensor<2x2x" + t + "x" + d + "xf32>",
              square = t + "x" + t + "xf32>", scores = "tensor<2x2x" + square,
              mask = "tensor<2x1x" + square, bias = "tensor<1x2x" + square,
              truth = "tensor<2x2x" + t + "x" + t + "xi1>";
  std::string states, reads;
  auto add = [&](const std::string &name, const std::string &type) {
    states += "gradus.state @" + name + " : " + type +
              " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n";
    reads += "%" + name + " = gradus.read @" + name + " : " + type + "\n";
  };
  for (const char *name : {"q", "k", "v"})
    add(name, heads);
  add("b", bias);
  return "gradus.program @p attributes {recipe = {loss = {type = \"mse\", "
         "output = \"y\"}, optimizer = {type = \"sgd\", learning_rate = "
         "1024.0}}} {\n" +
         states + "gradus.graph @predict(%m: " + mask + ") -> (y: " + heads +
         ") {\n" + reads + "%zero = arith.constant dense<0.0> : " + scores +
         "\n%quarter = arith.constant dense<0.25> : " + scores +
         "\n%0 = gradus.matmul %q, %k transposed : " + heads + ", " + heads +
         " -> " + scores + "\n%1 = arith.mulf %0, %quarter : " + scores +
         "\n%2 = gradus.broadcast %b dims [0, 1, 2, 3] : " + bias + " -> " +
         scores + "\n%3 = gradus.broadcast %m dims [0, 1, 2, 3] : " + mask +
         " -> " + scores + "\n%4 = arith.addf %2, %3 : " + scores +
         "\n%5 = arith.addf %1, %4 : " + scores +
         "\n%6 = gradus.softmax %5 axis 3 : " + scores +
         "\n%7 = math.isnan %6 : " + scores +
         "\n%8 = arith.select %7, %zero, %6 : " + truth + ", " + scores +
         "\n%y = gradus.matmul %8, %v : " + scores + ", " + heads + " -> " +
         heads + "\ngradus.return %y : " + heads + "\n}\n}";
}

/// Numbers of which sums and products are exact, in any order.
HostTensor quarters(llvm::ArrayRef<int64_t> shape, double height, double step) {
  HostTensor tensor = wave(shape, 4 * height, step);
  for (double &number : tensor.floats)
    number = std::nearbyint(number) / 4;
  return tensor;
}

/// Eight ways to hide keys, or none, query after query.
HostTensor hidingMask(int64_t length) {
  const double least = std::numeric_limits<float>::lowest(), none = -INFINITY;
  const double ofEven[] = {0, 0, -65504, -1e9, least, none, least, -1e9},
               ofOdd[] = {0, -65504, -65504, -1e9, least, none, none, 0};
  HostTensor mask = zeros({2, 1, length, length});
  for (auto [i, number] : llvm::enumerate(mask.floats)) {
    int64_t kind = i / length % length % 8;
    number = (i % length % 2 ? ofOdd : ofEven)[kind];
  }
  return mask;
}

void expectNorms(const HostTensor &found, llvm::ArrayRef<double> norms) {
  std::vector<double> squares(8);
  for (auto [i, number] : llvm::enumerate(found.floats))
    squares[i / found.shape[3] % found.shape[2] % 8] += number * number;
  for (int kind = 0; kind < 8; ++kind)
    EXPECT_NEAR(std::sqrt(squares[kind]), norms[kind],
                1e-7 + 1e-5 * norms[kind])
        << "rows hidden in way " << kind;
}

void expectWhole(const HostTensor &found, llvm::ArrayRef<double> truth) {
  double squares = 0;
  for (double number : found.floats)
    squares += number * number;
  EXPECT_NEAR(std::sqrt(squares), truth[0], 1e-5 * truth[0]);
  EXPECT_NEAR(found.floats[found.size() / 3], truth[1], 1e-8);
  EXPECT_NEAR(found.floats[found.size() * 5 / 6], truth[2], 1e-8);
}

class LearnedBias : public ::testing::TestWithParam<Learned> {};

} // namespace

TEST_P(LearnedBias, BesideNumbersThatHideHasPyTorchsGradients) {
  const Learned &l = GetParam();
  std::vector<int64_t> heads = {2, 2, l.length, l.width},
                       square = {1, 2, l.length, l.length};
  NamedTensors before = {{"q", quarters(heads, 1.5, 0.5)},
                         {"k", quarters(heads, 1.5, 0.7)},
                         {"v", quarters(heads, 1.5, 0.9)},
                         {"b", quarters(square, 1, 1.1)}},
               inputs = {{"m", hidingMask(l.length)},
                         {"label", quarters(heads, 1, 1.3)}};
  Compiled compiled(programOf(l));
  for (auto &[name, state] : before)
    compiled.setState(name, state);
  NamedTensors y = compiled.run("predict", {{"m", inputs.at("m")}});
  expectNorms(y.at("y"), l.y);
  compiled.run("train", inputs);
  NamedTensors slopes = compiled.states();
  for (auto &[name, state] : before)
    for (auto [after, number] : llvm::zip(slopes.at(name).floats, state.floats))
      after = (number - after) / 1024;
  expectNorms(slopes.at("q"), l.dQuery);
  expectNorms(slopes.at("b"), l.dBias);
  expectWhole(slopes.at("k"), l.dKey);
  expectWhole(slopes.at("v"), l.dValue);
}

INSTANTIATE_TEST_SUITE_P(Lengths, LearnedBias, ::testing::ValuesIn(learned));
