// A prepared call of oneDNN: descriptors, primitive, memories, arguments.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/cpu/onednn_library.h"
#include "runtime/cpu/thread_pool.h"

#include "runtime/status.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gradus::runtime {

class OneDnnCall {
public:
  /// Makes the primitive for a verified command, split into `logical` parts;
  /// `buffers[i]` is the address of buffer i of the plan.
  static StatusOr<std::unique_ptr<OneDnnCall>>
  create(const artifact::LibraryCommand &command,
         const std::vector<uint8_t *> &buffers, ThreadPool &pool, int logical);
  ~OneDnnCall();

  /// The bytes of scratch that the call needs; call setScratch before the first
  /// run.
  size_t scratchSize() const { return scratchSize_; }
  Status setScratch(void *scratch);

  Status run();

private:
  OneDnnCall(const OneDnn &library, ThreadPool &pool, int logical)
      : library_(library), pool_(pool), logical_(logical) {}

  Status prepare(const artifact::LibraryCommand &command,
                 const std::vector<uint8_t *> &buffers);
  Status addMemory(const_dnnl_memory_desc_t description, int argument,
                   void *data);

  const OneDnn &library_;
  ThreadPool &pool_;
  int logical_;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl_exec_arg_t> arguments_; // the memories are ours
  size_t scratchSize_ = 0;
  bool hasRun_ = false;
};

} // namespace gradus::runtime
