// Collectives that only note what they are asked for.
#pragma once

#include "runtime/collectives/collectives.h"

#include <vector>

namespace gradus::test {

class RecordedCollectives final : public runtime::Collectives {
public:
  int rank() const override { return 0; }
  int ranks() const override { return 2; }

  uint64_t begin(const runtime::Collective &collective) override {
    begun.push_back(collective);
    return begun.size() - 1;
  }
  runtime::Status finish(uint64_t number) override {
    finished.push_back(number);
    return failure;
  }

  runtime::Status fail(const runtime::Status &status) override {
    if (failure.ok())
      failure = status;
    return failure;
  }
  void keep(std::shared_ptr<const void> memory) override {
    kept.push_back(std::move(memory));
  }

  std::vector<std::shared_ptr<const void>> kept;
  std::vector<runtime::Collective> begun;
  std::vector<uint64_t> finished;
  runtime::Status failure; // of all that are finished
};

} // namespace gradus::test
