// What cuDNN is told of attention: a stub writes it down. Numbers of kinds and
// attributes are those of cudnn_abi.h.

#include "runtime/cuda/libraries/cudnn_attention.h"

#include "tests/runtime/cuda/libraries/cudnn_stub.h"
#include "tests/runtime/cuda/packed_command.h"

#include <sstream>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Of 2 sequences, 3 heads, 4 queries and 5 keys of 8; values of 16.
LibraryCommandT attention(bool isCausal, DType dtype = DType::bf16) {
  LibraryCommandT command = commandOf(
      LibraryOp::attention,
      {tensorOf(dtype, {2, 3, 4, 8}), tensorOf(dtype, {2, 3, 5, 8}),
       tensorOf(dtype, {2, 3, 5, 16})},
      {tensorOf(dtype, {2, 3, 4, 16}), tensorOf(DType::f32, {2, 3, 4, 1})});
  scoresOf(command).scale = 0.5;
  scoresOf(command).causal = isCausal;
  return command;
}

LibraryCommandT gradients(bool isCausal, DType dtype = DType::bf16) {
  LibraryCommandT command = commandOf(
      LibraryOp::attention_backward,
      {tensorOf(dtype, {2, 3, 4, 8}), tensorOf(dtype, {2, 3, 5, 8}),
       tensorOf(dtype, {2, 3, 5, 16}), tensorOf(dtype, {2, 3, 4, 16}),
       tensorOf(dtype, {2, 3, 4, 16}), tensorOf(DType::f32, {2, 3, 4, 1})},
      {tensorOf(dtype, {2, 3, 4, 8}), tensorOf(dtype, {2, 3, 5, 8}),
       tensorOf(dtype, {2, 3, 5, 16})});
  scoresOf(command).scale = 0.5;
  scoresOf(command).causal = isCausal;
  return command;
}

struct CudnnAttention : CudnnStub {
  explicit CudnnAttention(const std::string &name = "stub_cudnn")
      : CudnnStub(name) {}

  /// The graph's operations in words: "multiply", "reduce", or a pointwise mode
  /// by its number.
  std::vector<std::string> operationsOf(const LibraryCommandT &command) {
    prepare(command);
    std::istringstream lines(written());
    std::vector<std::string> names;
    std::string mode;
    for (std::string line; std::getline(lines, line);) {
      std::string kind = line.substr(0, line.find(':'));
      if (kind == "0")
        mode = line.substr(5, line.find(' ', 5) - 5);
      else if (kind == "13")
        names.push_back(mode);
      else if (kind == "19")
        names.push_back("multiply");
      else if (kind == "22")
        names.push_back("reduce");
      else if (kind == "31")
        names.push_back("reshape");
    }
    return names;
  }
};

struct CudnnBeforeAttention : CudnnAttention {
  CudnnBeforeAttention() : CudnnAttention("cudnn_9_17") {}
};

} // namespace

// Q K', its scale, the softmax with its logsumexp, times V.
TEST_F(CudnnAttention, IsASoftmaxBetweenTwoProducts) {
  EXPECT_THAT(operationsOf(attention(false)),
              ElementsAre("multiply", "1", "reduce", "9", "13", "reduce", "15",
                          "0", "6", "multiply"));
}

// Rows and columns are compared, and what comes later is -inf.
TEST_F(CudnnAttention, MasksWhatComesLater) {
  EXPECT_THAT(operationsOf(attention(true)),
              ElementsAre("multiply", "1", "501", "501", "303", "601", "reduce",
                          "9", "13", "reduce", "15", "0", "6", "multiply"));
}

// One operation more, behind the scale.
TEST_F(CudnnAttention, AddsAMask) {
  LibraryCommandT command = attention(false);
  command.inputs.push_back(std::make_unique<gradus::artifact::LibraryTensorT>(
      tensorOf(DType::f32, {2, 1, 1, 5})));
  EXPECT_THAT(operationsOf(command),
              ElementsAre("multiply", "1", "0", "reduce", "9", "13", "reduce",
                          "15", "0", "6", "multiply"));
  written();
  prepare(command);
  EXPECT_THAT(written(),
              HasSubstr("17: 900=16 901=0 902=2,1,1,5 903=5,5,5,1 "));
  command = gradients(false);
  command.inputs.push_back(std::make_unique<gradus::artifact::LibraryTensorT>(
      tensorOf(DType::bf16, {1, 3, 4, 5})));
  EXPECT_THAT(operationsOf(command),
              ElementsAre("1", "reduce", "1", "multiply", "1", "0", "9", "13",
                          "reshape", "multiply", "multiply", "9", "1", "1",
                          "reshape", "multiply", "reshape", "multiply"));
}

// The keys come transposed; shares are rounded to bf16 for the last product.
TEST_F(CudnnAttention, HasTensorsAsEnginesExpectThem) {
  prepare(attention(false));
  std::string words = written();
  EXPECT_THAT(words, HasSubstr("17: 900=16 901=9 902=2,3,8,5 903=120,40,1,8 "
                               "906=2 907=0 908=0\n"));
  EXPECT_THAT(words,
              HasSubstr("17: 900=16 901=0 902=2,3,4,1 903=12,4,1,1 906=5 "
                        "907=0 908=0\n"));
  EXPECT_THAT(words, HasSubstr("17: 900=16 901=9 902=2,3,4,5 903=60,20,5,1 "
                               "906="));
}

TEST_F(CudnnAttention, HasItsScaleFromTheHost) {
  auto call = prepare(attention(false));
  written();
  CallAddresses addresses{{100, 200, 300}, {400, 500}, 600};
  ASSERT_TRUE(
      call->enqueue(reinterpret_cast<Stream>(uintptr_t{7}), addresses).ok());
  // Six pointers for six tensors that are somewhere, the last on the host.
  EXPECT_THAT(written(), testing::ContainsRegex(
                             "16: 1000=1,2,3,4,5,[0-9]+ "
                             "1001=100,200,300,400,500,[0-9]+ 1003=600\n"));
}

// rows of dO O; P; dV = P' dO; dP; dS; dK = dS' Q; dQ = dS K.
TEST_F(CudnnAttention, HasItsGradients) {
  EXPECT_THAT(operationsOf(gradients(false)),
              ElementsAre("1", "reduce", "1", "multiply", "1", "9", "13",
                          "reshape", "multiply", "multiply", "9", "1", "1",
                          "reshape", "multiply", "reshape", "multiply"));
  EXPECT_THAT(operationsOf(gradients(true)),
              ElementsAre("1", "reduce", "1", "multiply", "1", "9", "501",
                          "501", "303", "601", "13", "reshape", "multiply",
                          "multiply", "9", "1", "1", "reshape", "multiply",
                          "reshape", "multiply"));
}

// The rows of dO O are 2 x 3 x 4 numbers in front of the engine's workspace.
TEST_F(CudnnAttention, KeepsSumsOfRowsInScratch) {
  auto call = prepare(gradients(false));
  EXPECT_EQ(call->scratchBytes(), 256u);
  written();
  CallAddresses addresses{{1, 2, 3, 4, 5, 6}, {7, 8, 9}, 1000};
  ASSERT_TRUE(call->enqueue(nullptr, addresses).ok());
  std::string words = written();
  EXPECT_THAT(words, HasSubstr(" 1003=1256\n"));
  EXPECT_THAT(words, HasSubstr(",1000,"));
}

// Of 64 queries a sequence: with scratch for one sequence, not for two.
TEST_F(CudnnAttention, GoesThroughLargeBatchesInParts) {
  LibraryCommandT command = gradients(false);
  for (size_t i : {0, 3, 4, 5})
    command.inputs[i]->dims[2] = 64;
  command.outputs[0]->dims[2] = 64;
  auto call = prepare(command, 1000);
  EXPECT_EQ(call->scratchBytes(), 768u);
  written();
  CallAddresses addresses{
      {10000, 20000, 30000, 40000, 50000, 60000}, {70000, 80000, 90000}, 1024};
  ASSERT_TRUE(call->enqueue(nullptr, addresses).ok());
  std::string words = written();
  EXPECT_THAT(words, HasSubstr(" 1001=10000,20000,30000,40000,50000,60000,"));
  EXPECT_THAT(words, HasSubstr(" 1001=13072,20240,30480,46144,56144,60768,"));
  EXPECT_THAT(prepare(command, 2000)->scratchBytes(), 1536u);
}

// A file may say any number of sequences.
TEST_F(CudnnAttention, IsNotTakenApartWithoutEnd) {
  LibraryCommandT command = gradients(false);
  for (auto *tensors : {&command.inputs, &command.outputs})
    for (auto &tensor : *tensors)
      tensor->dims[0] = int64_t{1} << 36;
  auto parts = cudnn::attentionParts(*PackedCommand(command));
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_LE(parts->size(), 2000u);
  for (cudnn::AttentionPart part : *parts)
    EXPECT_GE(part.sequences, int64_t{1} << 20);
}

TEST_F(CudnnAttention, IsOfSixteenBits) {
  EXPECT_EQ(wordsOf(attention(false, DType::f32)),
            "cuDNN attends in f16 or bf16, all of one type, and this is "
            "attention of 2x3x4x8xf32 to 2x3x5x8xf32");
  LibraryCommandT command = gradients(false);
  command.outputs[1]->dtype = DType::f32;
  EXPECT_THAT(wordsOf(command), HasSubstr("cuDNN attends in f16 or bf16"));
}

TEST_F(CudnnBeforeAttention, IsNotAskedForIt) {
  EXPECT_EQ(
      wordsOf(attention(false)),
      "attention needs cuDNN 9.18 or later, and this one is 9.17.0; a plan "
      "compiled with --libraries never needs none");
}
