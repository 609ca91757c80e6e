// Names on the timeline of a profiler: ranges of NVTX, as Nsight Systems shows
// them.
//
// The variable NVTX_INJECTION64_PATH names a profiler's library, which is
// opened when the first range begins and gives us its functions, as it would to
// NVIDIA's header nvtx3. So nothing of NVIDIA is needed to build or to run, and
// without a profiler a range costs a comparison.

#pragma once

#include "runtime/artifact_generated.h"

#include <string>

namespace gradus::runtime {

/// Whether a profiler receives ranges of this process.
bool profilerListens();

/// Names the work of a thread from here to the end of the scope; `name()` is
/// called only if a profiler listens. Ranges nest.
class ProfilerRange {
public:
  template <typename Name> explicit ProfilerRange(Name name) {
    if (profilerListens())
      push(name());
  }
  ~ProfilerRange() {
    if (isOpen_)
      pop();
  }
  ProfilerRange(const ProfilerRange &) = delete;

private:
  void push(const std::string &name);
  void pop();
  bool isOpen_ = false;
};

/// A command's name and the model's nodes: "conv+bias (conv1, relu1)".
std::string profilerName(const artifact::Command &command);

} // namespace gradus::runtime
