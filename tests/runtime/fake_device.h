// A device for tests: the processor's plan behind memory that the host cannot
// reach, which runs later than it is told to. Who holds on to a pointer, or
// does not wait, gets other bytes than on the processor.
#pragma once

#include "runtime/device/device.h"

#include <memory>
#include <string>

namespace gradus::test {

class FakeDevice : public runtime::Device {
public:
  std::string name() const override { return "the fake card"; }
  std::string kind() const override { return "cpu"; }
  std::string target() const override { return "cpu"; }
  std::string refusal(const artifact::Plan &) const override { return ""; }
  runtime::StatusOr<std::unique_ptr<runtime::DevicePlan>>
  load(const runtime::Artifact &artifact, const artifact::Plan &plan,
       const runtime::LoadOptions &options) override;

  /// From then on nothing runs and nothing can be read.
  bool lost = false;
  /// After so many steps it is lost; -1: never.
  int lostAfter = -1;
};

/// "cpu" or "fake": what tests of all devices run on.
std::shared_ptr<runtime::Device> deviceOf(const std::string &name);

} // namespace gradus::test
