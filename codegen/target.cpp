// From names to targets, and the models of devices.

#include "codegen/target.h"

using namespace gradus;

llvm::Expected<Target> gradus::findTarget(llvm::StringRef name) {
  llvm::Expected<CpuTarget> cpu = cpuTarget(name);
  if (!cpu)
    return cpu.takeError();
  DeviceModel model;
  model.narrowProducts = cpu->bf16;
  return Target{name.str(), model, std::move(*cpu)};
}
