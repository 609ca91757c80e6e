// The ops of library commands for tests: in tables that can be changed.
#pragma once

#include "runtime/artifact_generated.h"

namespace gradus::artifact {

/// Returns an op with an empty table, windows and scores included.
inline LibraryOpUnion opOf(LibraryOp op) {
  LibraryOpUnion made;
  auto set = [&](auto call) {
    if constexpr (requires { call.windows; })
      call.windows = std::make_unique<WindowsT>();
    if constexpr (requires { call.scores; })
      call.scores = std::make_unique<ScoresT>();
    made.Set(std::move(call));
  };
  switch (op) {
#define GRADUS_LIBRARY_OP(name, Table)                                         \
  case LibraryOp::name:                                                        \
    set(Table##T());                                                           \
    break;
#include "runtime/library_ops.def"
  default:
    made.type = op;
  }
  return made;
}

/// Calls `visit` with the table of a command's op.
template <typename Command, typename Visit>
void visitOp(Command &command, Visit visit) {
  switch (command.op.type) {
#define GRADUS_LIBRARY_OP(name, Table)                                         \
  case LibraryOp::name:                                                        \
    return visit(*command.op.As##name());
#include "runtime/library_ops.def"
  default:
    return;
  }
}

/// The windows of a convolution.
inline WindowsT &windowsOf(LibraryCommandT &command) {
  WindowsT *windows = nullptr;
  visitOp(command, [&](auto &call) {
    if constexpr (requires { call.windows; })
      windows = call.windows.get();
  });
  return *windows;
}
inline const WindowsT &windowsOf(const LibraryCommandT &command) {
  return windowsOf(const_cast<LibraryCommandT &>(command));
}

/// The scores of attention.
inline ScoresT &scoresOf(LibraryCommandT &command) {
  ScoresT *scores = nullptr;
  visitOp(command, [&](auto &call) {
    if constexpr (requires { call.scores; })
      scores = call.scores.get();
  });
  return *scores;
}
inline const ScoresT &scoresOf(const LibraryCommandT &command) {
  return scoresOf(const_cast<LibraryCommandT &>(command));
}

/// The activation of a matmul or convolution.
inline Activation &activationOf(LibraryCommandT &command) {
  Activation *activation = nullptr;
  visitOp(command, [&](auto &call) {
    if constexpr (requires { call.activation; })
      activation = &call.activation;
  });
  return *activation;
}
inline Activation activationOf(const LibraryCommandT &command) {
  return activationOf(const_cast<LibraryCommandT &>(command));
}

} // namespace gradus::artifact
