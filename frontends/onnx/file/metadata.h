// Reads notes that tools leave in a model: pairs of texts at graphs, nodes and
// values.
#pragma once

#include "frontends/onnx/file/onnx.pb.h"

#include "llvm/ADT/StringRef.h"

namespace gradus::onnx {

/// The note under a key; empty if there is none.
template <typename Proto>
llvm::StringRef metadata(const Proto &proto, llvm::StringRef key) {
  for (const auto &entry : proto.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return {};
}

} // namespace gradus::onnx
