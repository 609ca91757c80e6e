#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

using namespace gradus::test;
namespace fb = gradus::artifact;
using Dims = std::vector<int64_t>;

static const std::string kCommand =
    "adder: plan 1 (cuda): graph train: command 4 (matmul+bias): ";
static const std::string kKernel = kCommand + "kernel 2 (epilogue): ";

namespace {

/// A product [2, 2] with a bias, and kernel 2, which reads the product and the
/// bias.
struct Made {
  Made() {
    auto kernel = std::make_unique<fb::KernelSignatureT>();
    kernel->name = "epilogue";
    kernel->fixed_bytes = {16, 8, 16};
    kernel->bytes_per_item = {0, 0, 0};
    kernel->max_items = 2;
    kernel->outputs = 1;
    artifact.kernels.kernels.push_back(std::move(kernel));
    artifact.addGpuPlan();
    artifact.header.plans[0]->graphs[0]->commands.resize(4);
    auto command = std::make_unique<fb::CommandT>();
    command->name = "matmul+bias";
    command->kind.Set(product());
    commands().push_back(std::move(command));
  }

  std::vector<std::unique_ptr<fb::CommandT>> &commands() {
    return artifact.header.plans[1]->graphs[0]->commands;
  }
  fb::LibraryCommandT &command() {
    return *commands().back()->kind.AsLibraryCommand();
  }
  fb::KernelSignatureT &kernel() { return *artifact.kernels.kernels[2]; }

  static fb::LibraryCommandT product() {
    fb::LibraryCommandT command;
    command.op = opOf(fb::LibraryOp::matmul);
    command.scratch = UINT32_MAX;
    command.op.Asmatmul()->epilogue = 2;
    auto add = [](auto &tensors, uint32_t buffer, Dims dims) {
      auto tensor = std::make_unique<fb::LibraryTensorT>();
      tensor->buffer = buffer;
      tensor->dims = std::move(dims);
      tensors.push_back(std::move(tensor));
    };
    add(command.inputs, kX, {2, 4});
    add(command.inputs, kX, {4, 2});
    add(command.inputs, kX, {1, 2});
    add(command.outputs, kSum, {2, 2});
    return command;
  }

  TestArtifact artifact;
};

template <typename Change> std::string wordsOf(Change change) {
  Made made;
  change(made);
  return wordsFor(made.artifact);
}

} // namespace

TEST(VerifyEpilogue, TakesKernelsThatReadTheProduct) {
  EXPECT_EQ(wordsOf([](Made &) {}), "ok");
  EXPECT_EQ(wordsOf([](Made &made) {
              made.command().op.Asmatmul()->epilogue = UINT32_MAX;
            }),
            "ok");
  // In 16 bits a buffer has room for more elements, and the product is f32.
  EXPECT_EQ(wordsOf([](Made &made) {
              made.command().outputs[0]->dtype = fb::DType::bf16;
              made.kernel().fixed_bytes[0] = 64;
            }),
            "ok");
}

TEST(VerifyEpilogue, RefusesKernelsThatDoNotExist) {
  for (uint32_t number : {3u, UINT32_MAX - 1})
    EXPECT_EQ(wordsOf([&](Made &made) {
                made.command().op.Asmatmul()->epilogue = number;
              }),
              kCommand + "names kernel " + std::to_string(number) + " of 3");
}

TEST(VerifyEpilogue, RefusesOtherArguments) {
  EXPECT_EQ(wordsOf([](Made &made) { made.command().inputs.pop_back(); }),
            kCommand + "has a kernel for what stands behind it, which is "
                       "nothing");
  EXPECT_EQ(wordsOf([](Made &made) {
              made.command().inputs.pop_back();
              activationOf(made.command()) = fb::Activation::relu;
            }),
            kKernel + "takes 3 arguments and 1 of them are outputs, expected "
                      "2 and 1");
  EXPECT_EQ(wordsOf([](Made &made) { made.kernel().outputs = 2; }),
            kKernel + "takes 3 arguments and 2 of them are outputs, expected "
                      "3 and 1");
  EXPECT_EQ(wordsOf([](Made &made) { made.kernel().bytes_per_item[1] = 4; }),
            kKernel + "takes items of 4 bytes, expected buffers");
  // The first kernel of the artifact is flat.
  EXPECT_NE(wordsOf([](Made &made) {
              made.command().op.Asmatmul()->epilogue = 0;
            }).find("takes segments of items, expected buffers"),
            std::string::npos);
}

TEST(VerifyEpilogue, RefusesArgumentsThatReachBeyondTheirBuffers) {
  for (uint64_t bytes : {uint64_t(33), UINT64_MAX}) {
    std::string has = std::to_string(bytes);
    EXPECT_EQ(
        wordsOf([&](Made &made) { made.kernel().fixed_bytes[0] = bytes; }),
        kKernel + "reads a product of " + has +
            " bytes, too many for a result of 8 elements");
    for (size_t argument : {1, 2})
      EXPECT_EQ(wordsOf([&](Made &made) {
                  made.kernel().fixed_bytes[argument] = bytes;
                }),
                kKernel + "argument " + std::to_string(argument) +
                    ": its buffer has 32 bytes, and the kernel takes " + has);
  }
}

TEST(VerifyEpilogue, RefusesThemOnProcessors) {
  TestArtifact onProcessor;
  onProcessor.add("matmul+bias", Made::product());
  EXPECT_EQ(wordsFor(onProcessor),
            "adder: plan 0 (cpu:x86-64-v2): graph train: command 4 "
            "(matmul+bias): has a kernel for what stands behind it, as "
            "products on cards alone do");
}
