// The CPU as a device: threads, memory that the host shares, machine code.

#pragma once

#include "runtime/device/device.h"

namespace gradus::runtime {

class CpuDevice : public Device {
public:
  std::string name() const override { return "this processor"; }
  std::string kind() const override { return "cpu"; }
  std::string target() const override { return "cpu"; }
  std::string refusal(const artifact::Plan &plan) const override;
  StatusOr<std::unique_ptr<DevicePlan>>
  load(const Artifact &artifact, const artifact::Plan &plan,
       const LoadOptions &options) override;
};

} // namespace gradus::runtime
