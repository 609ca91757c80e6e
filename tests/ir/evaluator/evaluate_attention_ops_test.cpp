// Attention and its gradients as PyTorch computes them:
// scaled_dot_product_attention in f64 with scale 0.5, once for each kind of
// mask.

#include "tests/ir/graphs.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const std::string kShapes =
    "(tensor<1x2x3x2xf64>, tensor<1x2x3x2xf64>, tensor<1x2x3x1xf64>";

const HostTensor query = floats({1, 2, 3, 2}, {0.5, -1, 0.25, 0.75, -0.5, 1.5,
                                               1, 0, -0.25, 0.5, 0.75, -0.75}),
                 key = floats({1, 2, 3, 2}, {1, 0.5, -0.75, 0.25, 0.5, -0.5,
                                             0.25, -1, 1.5, 0.5, -1, 0.75}),
                 value = floats({1, 2, 3, 1}, {2, -1, 0.5, 1, 3, -2}),
                 slope = floats({1, 2, 3, 1}, {1, -2, 0.5, 0.25, 1, -1});

const HostTensor allowed = integers({1, 1, 3, 3}, {1, 0, 1, 0, 0, 1, 1, 1, 0});
const HostTensor bias = floats({1, 1, 1, 3}, {0.5, -1, 0.25});

struct Case {
  const char *inputs, *options, *type;
  std::vector<HostTensor> mask;
  std::vector<double> y, dQuery, dKey, dValue;
};

std::vector<HostTensor> forward(const Case &test) {
  std::vector<HostTensor> inputs = {query, key, value};
  llvm::append_range(inputs, test.mask);
  return evaluate("%q: tensor<1x2x3x2xf64>, %k: tensor<1x2x3x2xf64>, "
                  "%v: tensor<1x2x3x1xf64>" +
                      std::string(test.inputs),
                  "%y, %l:2 = gradus.attention %q, %k, %v" +
                      std::string(test.options) +
                      " {scale = 0.5 : f64} : " + kShapes + test.type +
                      ") -> (tensor<1x2x3x1xf64>, tensor<1x2x3xf64>, "
                      "tensor<1x2x3xf64>)",
                  inputs);
}

std::vector<HostTensor> backward(const Case &test, const HostTensor &y,
                                 const HostTensor &logsumexp,
                                 const HostTensor &remainder) {
  HostTensor delta = zeros(logsumexp.shape);
  for (int64_t i = 0; i < delta.size(); ++i)
    delta.floats[i] = y.floats[i] * slope.floats[i];
  std::vector<HostTensor> inputs = {query,     key,   value, logsumexp,
                                    remainder, slope, delta};
  llvm::append_range(inputs, test.mask);
  return evaluate(
      "%q: tensor<1x2x3x2xf64>, %k: tensor<1x2x3x2xf64>, "
      "%v: tensor<1x2x3x1xf64>, %l: tensor<1x2x3xf64>, "
      "%r: tensor<1x2x3xf64>, "
      "%g: tensor<1x2x3x1xf64>, %d: tensor<1x2x3xf64>" +
          std::string(test.inputs),
      "%a, %b, %c = gradus.attention_backward %q, %k, %v, %l, %r, %g, %d" +
          std::string(test.options) + " {scale = 0.5 : f64} : " + kShapes +
          ", tensor<1x2x3xf64>, tensor<1x2x3xf64>, tensor<1x2x3x1xf64>, "
          "tensor<1x2x3xf64>" +
          test.type +
          ") -> (tensor<1x2x3x2xf64>, tensor<1x2x3x2xf64>, "
          "tensor<1x2x3x1xf64>)",
      inputs);
}

void expectTorch(const Case &test) {
  auto found = forward(test);
  expectNear(found[0], floats({1, 2, 3, 1}, test.y), 1e-8);
  auto slopes = backward(test, found[0], found[1], found[2]);
  expectNear(slopes[0], floats({1, 2, 3, 2}, test.dQuery), 1e-8);
  expectNear(slopes[1], floats({1, 2, 3, 2}, test.dKey), 1e-8);
  expectNear(slopes[2], floats({1, 2, 3, 1}, test.dValue), 1e-8);
}

} // namespace

TEST(Evaluate, CausalAttentionIsPyTorchs) {
  expectTorch({"",
               " causal",
               "",
               {},
               {2, 0.732486096, 0.348884435, 1, 2.10894093, 1.37897164},
               {0, 0, -1.28097096, -0.182995851, 0.265187645, 0.0312236889, 0,
                0, 0.308791211, 0.370549453, -0.719453904, -0.0658139051},
               {-0.256202111, -0.329368774, 0.259788405, 0.318609892,
                -0.00358629406, 0.0107588822, 0.125339455, -0.187097698,
                -0.30938502, 0.371143262, 0.184045565, -0.184045565},
               {0.0223590845, -0.6172876, 0.0949285152, 0.248134836,
                0.147112956, -0.145247793}});
}

TEST(Evaluate, AttentionUnderTruthValuesIsPyTorchs) {
  expectTorch({", %m: tensor<1x1x3x3xi1>",
               " mask %m",
               ", tensor<1x1x3x3xi1>",
               {allowed},
               {1.1110001, 0.5, 0.313470497, -0.045935406, -2, 1.9531593},
               {0.090529838, 0.181059676, 0, 0, 0.323050984, 0.0461501405,
                0.106449237, -0.149028931, 0, 0, -0.311814359, -0.374177231},
               {-0.00177044306, 0.0958411671, 0.092300281, -0.276900843,
                -0.090529838, 0.181059676, 0.272248005, -0.187088615,
                -0.187088615, 0.187088615, -0.0851593894, 0},
               {0.62624515, 0.28108825, -1.4073334, -0.360581633, -0.476579651,
                1.08716128}});
}

TEST(Evaluate, AttentionUnderAnAddedMaskIsPyTorchs) {
  expectTorch({", %m: tensor<1x1x1x3xf64>",
               " mask %m",
               ", tensor<1x1x1x3xf64>",
               {bias},
               {1.04656638, 1.25334553, 1.12831023, 0.772669164, -0.36734115,
                0.758108738},
               {0.194725469, 0.153036467, -0.500059644, -0.28256079,
                0.175836868, 0.0608150638, 0.177602216, -0.0429420784,
                0.75278926, -0.488597155, -0.494859811, 0.184469767},
               {-0.0722091249, -0.351802618, 0.0635728387, 0.104090872,
                0.00863628611, 0.247711746, -0.110391101, 0.189475048,
                -0.0975004322, 0.204278271, 0.207891534, -0.39375332},
               {-0.471422992, -0.0407766131, 0.0121996048, -0.178442265,
                0.0206088397, 0.407833425}});
}

// A query that sees some keys, one whose scores keep digits beside what hides
// them all, and one that sees two alike, as nothing is left of their scores.
TEST(Evaluate, AttentionToKeysThatNumbersHideIsPyTorchs) {
  const double least = std::numeric_limits<double>::lowest();
  HostTensor mask = floats({1, 1, 3, 3}, {0, -65504, 0.5, -1e9, -1e9, -1e9,
                                          least, least, -INFINITY});
  expectTorch({", %m: tensor<1x1x3x3xf64>",
               " mask %m",
               ", tensor<1x1x3x3xf64>",
               {mask},
               {0.941322458, 0.669344478, 0.5, -0.40637188, 0.274216943, 2},
               {0.0778696959, 0.155739392, -0.922058196, -0.174430191, 0.328125,
                0.046875, 0.116730926, -0.163423296, 1.15749641, -0.261164467,
                -0.3125, -0.375},
               {-0.155815902, -0.294296185, 0.2221874, 0.1040622, -0.0663714982,
                0.190233985, 0.258513229, -0.142756977, -0.292063885,
                0.39662777, 0.0335506561, -0.253870793},
               {-0.297088253, -0.365510588, 0.16259884, -0.120605935,
                -0.193111644, 0.563717579}});
}

TEST(Evaluate, AQueryThatSeesNoKeyHasTheResultZero) {
  Case test{", %m: tensor<1x1x3x1xi1>",
            " mask %m",
            ", tensor<1x1x3x1xi1>",
            {integers({1, 1, 3, 1}, {1, 0, 1})},
            {},
            {},
            {},
            {}};
  auto found = forward(test);
  EXPECT_EQ(found[0].floats[1], 0);
  EXPECT_EQ(found[1].floats[1], 0);
  EXPECT_NE(found[0].floats[0], 0);
  auto slopes = backward(test, found[0], found[1], found[2]);
  EXPECT_EQ(slopes[0].floats[2], 0);
  for (const HostTensor &each : slopes)
    for (double number : each.floats)
      EXPECT_TRUE(std::isfinite(number));
}
