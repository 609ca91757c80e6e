// The ten OpenMP functions that oneDNN calls, on our pool.
//
// oneDNN's library for GNU OpenMP gets these in place of libgomp's when it is
// loaded (cpu/onednn_library.cpp), so that a process has one pool, never two.
// They are not exported: a program that uses OpenMP itself keeps its own.

#pragma once

#include "runtime/cpu/thread_pool.h"

#include <span>

namespace gradus::runtime {

/// While one lives, what this thread asks of OpenMP runs on `pool` and is cut
/// into `logical` parts, at most as many as the pool has threads: parts may
/// wait for each other. Results depend on `logical` alone. Without one, parts
/// run one after another.
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
