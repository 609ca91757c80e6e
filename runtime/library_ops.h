// The ops of library commands, by kind, and what several kinds have.
#pragma once

#include "runtime/artifact_generated.h"

namespace gradus::runtime {

/// Calls `visit` with the table of a command's op, or `otherwise` for an op
/// that this code does not know, and returns what that returns.
template <typename Otherwise, typename Visit>
auto visitLibraryOp(const artifact::LibraryCommand &command,
                    Otherwise otherwise, Visit visit) -> decltype(otherwise()) {
  if (!command.op())
    return otherwise();
  switch (command.op_type()) {
#define GRADUS_LIBRARY_OP(name, Table)                                         \
  case artifact::LibraryOp::name:                                              \
    return visit(*command.op_as_##name());
#include "runtime/library_ops.def"
  default:
    return otherwise();
  }
}

/// Returns the windows of a convolution or of a gradient of one; null for other
/// ops.
inline const artifact::Windows *
windowsOf(const artifact::LibraryCommand &command) {
  auto none = []() -> const artifact::Windows * { return nullptr; };
  return visitLibraryOp(command, none, [&](const auto &call) {
    if constexpr (requires { call.windows(); })
      return call.windows();
    else
      return none();
  });
}

/// Returns the scores of attention or of its gradient; null for other ops.
inline const artifact::Scores *
scoresOf(const artifact::LibraryCommand &command) {
  auto none = []() -> const artifact::Scores * { return nullptr; };
  return visitLibraryOp(command, none, [&](const auto &call) {
    if constexpr (requires { call.scores(); })
      return call.scores();
    else
      return none();
  });
}

/// Returns the activation behind an op; none if it has none.
inline artifact::Activation
activationOf(const artifact::LibraryCommand &command) {
  auto none = [] { return artifact::Activation::none; };
  return visitLibraryOp(command, none, [&](const auto &call) {
    if constexpr (requires { call.activation(); })
      return call.activation();
    else
      return none();
  });
}

} // namespace gradus::runtime
