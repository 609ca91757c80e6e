#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

using namespace gradus::test;
namespace fb = gradus::artifact;

static const std::string kPlan = "adder: plan 0 (cpu:x86-64-v2): ";

TEST(VerifyPlan, RefusesBuffersOutsideTheirRegion) {
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.plan().buffers[kSum]->offset = 256; }),
      kPlan +
          "buffer 4: its 32 bytes at 256 lie outside its region of 256 bytes");
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.plan().buffers[kSum]->offset = ~uint64_t{63};
            }),
            kPlan + "buffer 4: its 32 bytes at 18446744073709551552 lie "
                    "outside its region "
                    "of 256 bytes");
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.plan().buffers[kConstant]->size = 33; }),
      kPlan + "buffer 6: its 33 bytes at 0 lie outside its region of 32 bytes");
}

/// Rank r has part r of a tensor, r strides further on, or the last one; all of
/// them lie in the region.
TEST(VerifyPlan, RefusesPartsOfRanksOutsideTheirRegion) {
  auto words = [](uint64_t stride, uint64_t parts, int buffer = kScratch,
                  int64_t ranks = 8) {
    return wordsAfter([&](auto &made) {
      made.header.ranks = ranks;
      made.plan().arena_bytes = 512;
      made.plan().buffers[kScratch]->offset = 256;
      made.plan().buffers[buffer]->rank_stride = stride;
      made.plan().buffers[buffer]->parts = parts;
    });
  };
  EXPECT_EQ(words(64, 4), "ok");
  EXPECT_EQ(words(64, 5), kPlan + "buffer 7: its 5 parts of ranks, 64 bytes "
                                  "from each other, lie outside its region of "
                                  "512 bytes");
  EXPECT_EQ(words(uint64_t{1} << 63, 3),
            kPlan + "buffer 7: its 3 parts of ranks, 9223372036854775808 bytes "
                    "from each other, lie outside its region of 512 bytes");
  EXPECT_EQ(words(64, 0),
            kPlan + "buffer 7: has 0 parts of ranks, expected 1 to 8");
  EXPECT_EQ(words(64, 3, kScratch, 2),
            kPlan + "buffer 7: has 3 parts of ranks, expected 1 to 2");
  EXPECT_EQ(words(64, 1, kScratch, 0),
            kPlan + "buffer 7: has parts of ranks, whose number "
                    "the file does not say");
  EXPECT_EQ(words(32, 2), kPlan + "buffer 7: has parts 32 bytes from each "
                                  "other, not a multiple of 64");
  EXPECT_EQ(words(64, 1, kConstant),
            kPlan + "buffer 6: has parts of ranks among the constants");
  EXPECT_EQ(words(64, 4, kSum),
            kPlan + "graph train: output sum: is a rank's part of a tensor");
}

TEST(VerifyPlan, RefusesBuffersThatAreNotAligned) {
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.plan().buffers[kSum]->offset = 32; }),
      kPlan + "buffer 4: starts at 32, not a multiple of 64");
}

TEST(VerifyPlan, RefusesBuffersTooSmallForTheirType) {
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.plan().buffers[kSum]->size = 31; }),
      kPlan + "buffer 4: has 31 bytes, too few for 8xf32");
}

TEST(VerifyPlan, RefusesAbsurdSizes) {
  EXPECT_EQ(wordsAfter([](auto &made) {
              made.plan().arena_bytes = uint64_t{1} << 50;
            }),
            kPlan + "asks for an arena of 1125899906842624 bytes and uses 256");
  EXPECT_NE(wordsAfter([](auto &made) {
              made.plan().state_bytes = uint64_t{1} << 50;
            }),
            "ok");
}

TEST(VerifyPlan, RefusesStatesThatOverlapOrAreMissing) {
  EXPECT_EQ(wordsAfter([](auto &made) { made.plan().state_offsets[1] = 0; }),
            kPlan + "states scale and total overlap");
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.plan().state_offsets.pop_back(); }),
      kPlan + "places 2 of 3 states");
  EXPECT_EQ(wordsAfter([](auto &made) { made.plan().state_offsets[2] = 192; }),
            kPlan + "state step: its 8 bytes at 192 are not aligned, or lie "
                    "outside the 192 "
                    "bytes of state");
}

TEST(VerifyPlan, RefusesKernelsOutsideTheCode) {
  EXPECT_EQ(wordsAfter([](auto &made) { made.kernels.kernels[0]->entry = 45; }),
            kPlan +
                "kernel 0 (add): starts at 45, outside the code of 45 bytes");
}

TEST(VerifyPlan, RefusesKernelsThatDoNotSayWhatTheyReach) {
  EXPECT_EQ(
      wordsAfter([](auto &made) {
        made.kernels.kernels[0]->bytes_per_item.pop_back();
      }),
      kPlan +
          "kernel 0 (add): has 3 arguments, 2 sizes per item and 1 outputs");
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.kernels.kernels[1]->max_items = 0; }),
      kPlan + "kernel 1 (count): says neither bytes per item nor how many "
              "items it takes");
}

TEST(VerifyPlan, RefusesPortsThatDoNotFit) {
  EXPECT_EQ(wordsAfter([](auto &made) { made.train().inputs[0] = kTotal; }),
            kPlan + "graph train: input x: does not lie in the arena");
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.train().inputs[0] = kConstant; }),
      kPlan +
          "graph train: input x: would write to buffer 6, which is a constant");
  EXPECT_EQ(wordsAfter([](auto &made) { made.train().outputs[0] = 99; }),
            kPlan + "graph train: output sum: names buffer 99 of 8");
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.train().outputs[0] = kStep; }),
      kPlan +
          "graph train: output sum: its buffer has 8 bytes, too few for 8xf32");
  EXPECT_EQ(wordsAfter([](auto &made) { made.train().outputs.pop_back(); }),
            kPlan + "graph train: has buffers for 1 of 2 outputs");
}

TEST(VerifyPlan, RefusesAGraphThatIsNotPlanned) {
  EXPECT_EQ(wordsAfter([](auto &made) { made.plan().graphs.pop_back(); }),
            kPlan + "does not plan graph evaluate");
  EXPECT_EQ(wordsAfter([](auto &made) { made.plan().graphs[1]->graph = 0; }),
            kPlan + "plans graph 0 twice, or there are only 2");
}

//===-- plans for GPUs ----------------------------------------------------===//

/// What the reader says of an artifact with a plan for GPUs after a change.
template <typename Change> static std::string wordsOfGpuPlan(Change change) {
  TestArtifact made;
  fb::PlanT &plan = made.addGpuPlan();
  change(made, plan);
  return wordsFor(made);
}

static const std::string kGpuPlan = "adder: plan 1 (cuda): ";

TEST(VerifyPlan, TakesImagesInPlaceOfCode) {
  EXPECT_EQ(wordsOfGpuPlan([](auto &, auto &) {}), "ok");
}

TEST(VerifyPlan, RefusesKernelsThatNoGpuCanLaunch) {
  EXPECT_EQ(wordsOfGpuPlan([](auto &made, auto &) {
              made.kernels.kernels[0]->gpu.reset();
            }),
            kGpuPlan + "kernel 0 (add): does not say how a GPU launches it");
  EXPECT_EQ(wordsOfGpuPlan([](auto &made, auto &) {
              made.kernels.kernels[1]->gpu->threads = 1025;
            }),
            kGpuPlan + "kernel 1 (count): has blocks of 1025 threads, expected "
                       "1 to 1024");
  EXPECT_EQ(wordsOfGpuPlan([](auto &made, auto &) {
              made.kernels.kernels[1]->gpu->piece = 4;
            }),
            kGpuPlan + "kernel 1 (count): has at most 1 blocks and pieces of 4 "
                       "items, expected one of the two");
  EXPECT_EQ(wordsOfGpuPlan([](auto &made, auto &) {
              made.kernels.kernels[1]->gpu->scratch = {uint64_t{1} << 39,
                                                       ~uint64_t{0}};
            }),
            kGpuPlan + "kernel 1 (count): asks for more than 1099511627776 "
                       "bytes of scratch");
}

/// A processor would jump into nothing.
TEST(VerifyPlan, RefusesImagesForProcessorsAndCodeForCards) {
  EXPECT_EQ(wordsOfGpuPlan([](auto &, auto &plan) { plan.target = "cpu"; }),
            "adder: plan 1 (cpu): has images, as plans for cuda alone do");
  EXPECT_EQ(
      wordsAfter([](auto &made) { made.header.plans[0]->target = "cuda:x"; }),
      "adder: plan 0 (cuda:x): has no images, which plans for cuda are of");
}

TEST(VerifyPlan, RefusesImagesThatDoNotHoldItsKernels) {
  EXPECT_EQ(wordsOfGpuPlan(
                [](auto &, auto &plan) { plan.images[1]->kernels.pop_back(); }),
            kGpuPlan + "image 1: has 1 of 2 kernels");
  EXPECT_EQ(wordsOfGpuPlan([](auto &, auto &plan) {
              plan.images[2]->kernels[1]->entry = 45;
            }),
            kGpuPlan + "image 2: kernel 1: starts at 45 of 45 bytes");
  EXPECT_EQ(wordsOfGpuPlan([](auto &, auto &plan) {
              plan.images[0]->kernels[1]->entry = 1;
            }),
            kGpuPlan + "image 0: kernel 1: starts at 1 of 45 bytes");
  EXPECT_EQ(wordsOfGpuPlan([](auto &, auto &plan) {
              plan.images[0]->kernels[0]->shared = 232449;
            }),
            kGpuPlan + "image 0: kernel 0: has 232449 bytes of shared memory a "
                       "block, expected at most 232448");
  EXPECT_EQ(wordsOfGpuPlan([](auto &, auto &plan) {
              plan.images[0]->kind = static_cast<fb::ImageKind>(9);
            }),
            kGpuPlan + "image 0: is of kind 9, which is unknown");
}
