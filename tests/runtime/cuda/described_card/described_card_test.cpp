// Plans of cuDNN itself, where it is at hand, for a card that is described and
// not there: the same code chooses and builds them on a card. What cuDNN
// compiles is loaded by this machine's driver, or by a stub of one.

#include "runtime/cuda/libraries/cudnn.h"
#include "runtime/cuda/libraries/cudnn_attention.h"
#include "runtime/cuda/libraries/cudnn_convolution.h"
#include "runtime/cuda/libraries/cudnn_plan.h"
#include "tests/sanitized.h"

#include "tests/runtime/cuda/card_commands.h"
#include "tests/runtime/cuda/stub_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;

#if GRADUS_SANITIZE
/// cuDNN opens NVIDIA's compiler anew for each plan and closes it with memory
/// it never frees. Open to the end it has a name, which tests/leaks.supp knows.
extern "C" [[gnu::visibility("default")]] int dlclose(void *) { return 0; }
#endif

namespace {

constexpr uint64_t kScratch = 256 << 20;
/// From this version of cuDNN on, a description that it refuses lacks
/// something; older ones may know none.
constexpr size_t kDescribes = 91900;

/// What tells cards of sm_90 apart.
struct Hopper {
  const char *name;
  uint64_t memory;
  int memoryClock, busWidth; // kHz, bits
};
constexpr Hopper kH100 = {"NVIDIA H100 80GB HBM3", 85029158912, 2619000, 5120};
constexpr Hopper kH200 = {"NVIDIA H200", 150121545728, 3201000, 6144};

/// What cuDNN wants to know of a card; from 9.20 on the last two keys as well.
std::string described(const Hopper &card) {
  return inWords(R"({"deviceName": ")", card.name, R"(", "totalGlobalMem": )",
                 card.memory, R"(, "memClockRateKHz": )", card.memoryClock,
                 R"(, "memoryBusWidth": )", card.busWidth, R"(,
  "deviceVer": 900, "driverVer": 13000,
  "cudaDeviceId": 0, "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
  "l2CacheSize": 52428800,
  "multiProcessorCount": 132, "warpSize": 32, "smClockRateKHz": 1980000,
  "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536,
  "maxRegistersPerSM": 65536, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "oversizedSharedMemoryPerBlock": 0
})");
}

/// The convolutions of ResNet-50: inputs, size, outputs, window, stride, pad.
constexpr Shape kResNet50[] = {
    {3, 224, 64, 7, 2, 3},     {64, 56, 64, 1, 1, 0},
    {64, 56, 64, 3, 1, 1},     {64, 56, 256, 1, 1, 0},
    {256, 56, 64, 1, 1, 0},    {256, 56, 128, 1, 1, 0},
    {128, 56, 128, 3, 2, 1},   {128, 28, 512, 1, 1, 0},
    {256, 56, 512, 1, 2, 0},   {512, 28, 128, 1, 1, 0},
    {128, 28, 128, 3, 1, 1},   {512, 28, 256, 1, 1, 0},
    {256, 28, 256, 3, 2, 1},   {256, 14, 1024, 1, 1, 0},
    {512, 28, 1024, 1, 2, 0},  {1024, 14, 256, 1, 1, 0},
    {256, 14, 256, 3, 1, 1},   {1024, 14, 512, 1, 1, 0},
    {512, 14, 512, 3, 2, 1},   {512, 7, 2048, 1, 1, 0},
    {1024, 14, 2048, 1, 2, 0}, {2048, 7, 512, 1, 1, 0},
    {512, 7, 512, 3, 1, 1}};

constexpr LibraryOp kConvolutions[] = {LibraryOp::convolution,
                                       LibraryOp::convolution_backward_data,
                                       LibraryOp::convolution_backward_weights};

class DescribedCard : public testing::Test {
protected:
  void SetUp() override { describe(kH200); }

  void describe(const Hopper &card) {
    // Its name is the driver's: who opens that later, finds it.
    if (!dlopen("libcuda.so.1", RTLD_NOW))
      ASSERT_TRUE(dlopen(libraryOf("stub_loader").c_str(), RTLD_NOW));
    auto library = cudnn::load();
    if (!library.ok())
      GTEST_SKIP() << library.status();
    auto session = cudnn::describeCard(described(card));
    if (!session.ok() && library->version() < kDescribes)
      GTEST_SKIP() << session.status();
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *session;
    card_ = card.name;
    server = serveCudnn(session_);
  }

  /// Words, or that there is a plan within the scratch.
  std::string planOf(const LibraryCommandT &command) {
    PackedCommand packed(command);
    auto call = server->prepare(*packed, kScratch);
    if (!call.ok())
      return call.status().message();
    if ((*call)->scratchBytes() > kScratch)
      return inWords("needs ", (*call)->scratchBytes(), " bytes");
    // Its text names the very same plan.
    auto again = server->prepareWith((*call)->algorithm(), *packed, kScratch);
    if (!again.ok())
      return again.status().message();
    if ((*again)->algorithm() != (*call)->algorithm() ||
        (*again)->scratchBytes() != (*call)->scratchBytes())
      return inWords((*call)->algorithm(), " became ", (*again)->algorithm());
    return "";
  }

  /// The whole of a command, by what cuDNN takes first with so much scratch.
  StatusOr<cudnn::ExecutionPlan> chosen(const LibraryCommandT &command,
                                        uint64_t scratch) {
    PackedCommand packed(command);
    bool attends = command.op.type == LibraryOp::attention ||
                   command.op.type == LibraryOp::attention_backward;
    StatusOr<cudnn::OperationGraph> graph =
        failed("there is no part of ", EnumNameLibraryOp(command.op.type));
    if (!attends)
      graph = cudnn::convolutionGraph(*session_, *packed);
    else if (auto parts = cudnn::attentionParts(*packed);
             parts.ok() && !parts->empty())
      graph = cudnn::attentionGraph(*session_, *packed, (*parts)[0]);
    GRADUS_TRY(graph.status());
    return cudnn::choosePlan(*session_, *graph, scratch);
  }

  /// Expects tensor cores by one of cuDNN's first two choices, and prints it:
  /// what docs/gpu.md has a table of.
  void expectEarlyChoice(const std::string &name,
                         const LibraryCommandT &command) {
    auto plan = chosen(command, kScratch);
    ASSERT_TRUE(plan.ok()) << name << ": " << plan.status();
    EXPECT_LE(plan->choice, 2u) << name << " by " << plan->algorithm;
    EXPECT_TRUE(plan->hasTensorCores) << name << " by " << plan->algorithm;
    std::printf("%s | %s | %s | %zu | %s | %.0f\n", session_->name().c_str(),
                card_.c_str(), name.c_str(), plan->choice,
                plan->hasTensorCores ? "yes" : "no",
                double(plan->workspace) / (1 << 20));
  }

  std::string card_;
  std::shared_ptr<cudnn::Session> session_;
  std::unique_ptr<LibraryServer> server;
};

/// With heads of 64 numbers that lie inside, of bf16; and its gradients.
std::vector<LibraryCommandT> attentionOf(int64_t n, int64_t h, int64_t t,
                                         bool isCausal,
                                         const std::vector<int64_t> &mask) {
  constexpr int64_t d = 64;
  auto heads = tensorOf(DType::bf16, {n, h, t, d}, {t * h * d, d, h * d, 1});
  auto rows = tensorOf(DType::f32, {n, h, t, 1});
  std::vector<LibraryCommandT> both;
  both.push_back(
      commandOf(LibraryOp::attention, {heads, heads, heads}, {heads, rows}));
  both.push_back(commandOf(LibraryOp::attention_backward,
                           {heads, heads, heads, heads, heads, rows},
                           {heads, heads, heads}));
  for (LibraryCommandT &command : both) {
    scoresOf(command).scale = 0.125;
    scoresOf(command).causal = isCausal;
    if (!mask.empty())
      command.inputs.push_back(
          std::make_unique<gradus::artifact::LibraryTensorT>(
              tensorOf(DType::f32, mask)));
  }
  return both;
}

} // namespace

TEST_F(DescribedCard, HasPlansForAllConvolutionsOfResNet50) {
  SKIP_WHERE_SANITIZED();
  for (LibraryOp op : kConvolutions)
    for (const Shape &shape : kResNet50) {
      EXPECT_EQ(planOf(convolution(op, shape, 32, DType::bf16, true)), "")
          << "bf16 NHWC";
      EXPECT_EQ(planOf(convolution(op, shape, 32, DType::f32, false)), "")
          << "f32 NCHW";
    }
}

TEST_F(DescribedCard, HasPlansForEachForm) {
  for (const auto &[name, command] : convolutions())
    EXPECT_EQ(planOf(command), "")
        << name << " of " << nameOf(command.inputs[0]->dtype);
}

TEST_F(DescribedCard, HasPlansForEachFormOfAttention) {
  SKIP_WHERE_SANITIZED();
  for (const auto &[name, command] : attentions())
    EXPECT_EQ(planOf(command), "")
        << name << " of " << nameOf(command.inputs[0]->dtype);
}

/// Within 192 MiB of scores and 1 MiB more, which gradients take to be the same
/// each time.
TEST_F(DescribedCard, HasPlansForAttention) {
  SKIP_WHERE_SANITIZED();
  for (bool isCausal : {false, true})
    for (const LibraryCommandT &command :
         attentionOf(8, 12, 1024, isCausal, {}))
      EXPECT_EQ(planOf(command), "");
}

/// Of each sequence, and of each head.
TEST_F(DescribedCard, HasPlansForMasksOfAnOddNumberOfKeys) {
  for (const std::vector<int64_t> &mask :
       {std::vector<int64_t>{2, 1, 1, 77}, {1, 2, 1, 77}})
    for (const LibraryCommandT &command : attentionOf(2, 2, 77, false, mask)) {
      auto plan = chosen(command, kScratch);
      EXPECT_TRUE(plan.ok()) << EnumNameLibraryOp(command.op.type) << " with "
                             << mask[1] << " heads: " << plan.status();
    }
}

/// In bf16, for a step of 256 images.
TEST_F(DescribedCard, ComputesResNet50ByFirstChoices) {
  SKIP_WHERE_SANITIZED();
  for (const Hopper &card : {kH100, kH200}) {
    describe(card);
    for (LibraryOp op : kConvolutions)
      for (const Shape &shape : kResNet50)
        if (shape.inputs > 3 || op != LibraryOp::convolution_backward_data)
          expectEarlyChoice(inWords(EnumNameLibraryOp(op), " ", shape.inputs,
                                    "x", shape.size, " to ", shape.outputs,
                                    ", ", shape.window, "/", shape.stride),
                            convolution(op, shape, 256, DType::bf16, true));
  }
}

/// GPT-2 of 8 x 1024 tokens, BERT of 32 x 128.
TEST_F(DescribedCard, ComputesAttentionByFirstChoices) {
  SKIP_WHERE_SANITIZED();
  for (const Hopper &card : {kH100, kH200}) {
    describe(card);
    for (const LibraryCommandT &command : attentionOf(8, 12, 1024, true, {}))
      expectEarlyChoice(inWords("GPT-2's ", EnumNameLibraryOp(command.op.type)),
                        command);
    for (const LibraryCommandT &command :
         attentionOf(32, 12, 128, false, {32, 1, 128, 128}))
      expectEarlyChoice(inWords("BERT's ", EnumNameLibraryOp(command.op.type)),
                        command);
  }
}
