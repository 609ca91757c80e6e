// From names to targets, and the models of devices.

#include "codegen/target.h"

#include <tuple>

using namespace gradus;

// A new option does not compile here until it is compared as well.

static auto fieldsOf(const SelectOptions &options) {
  auto &[library, narrow, provider] = options;
  return std::tie(library, narrow, provider);
}

static auto fieldsOf(const SplitReductionsOptions &options) {
  auto &[mostParts, leastWork] = options;
  return std::tie(mostParts, leastWork);
}

static auto fieldsOf(const FormKernelsOptions &options) {
  auto &[tinyWork, smallWork, freedBytes, scratchBytes, blockWork, blockBytes,
         mostBlocks, movedBytes] = options;
  return std::tie(tinyWork, smallWork, freedBytes, scratchBytes, blockWork,
                  blockBytes, mostBlocks, movedBytes);
}

bool DeviceModel::operator==(const DeviceModel &other) const {
  return fieldsOf(select) == fieldsOf(other.select) &&
         fieldsOf(splitReductions) == fieldsOf(other.splitReductions) &&
         fieldsOf(formKernels) == fieldsOf(other.formKernels);
}

llvm::Expected<Target> gradus::findTarget(llvm::StringRef name) {
  llvm::Expected<CpuTarget> cpu = cpuTarget(name);
  if (!cpu)
    return cpu.takeError();
  DeviceModel model;
  model.select.narrow = cpu->bf16;
  return Target{name.str(), model, std::move(*cpu)};
}
