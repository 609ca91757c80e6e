// The adder of tests/runtime/test_artifact.h with a plan for GPUs.
#pragma once

#include "runtime/cuda/cuda_device.h"
#include "tests/runtime/cuda/adder_on_card.h"

namespace gradus::runtime::cuda::test {

/// The adder with a plan for GPUs.
struct GpuAdder {
  GpuAdder() {
    adder.addGpuPlan();
    adder.code.resize((adder.code.size() + 15) / 16 * 16); // behind the CPU's
    emulated::Entry entries[] = {flatAdd, count};
    for (size_t i = 0; i < 2; ++i) {
      auto jump = jumpTo(entries[i]);
      plan().images[2]->kernels[i]->entry = adder.code.size();
      adder.code.insert(adder.code.end(), jump.begin(), jump.end());
      adder.kernels.kernels[i]->gpu->threads = 32;
    }
    adder.kernels.kernels[0]->gpu->piece = kPiece;
    adder.kernels.kernels[1]->gpu->scratch = {8};
    adder.kernels.kernels[1]->outputs = 0;
  }
  artifact::PlanT &plan() { return *adder.header.plans[1]; }
  std::shared_ptr<const Artifact> artifact() const {
    auto read = Artifact::fromBytes(adder.bytes(), "adder");
    EXPECT_TRUE(read.ok()) << read.status();
    return *read;
  }
  /// Its images are of these architectures; the last is PTX.
  std::string chosenFor(int capability, std::vector<std::string> names) {
    auto model = std::move(plan().images[0]);
    plan().images.clear();
    for (const std::string &name : names) {
      plan().images.push_back(std::make_unique<artifact::CodeImageT>(*model));
      plan().images.back()->architecture = name;
    }
    plan().images.back()->kind = artifact::ImageKind::ptx;
    auto read = artifact();
    const auto *image =
        chooseImage(*read->header().plans()->Get(1), capability);
    return !image ? "none"
                  : (image->kind() == artifact::ImageKind::ptx ? "PTX " : "") +
                        image->architecture()->str();
  }

  gradus::test::TestArtifact adder;
};

} // namespace gradus::runtime::cuda::test
