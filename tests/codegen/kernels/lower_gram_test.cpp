// Kernels of second moments compute what the op computes, on the processor and
// on the emulated GPU; they keep their bits, and never hold all patches.

#include "curvature_check.h"
#include "tests/sanitized.h"

using namespace gradus;
using namespace gradus::test;

namespace {

struct Spec {
  std::vector<int64_t> shape;
  std::string element = "f32";
  int axis = -1; // or a window:
  std::vector<int64_t> window = {}, strides = {}, begins = {}, ends = {},
                       dilations = {};
  int64_t groups = 1, block = 1;
};

std::string listed(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (int64_t number : numbers)
    text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

std::string typeOf(const std::vector<int64_t> &shape,
                   const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

OneOp programOf(const Spec &s) {
  int64_t columns = s.shape[s.axis < 0 ? 1 : s.axis] / s.groups;
  std::string op = "gram %x ";
  if (s.axis >= 0)
    op += "axis " + std::to_string(s.axis);
  else
    op += "window " + listed(s.window) + " strides " + listed(s.strides) +
          " pads " + listed(s.begins) + " to " + listed(s.ends) +
          " dilations " + listed(s.dilations);
  for (int64_t size : s.window)
    columns *= size;
  int64_t blocks = s.groups * ((columns + s.block - 1) / s.block);
  return {
      typeOf(s.shape, s.element),
      op + " groups " + std::to_string(s.groups) + " block " +
          std::to_string(s.block),
      typeOf({blocks, s.block, s.block}, s.element == "f64" ? "f64" : "f32")};
}

/// Numbers that bf16 has: quarters up to 2.
HostTensor inputOf(const Spec &s) {
  std::mt19937 bits(5);
  HostTensor x = zeros(s.shape);
  for (double &number : x.floats)
    number = int(bits() % 17) / 4.0 - 2;
  return x;
}

//===-- random shapes -----------------------------------------------------===//

/// A dense or patched input; each seventh of f64 and of bf16.
Spec randomSpec(unsigned seed) {
  std::mt19937 bits(seed);
  auto below = [&](int64_t n) { return int64_t(bits() % n); };
  Spec s;
  s.element = seed % 7 == 3 ? "f64" : seed % 7 == 5 ? "bf16" : "f32";
  s.groups = 1 + below(3) / 2 * (1 + below(2));
  int64_t channels = s.groups * (1 + below(6));
  s.shape = {1 + below(4)};
  if (seed % 3 == 0) { // Dense, of any rank.
    for (int64_t more = 1 + below(3); more > 0; --more)
      s.shape.push_back(1 + below(9));
    s.axis = below(s.shape.size());
    s.shape[s.axis] = channels * (1 + below(8));
    s.block = 1 + below(2 * s.shape[s.axis] / s.groups);
    return s;
  }
  s.shape.push_back(channels);
  int64_t columns = channels / s.groups;
  for (int64_t d = 0, rank = 1 + below(3); d < rank; ++d) {
    s.window.push_back(1 + below(3));
    s.strides.push_back(1 + below(2));
    s.begins.push_back(below(3));
    s.ends.push_back(below(3));
    s.dilations.push_back(1 + below(2));
    s.shape.push_back(s.dilations.back() * (s.window.back() - 1) + 1 +
                      below(rank == 1 ? 40 : 8));
    columns *= s.window.back();
  }
  s.block = 1 + below(columns + 4);
  return s;
}

class RandomGram : public ::testing::TestWithParam<unsigned> {};

} // namespace

TEST_P(RandomGram, IsWhatTheEvaluatorComputes) {
  Spec spec = randomSpec(GetParam());
  OneOp op = programOf(spec);
  SCOPED_TRACE(op.text());
  HostTensor x = inputOf(spec), found = compiledOf(op, x),
             expected = evaluatedOf(op, x);
  ASSERT_EQ(found.shape, expected.shape);
  for (int64_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found.floats[i], expected.floats[i], 2e-6) << i;
}

/// Levels have vectors, and so tiles, of other widths.
TEST_P(RandomGram, IsTheSameOnEachLevel) {
  Spec spec = randomSpec(GetParam());
  OneOp op = programOf(spec);
  std::string level = GetParam() % 2 ? "cpu:x86-64-v2" : "cpu:x86-64-v3";
  HostTensor x = inputOf(spec), found = compiledOf(op, x, {}, level),
             expected = evaluatedOf(op, x);
  for (int64_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found.floats[i], expected.floats[i], 2e-6) << level << i;
}

TEST_P(RandomGram, IsTheSameOnTheEmulatedGpu) {
  checkEmulated(programOf(randomSpec(GetParam())), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGram,
                         ::testing::Range(0u, casesWhereSanitized(30)));

//===-- large ones --------------------------------------------------------===//

namespace {

struct Named {
  const char *name;
  Spec spec;
};

void PrintTo(const Named &named, std::ostream *out) { *out << named.name; }

class LargeGram : public ::testing::TestWithParam<Named> {};

/// Several squares a block, several tiles of rows and several parts.
const Named large[] = {
    {"parts",
     {{9, 3, 40, 37},
      "f32",
      -1,
      {3, 3},
      {1, 1},
      {1, 1},
      {1, 1},
      {1, 1},
      1,
      27}},
    {"squares",
     {{2, 16, 9, 11},
      "f32",
      -1,
      {3, 3},
      {1, 1},
      {1, 1},
      {1, 1},
      {1, 1},
      1,
      100}},
    {"columns_of_a_last_block",
     {{3, 9, 30, 20},
      "bf16",
      -1,
      {3, 3},
      {2, 1},
      {1, 0},
      {0, 2},
      {1, 2},
      1,
      64}},
    {"dense", {{5000, 70}, "f32", 1, {}, {}, {}, {}, {}, 1, 40}},
    {"dense_transposed", {{70, 5001}, "f32", 0, {}, {}, {}, {}, {}, 1, 70}},
    {"maps", {{16, 48, 13, 7}, "f32", 1, {}, {}, {}, {}, {}, 2, 24}},
    {"wide", {{40, 300}, "f64", 1, {}, {}, {}, {}, {}, 1, 300}},
};

} // namespace

TEST_P(LargeGram, IsWhatTheEvaluatorComputes) {
  OneOp op = programOf(GetParam().spec);
  HostTensor x = inputOf(GetParam().spec), found = compiledOf(op, x),
             expected = evaluatedOf(op, x);
  ASSERT_EQ(found.shape, expected.shape);
  int64_t b = GetParam().spec.block;
  for (int64_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found.floats[i], expected.floats[i], 1e-5) << i;
    ASSERT_EQ(found.floats[i],
              found.floats[i / (b * b) * b * b + i % b * b + i / b % b])
        << "not symmetric at " << i;
  }
}

TEST_P(LargeGram, HasTheSameBitsWithAnyNumberOfThreads) {
  OneOp op = programOf(GetParam().spec);
  HostTensor x = inputOf(GetParam().spec);
  for (double &number : x.floats)
    number *= 1.1; // Products are rounded.
  if (GetParam().spec.element == "bf16")
    return;
  runtime::SessionOptions one, three;
  one.threads = 1;
  three.threads = 3;
  EXPECT_EQ(compiledOf(op, x, one).floats, compiledOf(op, x, three).floats);
}

INSTANTIATE_TEST_SUITE_P(Cases, LargeGram, ::testing::ValuesIn(large),
                         [](const auto &info) { return info.param.name; });

/// A tile of rows is 128 KiB; the patches of this image are 28 MiB.
TEST(Gram, HasNoPatchesInMemory) {
  Spec spec{{4, 8, 160, 160}, "f32",  -1,     {3, 3}, {1, 1},
            {1, 1},           {1, 1}, {1, 1}, 1,      72};
  Compiled compiled(programOf(spec).text());
  ASSERT_TRUE(compiled.ok());
  uint64_t partial = 32 * 72 * 72 * 4;
  EXPECT_LT(compiled.session().memory().arena,
            2 * partial + 4096 + 4 * 8 * 160 * 160 * 4);
}
