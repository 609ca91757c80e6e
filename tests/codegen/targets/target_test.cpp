// Targets by name, and what passes learn of them.

#include "codegen/targets/target.h"

#include <gtest/gtest.h>

using namespace gradus;

TEST(Target, SaysWhetherItMultipliesBf16) {
  for (auto [name, does] : {std::pair("cpu:amx", true),
                            {"cpu:x86-64-v3", false},
                            {"cpu:x86-64-v4", false}}) {
    DeviceModel model = llvm::cantFail(findTarget(name)).model;
    EXPECT_EQ(model.select.narrow, does) << name;
    EXPECT_EQ(model.lowerToKernels.pairs, does) << name;
  }
  EXPECT_FALSE(llvm::cantFail(findTarget("cuda")).model.lowerToKernels.pairs);
}

// A library has kernels for AMX, without which pairs of bf16 are ours.
TEST(Target, LeavesMatmulsOfPairsToLibrariesForTiles) {
  for (std::string name : {"cpu", "cpu:amx", "cpu:x86-64-v4", "cuda"}) {
    DeviceModel model = llvm::cantFail(findTarget(name)).model;
    EXPECT_EQ(model.lowerToKernels.matmuls,
              model.lowerToKernels.pairs && !model.select.tiles)
        << name;
    model = llvm::cantFail(findTarget(name, {.products = "always"})).model;
    EXPECT_FALSE(model.lowerToKernels.matmuls) << name;
  }
}

TEST(Target, SaysForHowManyThreadsMatmulsAreDivided) {
  for (std::string name : {"cpu", "cpu:x86-64-v4"}) {
    EXPECT_EQ(llvm::cantFail(findTarget(name)).model.lowerToKernels.threads,
              kPlannedThreads);
    EXPECT_EQ(
        llvm::cantFail(findTarget(name, {}, 7)).model.lowerToKernels.threads,
        7);
  }
}

TEST(Target, SaysWhetherItHasVectorsForWinogradsAlgorithm) {
  EXPECT_TRUE(
      llvm::cantFail(findTarget("cpu:x86-64-v4")).model.select.winograd);
  EXPECT_FALSE(
      llvm::cantFail(findTarget("cpu:x86-64-v3")).model.select.winograd);
}

TEST(Target, SaysWhetherBlocksOf8ChannelsMayBeFaster) {
  EXPECT_TRUE(
      llvm::cantFail(findTarget("cpu:x86-64-v3")).model.select.blocksOf8);
  EXPECT_FALSE(
      llvm::cantFail(findTarget("cpu:x86-64-v4")).model.select.blocksOf8);
  EXPECT_FALSE(llvm::cantFail(findTarget("cuda")).model.select.blocksOf8);
}

TEST(Target, SaysWhetherItMultipliesTilesOfBf16) {
  EXPECT_TRUE(llvm::cantFail(findTarget("cpu:amx")).model.select.tiles);
  EXPECT_FALSE(llvm::cantFail(findTarget("cpu:x86-64-v4")).model.select.tiles);
}

TEST(Target, ModelsOfLevelsThatDifferInCodeAloneAreEqual) {
  EXPECT_EQ(llvm::cantFail(findTarget("cpu:x86-64-v2")).model,
            llvm::cantFail(findTarget("cpu:x86-64-v3")).model);
}

TEST(Target, ModelsThatDifferInOneNumberAreNotEqual) {
  DeviceModel first, second;
  EXPECT_EQ(first, second);
  for (auto option :
       {&FormKernelsOptions::movedBytes, &FormKernelsOptions::leastRows,
        &FormKernelsOptions::mostNests}) {
    second = first;
    second.formKernels.*option = 77;
    EXPECT_FALSE(first == second);
  }
  for (auto option : {&FuseOptions::mostWork, &FuseOptions::mostReads,
                      &FuseOptions::workAgain}) {
    second = first;
    second.fuse.*option = 500;
    EXPECT_FALSE(first == second);
  }
  second = first;
  second.splitReductions.mostParts = 500;
  EXPECT_FALSE(first == second);
  second = first;
  second.fuse.workTwice = 500;
  EXPECT_FALSE(first == second);
  for (auto pass : {&DeviceModel::padsRows, &DeviceModel::keepsEpilogues}) {
    second = first;
    second.*pass = true;
    EXPECT_FALSE(first == second);
  }
  second = first;
  second.gpu.emplace();
  EXPECT_FALSE(first == second);
  first = second;
  second.gpu->multiprocessors = 148;
  EXPECT_FALSE(first == second);
}

// What was measured on CPUs alone is done on them alone.
TEST(Target, GpusComputeNothingAgain) {
  EXPECT_GT(llvm::cantFail(findTarget("cpu")).model.fuse.workAgain, 0);
  EXPECT_EQ(llvm::cantFail(findTarget("cuda")).model.fuse.workAgain, 0);
}

// What depends on the number of multiprocessors follows from the model's.
TEST(Target, GpusHaveASumsPartsForEachMultiprocessor) {
  EXPECT_FALSE(llvm::cantFail(findTarget("cpu")).model.gpu);
  DeviceModel model = llvm::cantFail(findTarget("cuda")).model;
  EXPECT_EQ(model.gpu->blocksAtOnce(), 264);
  EXPECT_EQ(model.splitReductions.mostParts, 512);
  EXPECT_EQ(model.splitReductions.mostPoints, 512 * 256);
  EXPECT_EQ(model.formKernels.leastRows, 128);
  EXPECT_EQ(model.formKernels.scratchBytes, model.gpu->sharedBytes);
}

TEST(Target, SaysWhoseLibrariesDoProducts) {
  SelectOptions cpu = llvm::cantFail(findTarget("cpu")).model.select,
                cuda =
                    llvm::cantFail(findTarget("cuda", {"never"})).model.select;
  EXPECT_EQ(cpu.provider, "onednn");
  EXPECT_EQ(cpu.library, "auto");
  EXPECT_EQ(cuda.provider, "cuda");
  EXPECT_EQ(cuda.library, "never");
  EXPECT_EQ(llvm::toString(findTarget("cuda", {"often"}).takeError()),
            "libraries are 'often', expected auto, never or always");
}

/// A processor's library is known when a step is compiled.
TEST(Target, SaysWhatGoesWithProductsOnGpus) {
  auto epilogues = [](const char *target, LibraryUse libraries) {
    return llvm::cantFail(findTarget(target, libraries)).model.select.epilogues;
  };
  EXPECT_EQ(epilogues("cuda", {}), "all");
  EXPECT_EQ(epilogues("cuda", {"auto", "none"}), "none");
  EXPECT_EQ(epilogues("emulated", {"auto", "bias"}), "bias");
  EXPECT_EQ(epilogues("cpu", {"auto", "none"}), "all");
  EXPECT_EQ(llvm::toString(findTarget("cuda", {"auto", "some"}).takeError()),
            "epilogues are 'some', expected all, bias or none");
}

TEST(Target, KeepsItsName) {
  EXPECT_EQ(llvm::cantFail(findTarget("cpu:amx")).name, "cpu:amx");
  EXPECT_EQ(llvm::toString(findTarget("cpu:z80").takeError())
                .find("target is 'cpu:z80', expected cpu"),
            0u);
}
