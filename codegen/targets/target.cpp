// Finds targets by name, and has the models of devices.

#include "codegen/targets/target.h"

#include "codegen/gpu/lanes.h"

#include <tuple>

using namespace gradus;

// Structured bindings make a new option a compile error until it is compared.

static auto fieldsOf(const LowerScansOptions &options) {
  auto &[loops, pairs] = options;
  return std::tie(loops, pairs);
}

static auto fieldsOf(const SelectOptions &options) {
  auto &[library, narrow, provider, epilogues, winograd, blocksOf8, tiles] =
      options;
  return std::tie(library, narrow, provider, epilogues, winograd, blocksOf8,
                  tiles);
}

static auto fieldsOf(const LowerToKernelsOptions &options) {
  auto &[pairs, matmuls, threads, pooled] = options;
  return std::tie(pairs, matmuls, threads, pooled);
}

static auto fieldsOf(const LowerToNestsOptions &options) {
  auto &[lanes] = options;
  return std::tie(lanes);
}

static auto fieldsOf(const FuseOptions &options) {
  auto &[mostWork, mostReads, workTwice, workAgain] = options;
  return std::tie(mostWork, mostReads, workTwice, workAgain);
}

static auto fieldsOf(const SplitReductionsOptions &options) {
  auto &[mostParts, leastWork, mostPoints, mostRowBytes] = options;
  return std::tie(mostParts, leastWork, mostPoints, mostRowBytes);
}

static auto fieldsOf(const FormKernelsOptions &options) {
  auto &[tinyWork, smallWork, freedBytes, scratchBytes, blockWork, blockBytes,
         mostBlocks, movedBytes, leastRows, mostNests] = options;
  return std::tie(tinyWork, smallWork, freedBytes, scratchBytes, blockWork,
                  blockBytes, mostBlocks, movedBytes, leastRows, mostNests);
}

bool DeviceModel::operator==(const DeviceModel &other) const {
  return fieldsOf(lowerScans) == fieldsOf(other.lowerScans) &&
         fieldsOf(select) == fieldsOf(other.select) &&
         fieldsOf(lowerToKernels) == fieldsOf(other.lowerToKernels) &&
         fieldsOf(lowerToNests) == fieldsOf(other.lowerToNests) &&
         fieldsOf(fuse) == fieldsOf(other.fuse) &&
         fieldsOf(splitReductions) == fieldsOf(other.splitReductions) &&
         fieldsOf(formKernels) == fieldsOf(other.formKernels) &&
         padsRows == other.padsRows && keepsEpilogues == other.keepsEpilogues &&
         gpu == other.gpu;
}

/// The numbers are not measured: a launch in a graph takes about as long as a
/// block does so much work, a sum has 4 parts for each multiprocessor, of 256
/// points each (as gpu/lanes.h has columns), a row has one of them, and scratch
/// is shared memory.
static DeviceModel gpuModel() {
  DeviceModel model;
  const GpuModel &gpu = model.gpu.emplace();
  model.lowerScans.loops = false;
  model.lowerScans.pairs = false;
  model.select.provider = "cuda";
  model.lowerToKernels.pairs = false;
  model.lowerToKernels.pooled = false;
  model.lowerToNests.lanes = 0;
  model.padsRows = true;
  model.keepsEpilogues = true;
  model.fuse.workTwice = 24; // an exponential and a few more
  model.fuse.workAgain = 0;  // measured on CPUs alone
  model.splitReductions.mostParts = gpu.perMultiprocessor(4);
  model.splitReductions.mostPoints = gpu.perMultiprocessor(4) * kBlock;
  model.splitReductions.mostRowBytes = 0; // a row is for one multiprocessor
  model.formKernels.tinyWork = 100'000;
  model.formKernels.leastRows = gpu.perMultiprocessor(1);
  model.formKernels.mostNests = 64; // ptxas takes long for long functions
  model.formKernels.scratchBytes = gpu.sharedBytes;
  return model;
}

/// Whether vectors of 8 lanes reach the rate of the widest: they are these, or
/// the processor computes wider ones in halves.
static bool hasFastHalves(const CpuTarget &cpu) {
  return cpu.vectorBits < 512 || cpu.tune == "znver4";
}

static llvm::Expected<Target> targetOf(llvm::StringRef name) {
  if (name == "emulated" || name == "cuda" || name.starts_with("cuda:")) {
    llvm::Expected<GpuTarget> gpu = gpuTarget(name);
    if (!gpu)
      return gpu.takeError();
    return Target{"cuda", gpuModel(), std::move(*gpu)};
  }
  if (!name.starts_with("cpu"))
    return llvm::createStringError(
        "target is '" + name.str() +
        "', expected cpu (this machine), cpu:x86-64-v2 (v3, v4), cpu:amx, "
        "cuda, cuda:sm_80 (90, 100) or emulated");
  llvm::Expected<CpuTarget> cpu = cpuTarget(name);
  if (!cpu)
    return cpu.takeError();
  DeviceModel model;
  model.select.narrow = cpu->bf16;
  model.select.winograd = cpu->vectorBits >= 512;
  model.select.blocksOf8 = hasFastHalves(*cpu);
  model.select.tiles = llvm::is_contained(requiredFeatures(*cpu), "amx-bf16");
  model.lowerToNests.lanes = cpu->vectorBits < 512 ? 8 : 16;
  model.lowerScans.pairs = cpu->bf16;
  model.lowerToKernels.pairs = cpu->bf16;
  // A library has kernels for the tiles of AMX, which are far faster. Those of
  // f32 were measured on a processor without them alone.
  model.lowerToKernels.matmuls = cpu->bf16 && !model.select.tiles;
  return Target{name.str(), model, std::move(*cpu)};
}

llvm::Expected<Target> gradus::findTarget(llvm::StringRef name,
                                          const LibraryUse &libraries,
                                          uint32_t threads) {
  if (!llvm::is_contained({"auto", "never", "always"}, libraries.products))
    return llvm::createStringError("libraries are '" + libraries.products +
                                   "', expected auto, never or always");
  if (!llvm::is_contained({"all", "bias", "none"}, libraries.epilogues))
    return llvm::createStringError("epilogues are '" + libraries.epilogues +
                                   "', expected all, bias or none");
  llvm::Expected<Target> target = targetOf(name);
  if (!target)
    return target;
  target->model.select.library = libraries.products;
  target->model.lowerToKernels.matmuls &= libraries.products != "always";
  target->model.lowerToKernels.threads = threads;
  if (!target->cpu())
    target->model.select.epilogues = libraries.epilogues;
  return target;
}

llvm::Expected<std::vector<Target>>
gradus::findTargets(llvm::ArrayRef<std::string> names,
                    const LibraryUse &libraries, uint32_t threads) {
  std::vector<Target> targets;
  for (const std::string &name : names) {
    llvm::Expected<Target> target = findTarget(name, libraries, threads);
    if (!target)
      return target.takeError();
    auto same = llvm::find_if(targets, [&](const Target &other) {
      return other.name == target->name;
    });
    if (same == targets.end())
      targets.push_back(std::move(*target));
    else if (auto *gpu = std::get_if<GpuTarget>(&same->code))
      join(*gpu, std::get<GpuTarget>(target->code));
  }
  return targets;
}
