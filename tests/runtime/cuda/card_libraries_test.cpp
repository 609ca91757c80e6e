// Which library serves a command, and by which algorithm: stubs stand for the
// libraries.

#include "runtime/cuda/card_libraries.h"

#include "emulated_card.h"
#include "tests/runtime/cuda/card_commands.h"
#include "tests/runtime/cuda/environment.h"
#include "tests/runtime/cuda/stub_library.h"

#include <gmock/gmock.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::DType;
using gradus::artifact::LibraryCommandT;
using gradus::artifact::LibraryOp;
using testing::HasSubstr;

namespace {

LibraryCommandT product() {
  return commandOf(
      LibraryOp::matmul,
      {tensorOf(DType::f32, {8, 4}), tensorOf(DType::f32, {4, 10})},
      {tensorOf(DType::f32, {8, 10})});
}

void choose(LibraryCommandT &command, const char *card, const char *library,
            const std::string &algorithm) {
  auto choice = std::make_unique<gradus::artifact::LibraryChoiceT>();
  choice->card = card;
  choice->library = library;
  choice->algorithm = algorithm;
  command.choices.push_back(std::move(choice));
}

struct CardLibraries : EmulatedCard {
  Environment cublasLt{"GRADUS_CUBLASLT_LIBRARY",
                       libraryOf("stub_cublaslt").c_str()};
  Environment cudnn{"GRADUS_CUDNN_LIBRARY", libraryOf("stub_cudnn").c_str()};

  void SetUp() override {
    EmulatedCard::SetUp();
    server = cardLibraries(*card_);
  }

  void TearDown() override {
    server.reset(); // before its card
    EmulatedCard::TearDown();
  }

  /// The stub's algorithms are called after the scratch that they take.
  uint64_t scratchOf(const LibraryCommandT &command) {
    auto call = server->prepare(*PackedCommand(command), 5000);
    EXPECT_TRUE(call.ok()) << call.status();
    return call.ok() ? (*call)->scratchBytes() : 0;
  }

  std::unique_ptr<LibraryServer> server;
};

/// Behind the first 16 digits of cuBLASLt's algorithms.
const std::string kZeros(112, '0');

} // namespace

TEST_F(CardLibraries, TakeTheAlgorithmThatWasMeasuredForThisCard) {
  LibraryCommandT command = product();
  EXPECT_EQ(scratchOf(command), 4096u);
  choose(command, "another GPU", "cublaslt 130100",
         "00000000000003e8" + kZeros);
  choose(command, "the emulated GPU", "cublaslt 120000",
         "00000000000003e8" + kZeros);
  EXPECT_EQ(scratchOf(command), 4096u);
  choose(command, "the emulated GPU", "cublaslt 130100",
         "00000000000003e8" + kZeros);
  EXPECT_EQ(scratchOf(command), 1000u);
}

TEST_F(CardLibraries, ChooseAnewWhereThatDoesNotServe) {
  LibraryCommandT command = product();
  choose(command, "the emulated GPU", "cublaslt 130100",
         "0000000000010000" + kZeros); // more scratch than there is
  EXPECT_EQ(scratchOf(command), 4096u);
}

TEST_F(CardLibraries, ListWhatThereIsToMeasure) {
  PackedCommand command(product());
  auto list = server->algorithms(*command, 5000);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->library, "cublaslt 130100");
  ASSERT_EQ(list->texts.size(), 2u);
  auto call = server->prepareWith(list->texts[1], *command, 5000);
  ASSERT_TRUE(call.ok()) << call.status();
  EXPECT_EQ((*call)->algorithm(), list->texts[1]);
}

TEST_F(CardLibraries, OpenNoneBeforeACommandNeedsIt) {
  Environment missing("GRADUS_CUBLASLT_LIBRARY", "/no/such.so");
  EXPECT_THAT(cardLibraries(*card_)
                  ->prepare(*PackedCommand(product()), 0)
                  .status()
                  .message(),
              HasSubstr("plans that call cuBLASLt"));
}

/// Else the vendor's runtime would take the first card there is.
TEST_F(CardLibraries, LeaveOnTheirCard) {
  scratchOf(product());
  ASSERT_EQ(driver().contextSetCurrent(nullptr), Result::success);
  server.reset();
  size_t free = 0, total = 0;
  EXPECT_EQ(driver().memoryInfo(&free, &total), Result::success);
}

TEST_F(CardLibraries, HaveCudnnForConvolutions) {
  LibraryCommandT command = convolution(
      LibraryOp::convolution, {4, 6, 8, 3, 1, 1}, 2, DType::f32, true);
  auto chosen = [&] {
    auto call = server->prepare(*PackedCommand(command), 5000);
    EXPECT_TRUE(call.ok()) << call.status();
    return call.ok() ? (*call)->algorithm() : "";
  };
  EXPECT_EQ(chosen(), "eng3");
  choose(command, "the emulated GPU", "cudnn 91800", "eng1");
  EXPECT_EQ(chosen(), "eng1");
  command.choices[0]->algorithm = "eng7"; // which is not deterministic
  EXPECT_EQ(chosen(), "eng3");
}

/// Before the first call opens cuDNN, and after it.
TEST_F(CardLibraries, LendScratchToCudnn) {
  LibraryCommandT command = convolution(
      LibraryOp::convolution, {4, 6, 8, 3, 1, 1}, 2, DType::f32, true);
  auto scratch = [&] {
    auto call = server->prepare(*PackedCommand(command), 4999);
    EXPECT_TRUE(call.ok()) << call.status();
    return call.ok() ? (*call)->scratchBytes() : 0;
  };
  server->lend(5000);
  EXPECT_EQ(scratch(), 5000u);
  server->lend(0);
  EXPECT_EQ(scratch(), 1000u);
  server->lend(6000);
  EXPECT_EQ(scratch(), 5000u);
}

/// What a card of 80 GiB lends to a plan with a constant of that size.
static uint64_t lent(uint64_t state, uint64_t arena, uint64_t constant) {
  gradus::artifact::PlanT made;
  made.state_bytes = state;
  made.arena_bytes = arena;
  for (auto region :
       {gradus::artifact::Region::constants, gradus::artifact::Region::arena}) {
    made.buffers.push_back(std::make_unique<gradus::artifact::BufferT>());
    made.buffers.back()->region = region;
    made.buffers.back()->size = constant;
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(gradus::artifact::Plan::Pack(builder, &made));
  return scratchToLend(uint64_t{80} << 30,
                       *flatbuffers::GetRoot<gradus::artifact::Plan>(
                           builder.GetBufferPointer()));
}

/// No matter what is free.
TEST(ScratchToLend, IsAPartOfACardThatIsHalfEmpty) {
  constexpr uint64_t kGiB = 1 << 30, kPart = 80 * kGiB / 32;
  EXPECT_EQ(lent(7 * kGiB, 0, 0), kPart);
  EXPECT_EQ(lent(30 * kGiB, 9 * kGiB, kGiB), kPart);
  EXPECT_EQ(lent(30 * kGiB, 9 * kGiB, kGiB + 1), 0u);
}

/// In the words of the emulated card (LibraryCalls): a plan that runs there
/// asks for nothing that is refused here.
TEST_F(CardLibraries, RefuseWhatNoCardTakes) {
  for (const auto &[words, command] : refusedCommands())
    EXPECT_EQ(server->prepare(*PackedCommand(command), 0).status().message(),
              words);
}
