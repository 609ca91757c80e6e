// The target of a plan: a device, the options that it gives to passes, and the
// emitter of its code.
#pragma once

#include "codegen/cpu/target.h"
#include "codegen/gpu/images.h"
#include "codegen/gpu/model.h"
#include "codegen/plan/passes.h"

#include <optional>
#include <variant>

namespace gradus {

/// A device as seen by passes: their options, whose defaults in passes.td are
/// those of a CPU. Targets with equal models run the same commands; their plans
/// differ only in machine code. What passes assume for all devices is a
/// constant of theirs.
struct DeviceModel {
  LowerScansOptions lowerScans;
  SelectOptions select;
  LowerToKernelsOptions lowerToKernels;
  LowerToNestsOptions lowerToNests;
  FuseOptions fuse;
  SplitReductionsOptions splitReductions;
  FormKernelsOptions formKernels;
  bool padsRows = false;       // pad-rows is one of the passes
  bool keepsEpilogues = false; // keep-epilogues too
  std::optional<GpuModel> gpu; // none for a CPU

  bool operator==(const DeviceModel &other) const;
};

struct Target {
  std::string name; // as requested; "cuda" for all GPUs
  DeviceModel model;
  std::variant<CpuTarget, GpuTarget> code;

  const CpuTarget *cpu() const { return std::get_if<CpuTarget>(&code); }
};

/// The parts of a step that libraries compute.
struct LibraryUse {
  /// For matmul and convolution: "auto" (if the library is faster), "never" or
  /// "always".
  std::string products = "auto";
  /// The epilogues of library calls on GPUs: "all", "bias" or "none".
  std::string epilogues = "all";
};

/// The number of threads that steps are planned for unless somebody says so.
inline const uint32_t kPlannedThreads =
    static_cast<uint32_t>(LowerToKernelsOptions().threads);

/// Finds a target by its name: see cpuTarget and gpuTarget. Large kernels are
/// divided for `threads`.
llvm::Expected<Target> findTarget(llvm::StringRef name,
                                  const LibraryUse &libraries = {},
                                  uint32_t threads = kPlannedThreads);

/// Finds the targets of several names, without duplicates. GPUs are one target:
/// the same plan runs on all of them, and on the emulated GPU.
llvm::Expected<std::vector<Target>>
findTargets(llvm::ArrayRef<std::string> names, const LibraryUse &libraries = {},
            uint32_t threads = kPlannedThreads);

} // namespace gradus
