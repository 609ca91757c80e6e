// What a plan is made for: a device, what passes may ask of it, and how its
// code is emitted.
#pragma once

#include "codegen/cpu_target.h"

namespace gradus {

/// What passes ask of a device. Targets with equal models run the same
/// commands: their plans differ in machine code alone.
struct DeviceModel {
  /// It has instructions for products of bf16, so the library's are fast.
  bool narrowProducts = true;

  bool operator==(const DeviceModel &) const = default;
};

struct Target {
  std::string name; // as asked for
  DeviceModel model;
  CpuTarget cpu;
};

/// A target by its name: see cpuTarget.
llvm::Expected<Target> findTarget(llvm::StringRef name);

} // namespace gradus
