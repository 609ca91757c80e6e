#include "refusals.h"

#include <gtest/gtest.h>

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
  command.op = op;
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
  command.strides = {0, 1};
  EXPECT_EQ(wordsOf(command), kCommand + "has 0 among its strides");
  command.strides = {1};
  EXPECT_EQ(wordsOf(command), kCommand + "has 1 strides for 2 spatial axes");
  command.strides = {};
  command.pads_begin = {-1, 0};
  EXPECT_EQ(wordsOf(command), kCommand + "has -1 among its pads");
}

TEST(VerifyLibrary, RefusesUnknownOperations) {
  EXPECT_EQ(
      wordsOfProduct(
          [](auto &command) { command.op = static_cast<fb::LibraryOp>(50); }),
      kCommand +
          "asks for operation 50 and activation 0, of which one is unknown");
}

TEST(VerifyLibrary, RefusesWhatNobodyServes) {
  EXPECT_EQ(wordsOf(call(fb::LibraryOp::attention,
                         {{1, 1, 2, 2}, {1, 1, 2, 2}, {1, 1, 2, 2}},
                         {{1, 1, 2, 2}, {1, 1, 2, 1}})),
            kCommand +
                "asks for attention, which no library of processors has");
}
