// Opening a GPU and what it gives, with what can go wrong, in words.

#include "emulated_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

using CudaCard = EmulatedCard;

TEST_F(CudaCard, KnowsItself) {
  EXPECT_EQ(card_->name(), "the emulated GPU");
  EXPECT_EQ(card_->architecture(), "sm_90");
  EXPECT_EQ(card_->multiprocessors(), 4);
  EXPECT_TRUE(driver().isEmulated());
}

TEST_F(CudaCard, SaysWhereThereIsNoCard) {
  close();
  FakeOptions none;
  none.devices = 0;
  FakeDriver fake(none);
  EXPECT_EQ(Card::open(fake.driver(), 0).status().message(),
            "starting CUDA: the NVIDIA driver finds no GPU "
            "(CUDA_ERROR_NO_DEVICE 100)");
}

/// No code is made for it, whatever an artifact is compiled for.
TEST_F(CudaCard, RefusesACardThatIsTooOld) {
  Driver old = driver();
  old.deviceAttribute = [](int *value, DeviceAttribute attribute,
                           DeviceNumber) {
    *value = attribute == DeviceAttribute::capabilityMajor   ? 7
             : attribute == DeviceAttribute::capabilityMinor ? 5
                                                             : 1;
    return Result::success;
  };
  EXPECT_EQ(Card::open(old, 0).status().message(),
            "the emulated GPU is sm_75, and Gradus needs sm_80 or later");
}

TEST_F(CudaCard, RefusesNumbersOfNoCard) {
  EXPECT_EQ(Card::open(driver(), 1).status().message(),
            "this machine has 1 GPU, cuda:0");
  EXPECT_EQ(Card::open(driver(), -1).status().message(),
            "this machine has 1 GPU, cuda:0");
}

TEST_F(CudaCard, SaysHowMuchMemoryIsNeededAndHowMuchIsFree) {
  FakeOptions small;
  small.memoryBytes = 1 << 20;
  open(small);
  DevicePointer some = allocate(64 << 8);
  EXPECT_NE(some, 0u);
  Need needs[] = {{"state", 600 << 10}, {"arena", 500 << 10}, {"inputs", 0}};
  EXPECT_EQ(card_->checkFits(needs).message(),
            "needs 1.1 MiB of the GPU's memory (600.0 KiB of state, 500.0 KiB "
            "of arena), and 960.0 KiB of 1.0 MiB are free on the emulated GPU");
  EXPECT_TRUE(card_->checkFits({needs, 1}).ok());
  EXPECT_EQ(card_->allocate({"arena", 2 << 20}).status().message(),
            "needs 2.0 MiB of the GPU's memory (2.0 MiB of arena), and 960.0 "
            "KiB of 1.0 MiB are free on the emulated GPU");
}

TEST_F(CudaCard, SaysWhatTheDriverRefusedMemoryFor) {
  FakeOptions options;
  options.outOfMemoryAt = 1;
  open(options);
  EXPECT_TRUE(card_->allocate({"state", 4096}).ok());
  EXPECT_EQ(card_->allocate({"arena", 4096}).status().message(),
            "taking 4.0 KiB of the emulated GPU for arena: the GPU has too "
            "little free memory (CUDA_ERROR_OUT_OF_MEMORY 2)");
  EXPECT_TRUE(card_->allocate({"arena", 4096}).ok());
}

TEST_F(CudaCard, NoBytesAreNoMemory) {
  auto none = card_->allocate({"arena", 0});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(bool(*none));
  auto pinned = card_->allocatePinned({"inputs", 0});
  ASSERT_TRUE(pinned.ok());
  EXPECT_FALSE(bool(*pinned));
}

TEST_F(CudaCard, RefusesCodeItCannotRun) {
  auto messageOf = [&](const void *image) {
    return card_->load(image, "the code").status().message();
  };
  std::vector<uint8_t> damaged = image_;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_EQ(messageOf(damaged.data()),
            "loading the code on the emulated GPU (sm_90): the GPU code is "
            "damaged, or of a newer CUDA than the NVIDIA driver "
            "(CUDA_ERROR_INVALID_IMAGE 200)");
  const char other[] = "\x7f"
                       "ELF and so on";
  EXPECT_EQ(
      messageOf(other),
      "loading the code on the emulated GPU (sm_90): there is no code for "
      "this GPU's architecture (CUDA_ERROR_NO_BINARY_FOR_GPU 209)");
  EXPECT_EQ(card_->function(module_.get(), "absent").status().message(),
            "the GPU code has no kernel 'absent'");
}

TEST_F(CudaCard, KnowsHowManyBlocksRunAtOnce) {
  Function twice = *card_->function(module_.get(), "twice");
  auto blocks = card_->residentBlocks(twice, 256);
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_EQ(*blocks, 4u * 2048 / 256);
}

TEST(CudaSizes, AreWords) {
  EXPECT_EQ(sizeInWords(700), "700 bytes");
  EXPECT_EQ(sizeInWords(1536), "1.5 KiB");
  EXPECT_EQ(sizeInWords(size_t(3) << 30), "3.0 GiB");
}
