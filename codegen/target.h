// What a plan is made for: a device, what passes may ask of it, and how its
// code is emitted.
#pragma once

#include "codegen/cpu_target.h"
#include "codegen/passes.h"

namespace gradus {

/// A device as passes are told of it: by their options, which are a CPU's as
/// they stand in passes.td. Targets with equal models run the same commands:
/// their plans differ in machine code alone.
struct DeviceModel {
  SelectOptions select;
  SplitReductionsOptions splitReductions;
  FormKernelsOptions formKernels;

  bool operator==(const DeviceModel &other) const;
};

struct Target {
  std::string name; // as asked for
  DeviceModel model;
  CpuTarget cpu;
};

/// A target by its name: see cpuTarget.
llvm::Expected<Target> findTarget(llvm::StringRef name);

} // namespace gradus
