// Descriptors: what is set, what fails, what is read.

#include "runtime/cuda/libraries/cudnn_descriptor.h"

#include "tests/runtime/cuda/libraries/cudnn_stub.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::cudnn;
using namespace gradus::runtime::cuda::test;
using testing::HasSubstr;

namespace {

struct CudnnDescriptor : CudnnStub {
  void SetUp() override {
    Environment environment(kCudnnVariable, libraryOf("stub_cudnn").c_str());
    auto loaded = load();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    library = *loaded;
  }
  Library library;
};

} // namespace

TEST_F(CudnnDescriptor, HoldsNumbersListsAndOthers) {
  Descriptor windows(library, Kind::convolution);
  windows.set(Attribute::convolutionCompute, DataType::bf16)
      .set(Attribute::convolutionStrides, std::vector<int64_t>{2, 3});
  ASSERT_TRUE(windows.finalize("describing").ok());
  Descriptor operation(library, Kind::convolutionForward);
  operation.set(Attribute::forwardConvolution, windows)
      .set(Attribute::forwardAlpha, 0.5f);
  ASSERT_TRUE(operation.finalize("describing").ok());
  EXPECT_STREQ(written(), "1: 100=9 103=2,3\n10: 700=0.5 702=kind 1\n");
}

TEST_F(CudnnDescriptor, GivesBackWhatItHolds) {
  Descriptor knob(library, Kind::knobChoice);
  knob.set(Attribute::knobType, KnobType(4))
      .set(Attribute::knobValue, int64_t{-3});
  ASSERT_TRUE(knob.finalize("setting").ok());
  EXPECT_EQ(*knob.get<KnobType>(Attribute::knobType), KnobType(4));
  EXPECT_EQ(*knob.get<int64_t>(Attribute::knobValue), -3);
  EXPECT_EQ(knob.get<int64_t>(Attribute::tensorId).status().message(),
            "reading attribute 906: the stub's words "
            "(CUDNN_STATUS_NOT_SUPPORTED 2000)");
}

/// Whatever fails first is what is said.
TEST_F(CudnnDescriptor, SaysWhatFailed) {
  Descriptor engine(library, Kind::engine);
  engine.set(Attribute::engineIndex, int64_t{99});
  EXPECT_EQ(engine.finalize("taking an engine").message(),
            "taking an engine: the stub's words (CUDNN_STATUS_NOT_SUPPORTED "
            "3000)");
  library.make = [](Kind, RawDescriptor *) { return Code::hostOutOfMemory; };
  library.set = [](RawDescriptor, Attribute, ValueType, int64_t, const void *) {
    return Code::badParameter;
  };
  Descriptor failed(library, Kind::tensor);
  failed.set(Attribute::tensorId, int64_t{1});
  EXPECT_THAT(failed.finalize("describing a tensor").message(),
              HasSubstr("describing a tensor: making a descriptor of kind 17: "
                        "the library found no memory for itself"));
}
