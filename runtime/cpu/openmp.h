// The ten OpenMP functions that oneDNN calls, on our pool.
//
// oneDNN's library for GNU OpenMP gets these instead of libgomp's when it is
// loaded (cpu/onednn_library.cpp), so that a process has one pool, never two.
// They are not exported: a program that uses OpenMP itself keeps its own.

#pragma once

#include "runtime/cpu/thread_pool.h"

#include <span>

namespace gradus::runtime {

/// While a scope is open, OpenMP regions of this thread run on `pool` and are
/// split into `logical` parts, at most as many as the pool has threads: parts
/// may wait for each other. Results depend only on `logical`. Without a scope,
/// parts run one after another.
class OpenMpScope {
public:
  OpenMpScope(ThreadPool &pool, int logical);
  ~OpenMpScope();
  OpenMpScope(const OpenMpScope &) = delete;
  OpenMpScope &operator=(const OpenMpScope &) = delete;

private:
  ThreadPool *savedPool_;
  int savedLogical_;
};

struct OpenMpFunction {
  const char *name;
  void *address;
};

std::span<const OpenMpFunction> openMpFunctions();

} // namespace gradus::runtime
