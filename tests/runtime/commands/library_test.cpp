#include "runtime/session/session.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gradus::runtime;
using namespace gradus::test;
namespace fb = gradus::artifact;

namespace {

std::unique_ptr<fb::LibraryTensorT> tensor(uint32_t buffer,
                                           std::vector<int64_t> dims) {
  auto made = std::make_unique<fb::LibraryTensorT>();
  made->buffer = buffer;
  made->dims = std::move(dims);
  return made;
}

/// sum = x [2,4] * x [4,2], into the first half of `sum`.
TestArtifact withProduct(uint32_t scratch) {
  TestArtifact made;
  fb::LibraryCommandT product;
  product.op = opOf(fb::LibraryOp::matmul);
  product.inputs.push_back(tensor(kX, {2, 4}));
  product.inputs.push_back(tensor(kX, {4, 2}));
  product.outputs.push_back(tensor(kSum, {2, 2}));
  product.scratch = scratch;
  made.add("product", std::move(product));
  return made;
}

StatusOr<std::unique_ptr<Session>> start(const TestArtifact &made,
                                         SessionOptions options = {}) {
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  if (!artifact.ok())
    return artifact.status();
  return Session::create(*artifact, options);
}

} // namespace

TEST(Library, RunsInsideAStep) {
  for (uint32_t scratch : {uint32_t{UINT32_MAX}, uint32_t{kScratch}}) {
    auto session = start(withProduct(scratch), {.threads = 2});
    ASSERT_TRUE(session.ok()) << session.status().message();
    auto *x = static_cast<float *>((*session)->inputBuffer(0, 0));
    for (int i = 0; i < 8; ++i)
      x[i] = static_cast<float>(i);
    Status status = (*session)->step(0);
    ASSERT_TRUE(status.ok()) << status.message();
    auto *sum = static_cast<const float *>((*session)->outputBuffer(0, 0));
    EXPECT_EQ(sum[0], 0 * 0 + 1 * 2 + 2 * 4 + 3 * 6);
    EXPECT_EQ(sum[3], 4 * 1 + 5 * 3 + 6 * 5 + 7 * 7);
    EXPECT_EQ((*session)->graphs()[0].commands.back().kind, "library");
  }
}

TEST(Library, NamesTheCommandThatCannotBePrepared) {
  TestArtifact made = withProduct(UINT32_MAX);
  auto *product = made.command(4).kind.AsLibraryCommand();
  product->inputs[0]->dtype = fb::DType::i32; // no such product
  auto session = start(made);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().message(),
            "adder: graph train: command 4 (product): oneDNN: these shapes and "
            "layouts: "
            "invalid arguments");
}

// A convolution whose bits depend on how it is cut.
TEST(Library, GivesTheSameBitsForAnyNumberOfThreadsWhenDeterministic) {
  TestArtifact made;
  made.header.deterministic = true;
  int64_t n = 8, c = 16, size = 14;
  uint32_t source = made.addArena(n * c * size * size);
  uint32_t gradient = made.addArena(n * c * size * size);
  uint32_t weights = made.addArena(c * c * 9);
  fb::LibraryCommandT backward;
  backward.op = opOf(fb::LibraryOp::convolution_backward_weights);
  backward.inputs.push_back(tensor(source, {n, c, size, size}));
  backward.inputs.push_back(tensor(gradient, {n, c, size, size}));
  backward.outputs.push_back(tensor(weights, {c, c, 3, 3}));
  windowsOf(backward).pads_begin = windowsOf(backward).pads_end = {1, 1};
  backward.scratch = UINT32_MAX;
  made.add("backward", std::move(backward));
  made.train().outputs[1] = weights;
  made.header.graphs[0]->outputs[1]->type->shape = {c, c, 3, 3};
  made.train().inputs[0] = source;
  made.header.graphs[0]->inputs[0]->type->shape = {n, c, size, size};
  std::vector<float> first, x(static_cast<size_t>(n * c * size * size));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i));
  for (int threads : {1, 2, 3}) {
    auto session = start(made, {.threads = threads});
    ASSERT_TRUE(session.ok()) << session.status().message();
    std::vector<float> result(static_cast<size_t>(c * c * 9));
    auto *y = static_cast<float *>((*session)->inputBuffer(0, 0)) + x.size();
    std::copy(x.rbegin(), x.rend(), y); // the gradient lies behind the source
    const void *inputs[] = {x.data()};
    void *outputs[] = {nullptr, result.data()};
    Status status = (*session)->step(0, inputs, outputs);
    ASSERT_TRUE(status.ok()) << status.message();
    if (first.empty())
      first = result;
    EXPECT_EQ(result, first) << threads << " threads";
  }
}
