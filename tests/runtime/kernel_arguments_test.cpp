#include "runtime/kernel_arguments.h"

#include <gtest/gtest.h>

using namespace gradus;

/// "r", "w" or "rw" of each of three arguments.
static std::string usesOf(uint32_t outputs) {
  artifact::KernelSignatureT made;
  made.fixed_bytes = {4, 4, 4};
  made.outputs = outputs;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(artifact::KernelSignature::Pack(builder, &made));
  const auto *kernel = flatbuffers::GetRoot<artifact::KernelSignature>(
      builder.GetBufferPointer());
  std::string uses;
  for (size_t i = 0; i < 3; ++i) {
    runtime::ArgumentUse use = runtime::useOf(*kernel, i);
    uses += i ? " " : "";
    uses += use.isRead ? "r" : "";
    uses += use.isWritten ? "w" : "";
  }
  return uses;
}

TEST(KernelArguments, AreInputsAndThenOutputs) {
  EXPECT_EQ(usesOf(1), "r r w");
  EXPECT_EQ(usesOf(3), "w w w");
}

TEST(KernelArguments, MayBeBothWhereNobodySays) {
  EXPECT_EQ(usesOf(0), "rw rw rw");
}
