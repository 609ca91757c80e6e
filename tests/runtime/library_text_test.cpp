// Two commands have one text where one algorithm may serve both.

#include "runtime/library_text.h"
#include "tests/runtime/library_ops.h"

#include <gtest/gtest.h>

using namespace gradus::artifact;
using gradus::runtime::libraryText;

namespace {

std::unique_ptr<LibraryTensorT> tensor(DType dtype, std::vector<int64_t> dims) {
  auto made = std::make_unique<LibraryTensorT>();
  made->dtype = dtype;
  made->dims = std::move(dims);
  return made;
}

LibraryCommandT product() {
  LibraryCommandT command;
  command.op = opOf(LibraryOp::matmul);
  command.inputs.push_back(tensor(DType::bf16, {8, 4}));
  command.inputs.push_back(tensor(DType::bf16, {4, 10}));
  command.outputs.push_back(tensor(DType::f32, {8, 10}));
  return command;
}

std::string textOf(const LibraryCommandT &command) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(LibraryCommand::Pack(builder, &command));
  return libraryText(
      *flatbuffers::GetRoot<LibraryCommand>(builder.GetBufferPointer()));
}

} // namespace

TEST(LibraryText, SaysWhatIsComputed) {
  EXPECT_EQ(textOf(product()), "matmul bf16 8x4 x bf16 4x10 -> f32 8x10");
  LibraryCommandT command = product();
  activationOf(command) = Activation::relu;
  command.inputs[0]->strides = {1, 8};
  EXPECT_EQ(textOf(command),
            "matmul bf16 8x4 strides 1x8 x bf16 4x10 -> f32 8x10, relu");
}

TEST(LibraryText, HasWindowsAndLayouts) {
  LibraryCommandT command;
  command.op = opOf(LibraryOp::convolution);
  command.inputs.push_back(tensor(DType::f32, {2, 3, 8, 8}));
  command.inputs.push_back(tensor(DType::f32, {6, 3, 3, 3}));
  command.outputs.push_back(tensor(DType::f32, {2, 6, 4, 4}));
  command.inputs[0]->inner_blocks = {3};
  command.inputs[0]->inner_axes = {1};
  windowsOf(command).strides = {2, 2};
  windowsOf(command).dilations = {1, 1};
  windowsOf(command).pads_begin = {1, 1};
  windowsOf(command).pads_end = {0, 0};
  EXPECT_EQ(textOf(command),
            "convolution f32 2x3x8x8 blocks 3 of axes 1 x f32 6x3x3x3 -> f32 "
            "2x6x4x4, strides 2x2, dilations 1x1, pads 1x1 and 0x0");
}

/// Each of these is another call.
TEST(LibraryText, DiffersWhereCallsDo) {
  std::string plain = textOf(product());
  void (*changes[])(LibraryCommandT &) = {
      [](LibraryCommandT &command) { command.op = opOf(LibraryOp::attention); },
      [](LibraryCommandT &command) { command.outputs[0]->dtype = DType::bf16; },
      [](LibraryCommandT &command) { command.inputs[0]->dims = {9, 4}; },
      [](LibraryCommandT &command) {
        command.inputs[1]->padded_dims = {4, 16};
      },
      [](LibraryCommandT &command) {
        command.inputs.push_back(tensor(DType::f32, {1, 10}));
      }};
  for (auto change : changes) {
    LibraryCommandT command = product();
    change(command);
    EXPECT_NE(textOf(command), plain);
  }
}

TEST(LibraryText, SaysWhetherAttentionIsCausalAndNotItsScale) {
  LibraryCommandT command = product();
  command.op = opOf(LibraryOp::attention);
  std::string plain = textOf(command);
  scoresOf(command).scale = 0.5;
  EXPECT_EQ(textOf(command), plain);
  scoresOf(command).causal = true;
  EXPECT_EQ(textOf(command), plain + ", causal");
}

TEST(LibraryText, LeavesOutWhereTensorsLie) {
  LibraryCommandT command = product();
  command.inputs[0]->buffer = 7;
  command.scratch = 3;
  command.choices.push_back(std::make_unique<LibraryChoiceT>());
  EXPECT_EQ(textOf(command), textOf(product()));
}
