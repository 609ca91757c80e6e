// What cuDNN is told of a convolution: a stub writes it down. Numbers of kinds
// and attributes are those of cudnn_abi.h.

#include "runtime/cuda/libraries/cudnn_convolution.h"

#include "tests/runtime/cuda/convolutions.h"
#include "tests/runtime/cuda/libraries/cudnn_stub.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::Activation;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using testing::HasSubstr;

namespace {

struct CudnnConvolution : CudnnStub {
  std::string describe(const LibraryCommandT &command) {
    prepare(command);
    return written();
  }
};

} // namespace

// [2,4,6,6] by [8,4,3,3] with strides of 2: x, w, y, the windows, the operation
// and the graph.
TEST_F(CudnnConvolution, IsAnOperationOnThreeTensors) {
  std::string words = describe(convolution(
      LibraryOp::convolution, {4, 6, 8, 3, 2, 1}, 2, DType::bf16, true));
  EXPECT_THAT(
      words,
      HasSubstr(
          "17: 900=16 901=9 902=2,4,6,6 903=144,1,24,4 906=1 907=0 908=0\n"
          "17: 900=16 901=9 902=8,4,3,3 903=36,1,12,4 906=2 907=0 908=0\n"
          "17: 900=16 901=9 902=2,8,3,3 903=72,1,24,8 906=3 907=0 908=0\n"
          "1: 100=0 101=1 102=1,1 103=2,2 104=1,1 105=1,1 106=2\n"
          "10: 700=1 701=0 702=kind 1 703=tensor 2 704=tensor 1 705=tensor 3\n"
          "15: 800="));
  EXPECT_THAT(words, HasSubstr(" 801=kind 10\n"));
}

// Data: x is what is written. Weights: w is.
TEST_F(CudnnConvolution, HasGradientsOfTheSameTensors) {
  Shape shape{4, 6, 8, 3, 1, 1};
  EXPECT_THAT(describe(convolution(LibraryOp::convolution_backward_data, shape,
                                   2, DType::f32, false)),
              HasSubstr("17: 900=16 901=0 902=2,4,6,6 903=144,36,6,1 906=1"));
  EXPECT_THAT(describe(convolution(LibraryOp::convolution_backward_data, shape,
                                   2, DType::f32, false)),
              HasSubstr("12: 706=1 707=0 708=kind 1 709=tensor 2 710=tensor 1 "
                        "711=tensor 3\n"));
  EXPECT_THAT(describe(convolution(LibraryOp::convolution_backward_weights,
                                   shape, 2, DType::f32, false)),
              HasSubstr("11: 712=1 713=0 714=kind 1 715=tensor 2 716=tensor 1 "
                        "717=tensor 3\n"));
}

TEST_F(CudnnConvolution, PadsEachSideByItself) {
  LibraryCommandT command = convolution(
      LibraryOp::convolution, {4, 6, 8, 3, 1, 1}, 2, DType::f32, false);
  windowsOf(command).dilations = {2, 1};
  windowsOf(command).pads_begin = {3, 0};
  windowsOf(command).pads_end = {1, 2};
  EXPECT_THAT(
      describe(command),
      HasSubstr("1: 100=0 101=1 102=2,1 103=1,1 104=1,2 105=3,0 106=2"));
}

// [g, o/g, i/g, k, k] is [o, i/g, k, k].
TEST_F(CudnnConvolution, JoinsTheFiltersOfGroups) {
  LibraryCommandT command = commandOf(LibraryOp::convolution,
                                      {tensorOf(DType::f32, {2, 6, 5, 5}),
                                       tensorOf(DType::f32, {3, 4, 2, 3, 3})},
                                      {tensorOf(DType::f32, {2, 12, 3, 3})});
  EXPECT_THAT(describe(command), HasSubstr("902=12,2,3,3 903=18,9,3,1 906=2 "));
  // One filter a group: its axis has no stride of its own.
  command.inputs[1]->dims = {6, 1, 1, 3, 3};
  command.inputs[1]->strides = {9, 1, 9, 3, 1};
  command.outputs[0]->dims = {2, 6, 3, 3};
  EXPECT_THAT(describe(command), HasSubstr("902=6,1,3,3 903=9,9,3,1 906=2 "));
  command.inputs[1]->dims = {3, 4, 2, 3, 3};
  command.inputs[1]->strides = {18, 54, 9, 3, 1};
  EXPECT_EQ(wordsOf(command),
            "cuDNN takes filters of groups that lie behind each other, and "
            "these have strides 18 and 54");
}

// One axis is the second of two.
TEST_F(CudnnConvolution, HasOneToThreeAxes) {
  LibraryCommandT command = commandOf(
      LibraryOp::convolution,
      {tensorOf(DType::f32, {2, 4, 9}), tensorOf(DType::f32, {8, 4, 3})},
      {tensorOf(DType::f32, {2, 8, 4})});
  windowsOf(command).strides = {2};
  std::string words = describe(command);
  EXPECT_THAT(words, HasSubstr("902=2,4,1,9 903=36,9,9,1 906=1 "));
  EXPECT_THAT(words, HasSubstr("902=8,4,1,3 903=12,3,3,1 906=2 "));
  EXPECT_THAT(
      words, HasSubstr("1: 100=0 101=1 102=1,1 103=1,2 104=0,0 105=0,0 106=2"));
  command = commandOf(LibraryOp::convolution,
                      {tensorOf(DType::f32, {2, 4, 3, 5, 5}),
                       tensorOf(DType::f32, {8, 4, 3, 3, 3})},
                      {tensorOf(DType::f32, {2, 8, 1, 3, 3})});
  EXPECT_THAT(describe(command),
              HasSubstr("103=1,1,1 104=0,0,0 105=0,0,0 106=3"));
}

TEST_F(CudnnConvolution, HasNothingBehindIt) {
  LibraryCommandT command = convolution(
      LibraryOp::convolution, {4, 6, 8, 3, 1, 1}, 2, DType::f32, false);
  activationOf(command) = Activation::relu;
  EXPECT_EQ(wordsOf(command), "convolutions of cards have no relu behind them");
  command.inputs.push_back(std::make_unique<gradus::artifact::LibraryTensorT>(
      tensorOf(DType::f32, {8})));
  EXPECT_EQ(wordsOf(command), "convolutions of cards have no bias behind them");
}
