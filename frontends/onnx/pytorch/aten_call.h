// Reads the note that torch.export leaves beside a node: the call of PyTorch's
// own operator (ATen) that the node implements. It shows what the node keeps
// from gradients.
#pragma once

#include "frontends/onnx/file/node.h"

#include <optional>

namespace gradus::onnx {

/// The key of the note.
inline constexpr llvm::StringLiteral kCall = "pkg.torch.onnx.fx_node";

/// Whether the call is `x.detach()`.
bool isDetach(const Node &node);

/// The index of an embedding whose row gets no gradient (`padding_idx`);
/// nothing if there is none.
std::optional<int64_t> paddingIndex(const Node &node);

} // namespace gradus::onnx
