// Kernels of attention compute what the op computes, in plans and as machine
// code; a causal mask skips what it hides.

#include "tests/codegen/compiled_run.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

namespace {

struct Case {
  const char *name;
  int64_t queries, keys, width, depth;
  const char *mask;   // its type, or none
  const char *causal; // " causal" or nothing
  bool drops = false;
  int64_t samples = 2; // of three heads; or one head
  bool hides = false;  // all keys of some queries, by numbers
  bool narrow = false; // queries, keys and values are widened bf16
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

std::string typeOf(std::vector<int64_t> shape, int64_t samples) {
  std::string text = samples == 1 ? "tensor<1x1x" : "tensor<2x3x";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// Rounds arguments `%q32` and so on to bf16 and widens them again.
std::string rounding(const std::string &name, const std::string &type) {
  std::string narrow = type;
  narrow.replace(narrow.find("f32"), 3, "bf16");
  return name + "16 = arith.truncf " + name + "32 : " + type + " to " + narrow +
         "\n" + name + " = arith.extf " + name + "16 : " + narrow + " to " +
         type + "\n";
}

/// Forward and backward of an attention of 2 x 3 heads, or one; a mask of truth
/// values is where a float input is positive.
std::string programOf(const Case &c) {
  auto type = [&](std::vector<int64_t> shape) {
    return typeOf(shape, c.samples);
  };
  std::string q = type({c.queries, c.width}), k = type({c.keys, c.width}),
              v = type({c.keys, c.depth}), y = type({c.queries, c.depth}),
              l = type({c.queries}), mask = c.mask, ending, given = mask, code,
              attributes =
                  c.hides ? " {scale = 0.25 : f64" : " {scale = 0.3 : f64",
              // What numbers that hide leave of it in f32 is not f64's.
      logsumexp = c.hides ? "%d" : "%l#0";
  if (!mask.empty())
    ending = " mask %m";
  if (mask.find("i1") != std::string::npos) {
    given.replace(given.find("i1"), 2, "f32");
    code = "%zero = arith.constant dense<0.0> : " + given +
           "\n%m = arith.cmpf ogt, %f, %zero : " + given + "\n";
  }
  std::string input = code.empty() ? "%m" : "%f";
  std::string more = mask.empty() ? "" : ", " + mask;
  if (c.drops) {
    code += "%s = arith.constant dense<7> : tensor<i64>\n";
    ending += " step %s";
    attributes += ", dropout = 0.3 : f64, stream = 2 : i64, seed = 11 : i64";
    more += ", tensor<i64>";
  }
  more += ")";
  std::string options =
      ending + c.causal + attributes + "} : (" + q + ", " + k + ", " + v;
  std::string bits = c.narrow ? "32: " : ": ";
  if (c.narrow)
    code += rounding("%q", q) + rounding("%k", k) + rounding("%v", v);
  return graphProgram(
      "%q" + bits + q + ", %k" + bits + k + ", %v" + bits + v + ", %g: " + y +
          ", %d: " + l + (mask.empty() ? "" : ", " + input + ": " + given) +
          ") -> (y: " + y + ", l: " + l + ", dq: " + q + ", dk: " + k +
          ", dv: " + v,
      code + "%y, %l:2 = gradus.attention %q, %k, %v" + options + more +
          " -> (" + y + ", " + l + ", " + l +
          ")\n%dq, %dk, %dv = gradus.attention_backward %q, %k, %v, %l#0, "
          "%l#1, %g, %d" +
          options + ", " + l + ", " + l + ", " + y + ", " + l + more + " -> (" +
          q + ", " + k + ", " + v + ")\ngradus.return %y, " + logsumexp +
          ", %dq, %dk, %dv : " + y + ", " + l + ", " + q + ", " + k + ", " + v);
}

class LowerAttention : public ::testing::TestWithParam<Case> {};

const Case cases[] = {
    {"plain", 5, 7, 4, 3, "", ""},
    {"vectors", 32, 48, 16, 32, "", ""},
    {"ragged", 33, 50, 13, 9, "", ""},
    {"one_query", 1, 20, 8, 8, "", ""},
    {"causal", 21, 21, 8, 8, "", " causal"},
    {"causal_in_blocks", 130, 130, 8, 4, "", " causal"},
    {"causal_in_ragged_blocks", 199, 199, 4, 4, "", " causal"},
    {"causal_with_fewer_queries", 130, 150, 4, 8, "", " causal"},
    {"causal_with_fewer_keys", 150, 70, 4, 8, "", " causal"},
    {"added", 6, 20, 8, 4, "tensor<2x3x6x20xf32>", ""},
    {"added_to_keys", 6, 20, 8, 4, "tensor<2x1x1x20xf32>", ""},
    {"added_by_head", 6, 20, 8, 4, "tensor<1x3x6x1xf32>", " causal"},
    {"truth", 6, 20, 8, 4, "tensor<2x1x6x20xi1>", ""},
    {"truth_that_hides_all_keys", 9, 20, 8, 4, "tensor<1x1x9x1xi1>", ""},
    {"truth_and_causal", 130, 130, 8, 4, "tensor<1x1x1x130xi1>", " causal"},
    {"by_tiles", 1024, 2048, 4, 4, "", ""},
    {"by_ragged_tiles", 1100, 1500, 5, 3, "", ""},
    {"by_tiles_in_one_part", 1101, 1503, 3, 2, "", ""},
    {"causal_by_tiles", 1300, 1300, 4, 4, "", " causal"},
    {"causal_by_tiles_with_fewer_queries", 700, 1600, 4, 4, "", " causal"},
    {"causal_by_tiles_with_fewer_keys", 1700, 700, 4, 4, "", " causal"},
    {"added_by_tiles", 1100, 1500, 4, 2, "tensor<2x1x1x1500xf32>", ""},
    {"added_by_head_by_tiles", 1100, 1000, 4, 2, "tensor<1x3x1100x1xf32>", ""},
    {"truth_by_tiles", 1100, 1500, 2, 2, "tensor<1x1x1100x1500xi1>", ""},
    {"truth_that_hides_all_keys_by_tiles", 1100, 1500, 2, 2,
     "tensor<2x1x1100x1xi1>", ""},
    {"truth_and_causal_by_tiles", 1300, 1300, 4, 2, "tensor<1x3x1x1300xi1>",
     " causal"},
    {"wide", 200, 300, 600, 500, "", ""},
    {"dropping", 33, 50, 13, 9, "", "", true},
    {"dropping_causal_in_blocks", 199, 199, 4, 4, "", " causal", true},
    {"dropping_what_is_shown", 9, 20, 8, 4, "tensor<1x1x9x1xi1>", "", true},
    {"dropping_by_tiles", 1100, 1500, 4, 2, "tensor<2x1x1x1500xf32>", "", true},
};

} // namespace

TEST_P(LowerAttention, ComputesWhatTheOpComputes) {
  CompiledRun run(programOf(GetParam()));
  run.run("lower-to-kernels,lower-to-nests");
}

// Probabilities and gradients have 8 bits where matmuls read them. In a model
// of these roundings the largest error of sums over 4 features and 130 queries
// was 0.010; products of gradients and values grow with the root of the
// features.
TEST_P(LowerAttention, ComputesItOfPairs) {
  Case narrow = GetParam();
  narrow.narrow = true;
  CompiledRun run(programOf(narrow));
  run.run("lower-to-kernels,lower-to-nests",
          0.025 * std::max(1.0, std::sqrt(narrow.depth / 4.0)));
}

INSTANTIATE_TEST_SUITE_P(Cases, LowerAttention, ::testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

TEST(LowerAttentionOf, OneValueInTwoPlaces) {
  std::string q = "tensor<2x3x8x8xf32>";
  CompiledRun run(graphProgram(
      "%q: " + q + ", %k: " + q + ") -> (y: " + q + ", z: " + q,
      "%y, %l:2 = gradus.attention %q, %k, %q mask %q {scale = 0.3 : f64} : (" +
          q + ", " + q + ", " + q + ", " + q + ") -> (" + q +
          ", tensor<2x3x8xf32>, tensor<2x3x8xf32>)\n"
          "%z, %n:2 = gradus.attention %q, %k, %k mask %k {scale = 0.3 : f64} "
          ": "
          "(" +
          q + ", " + q + ", " + q + ", " + q + ") -> (" + q +
          ", tensor<2x3x8xf32>, tensor<2x3x8xf32>)\ngradus.return %y, %z : " +
          q + ", " + q));
  run.run("lower-to-kernels,lower-to-nests");
}

//===-- hidden rows -------------------------------------------------------===//

namespace {

/// What hides keys of a query: numbers some or all, or infinities too.
double hides(int64_t query, int64_t key, double number) {
  bool isOdd = key % 2;
  switch (query % 8) {
  case 1:
    return isOdd ? -65504 : 0;
  case 2:
    return -65504;
  case 3:
    return number;
  case 4:
    return std::numeric_limits<float>::lowest();
  case 5:
    return -INFINITY;
  case 6:
    return isOdd ? -INFINITY : number;
  case 7:
    return isOdd ? 0 : number;
  default:
    return key == 3 ? std::numeric_limits<float>::lowest() : 0;
  }
}

void hideRows(HostTensor &mask, double number) {
  int64_t keys = mask.shape[3], rows = mask.size() / keys;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t key = 0; key < keys; ++key)
      mask.floats[row * keys + key] = hides(row % mask.shape[2], key, number);
}

class HiddenRows : public ::testing::TestWithParam<Case> {};

const Case hidden[] = {
    {"whole", 24, 20, 8, 4, "tensor<1x1x24x20xf32>", "", false, 2, true},
    {"causal", 64, 64, 8, 4, "tensor<2x3x64x64xf32>", " causal", false, 2,
     true},
    {"dropping", 24, 20, 8, 4, "tensor<1x1x24x20xf32>", "", true, 2, true},
    {"by_tiles", 1104, 1500, 4, 2, "tensor<1x1x1104x1500xf32>", "", false, 1,
     true},
    {"causal_by_tiles", 1304, 1304, 4, 2, "tensor<1x1x1304x1304xf32>",
     " causal", false, 1, true}};

} // namespace

/// Scores are quarters of quarters, of which -65504 leaves all in f32, as in
/// the evaluator's f64. -1e9 leaves nothing in f32, and the least number of all
/// nothing in either.
TEST_P(HiddenRows, HaveTheSoftmaxOfWhatIsLeftOfTheirScores) {
  CompiledRun run(programOf(GetParam()));
  for (int i : {0, 1})
    for (double &number : run.inputs[i].floats)
      number = std::nearbyint(4 * number) / 4;
  HostTensor &mask = run.inputs.back();
  hideRows(mask, std::numeric_limits<float>::lowest());
  StateMap states;
  run.expected =
      *evaluateGraph(run.programOf().getGraph("g"), run.inputs, states);
  hideRows(mask, -1e9);
  run.run("lower-to-kernels,lower-to-nests", 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cases, HiddenRows, ::testing::ValuesIn(hidden),
                         [](const auto &info) { return info.param.name; });

//===-- an outside truth --------------------------------------------------===//

namespace {

/// What scaled_dot_product_attention of PyTorch 2 and its gradients gave in
/// f64, scale 0.3: of a tensor its norm and its elements a third and five
/// sixths on.
struct Truth {
  double norm, third, later;
};

struct Recorded {
  const char *name;
  int64_t queries;
  const char *mask, *causal;
  Truth y, dQuery, dKey, dValue;
};

void PrintTo(const Recorded &r, std::ostream *out) { *out << r.name; }

const Recorded recorded[] = {
    {"causal",
     2048,
     "",
     " causal",
     {2.004010504, 0.002623052911, 0.0004543482578},
     {0.7420416016, -0.002768106712, 0.001186969119},
     {0.9228172995, -0.0002554910745, -2.977840302e-05},
     {1.587207264, 0.001080902587, 0.0002865864404}},
    {"added",
     2048,
     "tensor<1x1x1x2048xf32>",
     "",
     {0.1420880539, -0.0005783707875, -0.0002377216325},
     {0.08689921979, -0.002263538875, 0.001717128545},
     {0.05507186522, 4.851953514e-07, -2.111716916e-06},
     {0.05440963113, 7.567900034e-06, 6.088167301e-06}},
    {"truth",
     1500,
     "tensor<1x1x1x2048xi1>",
     "",
     {0.1420543198, 0.0001927116925, 0.005201300522},
     {0.09128838319, 0.001272217901, 0.0008760336234},
     {0.08968959638, 0, 0},
     {0.09031888509, 0, 0}}};

/// height * sin(step * i).
void makeWave(HostTensor &tensor, double height, double step) {
  for (auto [i, number] : llvm::enumerate(tensor.floats))
    number = height * std::sin(step * i);
}

void expectTruth(const HostTensor &found, const Truth &truth) {
  double squares = 0;
  for (double number : found.floats)
    squares += number * number;
  EXPECT_NEAR(std::sqrt(squares), truth.norm, 1e-6 * truth.norm);
  EXPECT_NEAR(found.floats[found.size() / 3], truth.third, 1e-8);
  EXPECT_NEAR(found.floats[found.size() * 5 / 6], truth.later, 1e-8);
}

class OutsideTruth : public ::testing::TestWithParam<Recorded> {};

} // namespace

/// The evaluator gives what PyTorch gave, and compiled code what it gives. The
/// op takes the sum of gradient times result; the first run finds it.
TEST_P(OutsideTruth, OfLongAttentionIsPyTorchs) {
  const Recorded &r = GetParam();
  CompiledRun run(
      programOf({r.name, r.queries, 2048, 2, 3, r.mask, r.causal, false, 1}));
  const double waves[][2] = {{2, 0.37}, {2, 0.73}, {1, 0.91}, {1, 0.53}};
  for (auto [i, wave] : llvm::enumerate(waves))
    makeWave(run.inputs[i], wave[0], wave[1]);
  if (run.inputs.size() > 5)
    makeWave(run.inputs[5], 3, 0.11);
  GraphOp graph = run.programOf().getGraph("g");
  StateMap states;
  HostTensor y = (*evaluateGraph(graph, run.inputs, states))[0];
  for (int64_t i = 0; i < r.queries; ++i) {
    run.inputs[4].floats[i] = 0;
    for (int64_t e = 3 * i; e < 3 * i + 3; ++e)
      run.inputs[4].floats[i] += y.floats[e] * run.inputs[3].floats[e];
  }
  run.expected = *evaluateGraph(graph, run.inputs, states);
  for (auto [at, truth] :
       {std::pair{0, r.y}, {2, r.dQuery}, {3, r.dKey}, {4, r.dValue}})
    expectTruth(run.expected[at], truth);
  run.run("lower-to-kernels,lower-to-nests", 2e-5);
}

INSTANTIATE_TEST_SUITE_P(Cases, OutsideTruth, ::testing::ValuesIn(recorded),
                         [](const auto &info) { return info.param.name; });

//===-- work --------------------------------------------------------------===//

/// Multiply-adds that are left of a causal attention over `length`.
static double shareOfWork(int64_t length) {
  Case causal{"", length, length, 16, 16, "", " causal"};
  CompiledRun run(programOf(causal));
  mlir::PassManager manager(run.context.get());
  registerCodegenPasses();
  EXPECT_TRUE(mlir::succeeded(
      mlir::parsePassPipeline("gradus.program(lower-to-kernels)", manager)));
  EXPECT_TRUE(mlir::succeeded(manager.run(*run.module)));
  int64_t flops = 0;
  run.programOf().walk(
      [&](plan::LaunchOp launch) { flops += launch.getFlops(); });
  return flops / (7.0 * 2 * 3 * length * length * 32);
}

TEST(LowerAttentionOf, CausalMasksSkipWhatTheyHide) {
  EXPECT_EQ(shareOfWork(64), 0.75);
  EXPECT_EQ(shareOfWork(128), 0.625);
  EXPECT_EQ(shareOfWork(256), 0.5625);
  EXPECT_LT(shareOfWork(2048), 0.6);
}
