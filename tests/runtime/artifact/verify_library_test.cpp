#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gradus::test;
namespace fb = gradus::artifact;
using Dims = std::vector<int64_t>;

static const std::string kCommand =
    "adder: plan 0 (cpu:x86-64-v2): graph train: command 4 (call): ";

static std::unique_ptr<fb::LibraryTensorT> tensor(uint32_t buffer, Dims dims) {
  auto made = std::make_unique<fb::LibraryTensorT>();
  made->buffer = buffer;
  made->dims = std::move(dims);
  return made;
}

static fb::LibraryCommandT call(fb::LibraryOp op, std::vector<Dims> inputs,
                                std::vector<Dims> outputs) {
  fb::LibraryCommandT command;
  command.op = opOf(op);
  command.scratch = UINT32_MAX;
  for (Dims &dims : inputs)
    command.inputs.push_back(tensor(kX, std::move(dims)));
  for (Dims &dims : outputs)
    command.outputs.push_back(tensor(kSum, std::move(dims)));
  return command;
}

/// What the reader says of a command; buffers hold 8 floats.
static std::string wordsOf(fb::LibraryCommandT command) {
  TestArtifact made;
  made.add("call", std::move(command));
  return wordsFor(made);
}

template <typename Change> static std::string wordsOfProduct(Change change) {
  auto command = call(fb::LibraryOp::matmul, {{2, 4}, {4, 2}}, {{2, 2}});
  change(command);
  return wordsOf(std::move(command));
}

TEST(VerifyLibrary, TakesWhatFits) {
  EXPECT_EQ(wordsOfProduct([](auto &) {}), "ok");
  EXPECT_EQ(
      wordsOf(call(fb::LibraryOp::matmul, {{2, 4}, {4, 2}, {1, 2}}, {{2, 2}})),
      "ok");
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::convolution,
                         {{1, 2, 2, 2}, {1, 2, 2, 2}}, {{1, 1, 1, 1}})),
            "ok");
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::convolution, {{1, 2, 4}, {2, 1, 1, 2}},
                         {{1, 2, 3}})),
            "ok")
      << "two groups";
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::reorder, {{2, 4}}, {{2, 4}})), "ok");
}

TEST(VerifyLibrary, RefusesTensorsLargerThanTheirBuffers) {
  EXPECT_EQ(
      wordsOfProduct([](auto &command) { command.inputs[0]->dims = {3, 4}; }),
      kCommand + "input 0: its buffer has 32 bytes, too few for 3x4xf32");
  EXPECT_EQ(wordsOfProduct(
                [](auto &command) { command.inputs[0]->strides = {1, 3}; }),
            kCommand + "input 0: its buffer has 32 bytes, too few for 2x4xf32");
  EXPECT_NE(wordsOfProduct([](auto &command) {
              command.inputs[0]->strides = {INT64_MAX, 1};
            }),
            "ok");
  EXPECT_NE(wordsOfProduct([](auto &command) {
              command.inputs[0]->dims = {INT64_MAX, 4};
            }),
            "ok");
}

TEST(VerifyLibrary, RefusesLayoutsThatMakeNoSense) {
  EXPECT_EQ(wordsOfProduct(
                [](auto &command) { command.inputs[0]->strides = {-4, 1}; }),
            kCommand + "input 0: has a stride of -4");
  EXPECT_EQ(
      wordsOfProduct([](auto &command) { command.inputs[0]->strides = {4}; }),
      kCommand + "input 0: has 2 axes, 1 strides and 0 padded sizes");
  EXPECT_EQ(wordsOfProduct([](auto &command) {
              command.inputs[0]->inner_blocks = {4};
              command.inputs[0]->inner_axes = {2};
            }),
            kCommand + "input 0: has inner blocks that do not fit its axes");
  EXPECT_EQ(wordsOfProduct([](auto &command) {
              command.inputs[0]->inner_blocks = {8};
              command.inputs[0]->inner_axes = {1};
            }),
            kCommand +
                "input 0: axis 1 of size 4 is padded to 4 in blocks of 8");
  EXPECT_EQ(
      wordsOfProduct([](auto &command) { command.inputs[0]->dims = {0, 4}; }),
      kCommand + "input 0: has a size of 0");
}

TEST(VerifyLibrary, RefusesTypesAndBuffersThatCannotBe) {
  EXPECT_EQ(wordsOfProduct([](auto &command) {
              command.inputs[1]->dtype = fb::DType::i64;
            }),
            kCommand +
                "input 1: has dtype i64, which the library does not take");
  EXPECT_EQ(wordsOfProduct(
                [](auto &command) { command.outputs[0]->buffer = kConstant; }),
            kCommand +
                "output 0: would write to buffer 6, which is a constant");
  EXPECT_EQ(wordsOfProduct([](auto &command) { command.scratch = 50; }),
            kCommand + "scratch: names buffer 50 of 8");
}

TEST(VerifyLibrary, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::matmul, {{2, 4}, {2, 4}}, {{2, 2}})),
            kCommand + "multiplies 2x4xf32 by 2x4xf32 into 2x2xf32");
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::convolution,
                         {{1, 1, 2, 2}, {1, 1, 2, 2}}, {{1, 1, 2, 2}})),
            kCommand +
                "convolves 1x1x2x2xf32 with 1x1x2x2xf32 into 1x1x2x2xf32");
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::reorder, {{2, 4}}, {{4, 2}})),
            kCommand + "reorders 2x4xf32 into 4x2xf32");
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::matmul, {{2, 4}}, {{2, 2}})),
            kCommand + "has 1 inputs and 1 outputs");
}

TEST(VerifyLibrary, RefusesWindowsThatMakeNoSense) {
  auto command = call(fb::LibraryOp::convolution, {{1, 1, 2, 2}, {1, 1, 2, 2}},
                      {{1, 1, 1, 1}});
  windowsOf(command).strides = {0, 1};
  EXPECT_EQ(wordsOf(command), kCommand + "has 0 among its strides");
  windowsOf(command).strides = {1};
  EXPECT_EQ(wordsOf(command), kCommand + "has 1 strides for 2 spatial axes");
  windowsOf(command).strides = {};
  windowsOf(command).pads_begin = {-1, 0};
  EXPECT_EQ(wordsOf(command), kCommand + "has -1 among its pads");
}

TEST(VerifyLibrary, RefusesUnknownOperations) {
  EXPECT_EQ(wordsOfProduct([](auto &command) { command.op = {}; }),
            kCommand +
                "asks for operation 0, which this runtime does not know");
  for (fb::LibraryOp op : {fb::LibraryOp::matmul, fb::LibraryOp::convolution}) {
    auto command = call(op, {{1, 2, 2}, {1, 2, 2}}, {{1, 2, 2}});
    activationOf(command) = static_cast<fb::Activation>(9);
    EXPECT_EQ(wordsOf(std::move(command)),
              kCommand +
                  "asks for activation 9, which this runtime does not know");
  }
}

/// What a matmul has is no window of a convolution.
TEST(VerifyLibrary, RefusesTheTableOfAnotherOperation) {
  TestArtifact made;
  made.add("call", call(fb::LibraryOp::matmul, {{2, 4}, {4, 2}}, {{2, 2}}));
  std::vector<uint8_t> file = made.bytes();
  const auto *command = fb::GetSizePrefixedHeader(file.data())
                            ->plans()
                            ->Get(0)
                            ->graphs()
                            ->Get(0)
                            ->commands()
                            ->Get(4)
                            ->kind_as_LibraryCommand();
  const uint8_t *op =
      reinterpret_cast<const flatbuffers::Table *>(command)->GetAddressOf(
          fb::LibraryCommand::VT_OP_TYPE);
  ASSERT_EQ(*op, uint8_t(fb::LibraryOp::matmul));
  file[size_t(op - file.data())] = uint8_t(fb::LibraryOp::convolution);
  reseal(file);
  auto artifact = gradus::runtime::Artifact::fromBytes(file, "adder");
  EXPECT_EQ(artifact.status().message(),
            "adder: is damaged: its header is not a well-formed FlatBuffer");
}

//===-- on cards ----------------------------------------------------------===//

static const std::string kOnCard =
    "adder: plan 1 (cuda): graph train: command 4 (call): ";

/// What the reader says of a command of a plan with images.
static std::string wordsOnCard(fb::LibraryCommandT command) {
  TestArtifact made;
  made.addGpuPlan();
  auto table = std::make_unique<fb::CommandT>();
  table->name = "call";
  table->kind.Set(std::move(command));
  made.header.plans[1]->graphs[0]->commands.push_back(std::move(table));
  return wordsFor(made);
}

/// Of two queries of size 2 to one key, with a value of size 3.
static fb::LibraryCommandT attention() {
  auto command =
      call(fb::LibraryOp::attention, {{1, 1, 2, 2}, {1, 1, 1, 2}, {1, 1, 1, 3}},
           {{1, 1, 2, 3}, {1, 1, 2, 1}});
  scoresOf(command).scale = 0.5;
  return command;
}

static fb::LibraryCommandT attentionBackward() {
  return call(fb::LibraryOp::attention_backward,
              {{1, 1, 2, 2},
               {1, 1, 1, 2},
               {1, 1, 1, 3},
               {1, 1, 2, 3},
               {1, 1, 2, 3},
               {1, 1, 2, 1}},
              {{1, 1, 2, 2}, {1, 1, 1, 2}, {1, 1, 1, 3}});
}

template <typename Change>
static std::string wordsAfterChange(fb::LibraryCommandT command,
                                    Change change) {
  change(command);
  return wordsOnCard(std::move(command));
}

TEST(VerifyLibrary, TakesAttentionOnCards) {
  EXPECT_EQ(wordsOnCard(attention()), "ok");
  EXPECT_EQ(wordsOnCard(attentionBackward()), "ok");
  EXPECT_EQ(wordsAfterChange(attention(),
                             [](auto &command) {
                               scoresOf(command).causal = true;
                               scoresOf(command).scale = -1e30;
                             }),
            "ok");
}

template <typename Make>
static std::string wordsWithMask(Make make, Dims mask) {
  fb::LibraryCommandT command = make();
  auto other = call(fb::LibraryOp::attention, {mask}, {});
  command.inputs.push_back(std::move(other.inputs[0]));
  return wordsOnCard(std::move(command));
}

// Of one head, two queries and one key.
TEST(VerifyLibrary, TakesMasksThatRepeat) {
  for (const Dims &mask : {Dims{1, 1, 2, 1}, {1, 1, 1, 1}}) {
    EXPECT_EQ(wordsWithMask(attention, mask), "ok");
    EXPECT_EQ(wordsWithMask(attentionBackward, mask), "ok");
  }
  EXPECT_EQ(wordsWithMask(attention, {1, 1, 1, 2}),
            kOnCard + "has a mask of 1x1x1x2xf32 for scores of 1x1x2x1xf32");
  for (const Dims &mask : {Dims{2, 1, 2, 1}, {1, 2, 2, 1}, {2, 1}})
    EXPECT_TRUE(wordsWithMask(attentionBackward, mask)
                    .starts_with(kOnCard + "has a mask of "));
}

TEST(VerifyLibrary, RefusesAttentionOfOtherShapes) {
  const std::string before = kOnCard + "attends with ";
  EXPECT_EQ(wordsAfterChange(
                attention(),
                [](auto &command) { command.inputs[1]->dims = {1, 1, 1, 3}; }),
            before + "1x1x2x2xf32 to 1x1x1x3xf32 and 1x1x1x3xf32 into "
                     "1x1x2x3xf32 and 1x1x2x1xf32");
  for (auto [tensor, dims] : {std::pair(0, Dims{1, 2, 1, 2}),
                              {0, {1, 2, 2}},
                              {2, {1, 1, 2, 3}},
                              {2, {1, 1, 1, 2}}})
    EXPECT_TRUE(wordsAfterChange(attention(), [&](auto &command) {
                  command.inputs[size_t(tensor)]->dims = dims;
                }).starts_with(before));
  for (auto [tensor, dims] :
       {std::pair(0, Dims{1, 1, 2, 2}), {1, {1, 1, 2}}, {1, {1, 1, 1, 2}}})
    EXPECT_TRUE(wordsAfterChange(attention(), [&](auto &command) {
                  command.outputs[size_t(tensor)]->dims = dims;
                }).starts_with(before));
}

TEST(VerifyLibrary, RefusesGradientsOfAttentionOfOtherShapes) {
  EXPECT_TRUE(wordsAfterChange(attentionBackward(), [](auto &command) {
                command.inputs[3]->dims = {1, 1, 2, 2};
              }).starts_with(kOnCard + "attends with "));
  EXPECT_EQ(wordsAfterChange(
                attentionBackward(),
                [](auto &command) { command.inputs[4]->dims = {1, 1, 2, 2}; }),
            kOnCard + "has a gradient of 1x1x2x2xf32 for 1x1x2x3xf32");
  EXPECT_EQ(wordsAfterChange(
                attentionBackward(),
                [](auto &command) { command.outputs[1]->dims = {1, 1, 2, 2}; }),
            kOnCard + "writes a gradient of 1x1x2x2xf32 for 1x1x1x2xf32");
  EXPECT_EQ(wordsAfterChange(attentionBackward(),
                             [](auto &command) { command.inputs.pop_back(); }),
            kOnCard + "has 5 inputs and 3 outputs");
}

TEST(VerifyLibrary, RefusesAttentionWithoutSense) {
  EXPECT_EQ(wordsAfterChange(attention(),
                             [](auto &command) {
                               command.outputs[1]->dtype = fb::DType::bf16;
                             }),
            kOnCard + "has a logsumexp of bf16, expected f32");
  EXPECT_EQ(wordsAfterChange(attentionBackward(),
                             [](auto &command) {
                               command.inputs[5]->dtype = fb::DType::f16;
                             }),
            kOnCard + "has a logsumexp of f16, expected f32");
  for (double scale : {1e31, -HUGE_VAL, double(NAN)})
    EXPECT_TRUE(wordsAfterChange(attention(), [&](auto &command) {
                  scoresOf(command).scale = scale;
                }).starts_with(kOnCard + "scales its scores by "));
}

TEST(VerifyLibrary, RefusesReordersOnCards) {
  EXPECT_EQ(wordsOnCard(call(fb::LibraryOp::reorder, {{2, 4}}, {{2, 4}})),
            kOnCard + "asks for reorder, which no library of cards has");
  EXPECT_EQ(
      wordsOnCard(call(fb::LibraryOp::matmul, {{2, 4}, {4, 2}}, {{2, 2}})),
      "ok");
}

static fb::LibraryCommandT product(std::vector<Dims> inputs,
                                   std::vector<Dims> outputs,
                                   fb::Activation activation) {
  auto command =
      call(fb::LibraryOp::matmul, std::move(inputs), std::move(outputs));
  activationOf(command) = activation;
  return command;
}

TEST(VerifyLibrary, TakesEpiloguesOfGradientsOnCards) {
  using enum fb::Activation;
  Dims a{2, 4}, b{4, 2}, c{2, 2}, row{1, 2}, column{2, 1};
  EXPECT_EQ(wordsOnCard(product({a, b}, {c, row}, none)), "ok");
  EXPECT_EQ(wordsOnCard(product({a, b}, {c, column}, none)), "ok");
  EXPECT_EQ(wordsOnCard(product({a, b}, {c, c}, gelu_tanh)), "ok");
  EXPECT_EQ(wordsOnCard(product({a, b, row}, {c, c}, gelu_tanh)), "ok");
  EXPECT_EQ(wordsOnCard(product({a, b, c}, {c}, gelu_tanh_gradient)), "ok");
}

TEST(VerifyLibrary, RefusesEpiloguesThatMakeNoSense) {
  using enum fb::Activation;
  Dims a{2, 4}, b{4, 2}, c{2, 2}, row{1, 2};
  EXPECT_EQ(wordsOnCard(product({a, b}, {c, c}, none)),
            kOnCard + "sums an operand into 2x2xf32, expected 2x1xf32 or "
                      "1x2xf32");
  EXPECT_EQ(wordsOnCard(product({a, b}, {c, row}, gelu_tanh)),
            kOnCard + "keeps what its activation is of in 1x2xf32, expected "
                      "2x2xf32");
  const std::string second =
      kOnCard + "has a second output, which a product has that sums an "
                "operand and has no bias, or that has gelu_tanh behind it";
  EXPECT_EQ(wordsOnCard(product({a, b}, {c, c}, relu)), second);
  EXPECT_EQ(wordsOnCard(product({a, b, row}, {c, row}, none)), second);
  const std::string slopes =
      kOnCard + "multiplies by the slopes of gelu_tanh, expected a third input "
                "of 2x2xf32 and one output";
  EXPECT_EQ(wordsOnCard(product({a, b}, {c}, gelu_tanh_gradient)), slopes);
  EXPECT_EQ(wordsOnCard(product({a, b, row}, {c}, gelu_tanh_gradient)), slopes);
  EXPECT_EQ(wordsOnCard(product({a, b, c}, {c, c}, gelu_tanh_gradient)),
            slopes);
}

TEST(VerifyLibrary, RefusesEpiloguesOfGradientsElsewhere) {
  using enum fb::Activation;
  Dims a{2, 4}, b{4, 2}, c{2, 2};
  const std::string words = kCommand + "asks for slopes or a second result of "
                                       "matmul, which no library of processors "
                                       "has";
  EXPECT_EQ(wordsOf(product({a, b}, {c, {1, 2}}, none)), words);
  EXPECT_EQ(wordsOf(product({a, b, c}, {c}, gelu_tanh_gradient)), words);
  auto command = call(fb::LibraryOp::convolution, {{1, 2, 2, 2}, {1, 2, 2, 2}},
                      {{1, 1, 1, 1}});
  activationOf(command) = gelu_tanh_gradient;
  EXPECT_EQ(wordsOnCard(std::move(command)),
            kOnCard + "asks for gelu_tanh_gradient of convolution, which only "
                      "matmul has");
}

TEST(VerifyLibrary, RefusesWhatNobodyServes) {
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::attention,
                         {{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 2, 2}},
                         {{1, 1, 2, 2}, {1, 1, 2, 1}})),
            kCommand +
                "asks for attention, which no library of processors has");
}

/// All elements in one place would be a loop without an end.
TEST(VerifyLibrary, RefusesMoreElementsThanTheBufferHas) {
  auto command =
      call(fb::LibraryOp::matmul, {{65536, 4}, {4, 2}}, {{65536, 2}});
  for (auto *tensors : {&command.inputs, &command.outputs})
    (*tensors)[0]->strides = {1, 1};
  EXPECT_EQ(wordsOf(std::move(command)),
            kCommand + "input 0: its buffer has 32 bytes, too few for "
                       "65536x4xf32");
  auto wraps = call(fb::LibraryOp::matmul,
                    {{1 << 30, 1 << 30, 1 << 30, 4}, {4, 2}}, {{2, 2}});
  wraps.inputs[0]->strides = {1, 1, 1, 1};
  EXPECT_NE(wordsOf(std::move(wraps)).find("too few for"), std::string::npos);
}
