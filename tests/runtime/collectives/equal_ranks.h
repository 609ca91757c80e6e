// Two ranks that have the same values: what one of them sees, without the
// other.
#pragma once

#include "runtime/collectives/collectives.h"
#include "runtime/collectives/combine.h"

#include <vector>

namespace gradus::test {

/// A sum is added when it is waited for, also where groups would combine, so
/// that all of its bytes are read and written then, as by the thread that
/// communicates.
class EqualRanks final : public runtime::Collectives {
public:
  int rank() const override { return 0; }
  int ranks() const override { return 2; }

  uint64_t begin(const runtime::Collective &collective) override {
    begun_.push_back(collective);
    return begun_.size() - 1;
  }
  runtime::Status finish(uint64_t number) override {
    const runtime::Collective &begun = begun_[number];
    if (!begun.groups)
      add(begun, begun.data, begun.count);
    else // The tensors of groups lie apart.
      for (const runtime::Member &member : begun.groups->members)
        add(begun, member.data, member.count);
    return runtime::Status();
  }

  runtime::Status fail(const runtime::Status &status) override {
    return status;
  }
  void keep(std::shared_ptr<const void>) override {}

private:
  static void add(const runtime::Collective &begun, void *data,
                  uint64_t count) {
    runtime::combine(begun.reduction, begun.type, data, data, data, count);
  }

  std::vector<runtime::Collective> begun_;
};

} // namespace gradus::test
