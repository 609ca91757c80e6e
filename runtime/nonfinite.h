// Finds the command of a step that first wrote a number that is none.
//
// Runs command by command and looks at every float that each one wrote: for
// people who look for a mistake, not for training.

#pragma once

#include "runtime/loaded_plan.h"
#include "runtime/tensor_type.h"

#include <string>

namespace gradus::runtime {

class NonfiniteSearch {
public:
  /// The plan must outlive this.
  explicit NonfiniteSearch(LoadedPlan &plan);

  /// Runs a graph once. The step runs to its end in any case.
  Status run(size_t graph);
  /// The first NaN of that run in words, and the first infinity where one came
  /// before it; empty where all was finite.
  std::string found() const;
  /// The name of the first state that is not finite now, and was before that
  /// run; empty: none.
  std::string spoiledState() const;

private:
  std::string inputsWords(size_t graph, bool infinity) const;
  std::vector<std::string> statesWith(bool infinity) const;
  bool wrote(const artifact::Command &command, bool infinity) const;
  bool holds(uint32_t buffer, bool infinity) const;
  std::string commandWords(size_t graph, size_t command) const;
  void note(const std::string &where, bool infinity);

  LoadedPlan &plan_;
  std::vector<uint8_t *> addresses_;
  std::string nan_, infinity_;
  std::vector<std::string> before_[2]; // states with NaN, with an infinity
};

/// The numbers of the buffers that a command writes. `kernels` may be null
/// where no command calls one.
std::vector<uint32_t> buffersWritten(const artifact::Command &command,
                                     const artifact::CodeHeader *kernels);

/// Whether `bytes` of elements hold a NaN or, if `infinity`, an infinity; never
/// for integers.
bool holdsNonfinite(DType dtype, const uint8_t *data, size_t bytes,
                    bool infinity);

} // namespace gradus::runtime
