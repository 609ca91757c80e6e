// A session of the C API, and how its functions fail: for the sources that
// implement them.

#pragma once

#include "runtime/collectives/communication_thread.h"
#include "runtime/gradus.h"
#include "runtime/session/session.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gradus::runtime {

/// The bound addresses of a graph's inputs and outputs, for calls that give
/// none, and the arrays that a call's own addresses are merged into.
struct Bindings {
  std::vector<const void *> inputs, mergedInputs;
  std::vector<unsigned char> mergedFlags; // which are of the device's memory
  std::vector<void *> outputs, mergedOutputs;
};

/// Remembers the words of a failure, of the session or, if that is NULL, of the
/// thread; returns its code.
gradus_status report(const gradus_session *session, const Status &status);
gradus_status reject(const gradus_session *session, const std::string &words);

constexpr const char *kNoSession = "the session is NULL";

} // namespace gradus::runtime

struct gradus_session {
  /// Null: one process alone.
  std::shared_ptr<gradus::runtime::CommunicationThread> ranks;
  std::unique_ptr<gradus::runtime::Session> session;
  std::vector<gradus::runtime::Bindings> bindings; // one per graph
  mutable std::string error;
  /// The texts that were asked for, which live as long as the session.
  mutable std::map<std::string, std::string, std::less<>> metadata;
};
