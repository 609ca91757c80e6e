// What a plan is made for: a device, what passes may ask of it, and how its
// code is emitted.
#pragma once

#include "codegen/cpu_target.h"
#include "codegen/gpu_images.h"
#include "codegen/gpu_model.h"
#include "codegen/passes.h"

#include <optional>
#include <variant>

namespace gradus {

/// A device as passes are told of it: by their options, which are a CPU's as
/// they stand in passes.td. Targets with equal models run the same commands:
/// their plans differ in machine code alone. What passes take to be the same on
/// all devices is a constant of theirs.
struct DeviceModel {
  SelectOptions select;
  FuseOptions fuse;
  SplitReductionsOptions splitReductions;
  FormKernelsOptions formKernels;
  bool mergesRows = false;     // merge-rows is one of the passes
  bool padsRows = false;       // pad-rows too
  bool savesTraffic = false;   // and narrow-results and join-sums
  bool keepsEpilogues = false; // and keep-epilogues
  std::optional<GpuModel> gpu; // none for a CPU

  bool operator==(const DeviceModel &other) const;
};

struct Target {
  std::string name; // as asked for; "cuda" for all GPUs
  DeviceModel model;
  std::variant<CpuTarget, GpuTarget> code;

  const CpuTarget *cpu() const { return std::get_if<CpuTarget>(&code); }
};

/// The parts of a step that libraries compute.
struct LibraryUse {
  /// The products: "auto" (those they are faster with), "never" or "always".
  std::string products = "auto";
  /// The epilogues of products on GPUs: "all", "bias" or "none".
  std::string epilogues = "all";
};

/// A target by its name: see cpuTarget and gpuTarget.
llvm::Expected<Target> findTarget(llvm::StringRef name,
                                  const LibraryUse &libraries = {});

/// Those of several names, each once. GPUs are one target: the same plan runs
/// on all of them, the emulated one too.
llvm::Expected<std::vector<Target>>
findTargets(llvm::ArrayRef<std::string> names,
            const LibraryUse &libraries = {});

} // namespace gradus
