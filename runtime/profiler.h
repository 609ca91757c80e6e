// Names on the timeline of a profiler: ranges of NVTX, as Nsight Systems shows
// them.
//
// Who profiles names a library in NVTX_INJECTION64_PATH, which is opened the
// first time a range is asked for and gives us its functions, as it would to
// NVIDIA's header nvtx3. So nothing of NVIDIA is needed to build or to run, and
// where nobody listens a range is a comparison.

#pragma once

#include "runtime/artifact_generated.h"

#include <string>

namespace gradus::runtime {

/// Whether a profiler takes ranges of this process.
bool profilerListens();

/// What a thread does from here to the end of the scope, under the name that
/// `name()` makes, which is called only if somebody listens. Ranges nest.
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

/// "conv+bias (conv1, relu1)": what a command does, and the model's nodes.
std::string profilerName(const artifact::Command &command);

} // namespace gradus::runtime
