// What torch.export notes beside a node: the call of PyTorch's own operator
// (ATen) that it stands for. By it a node may say what it keeps from gradients.
#pragma once

#include "frontends/onnx/node.h"

#include <optional>

namespace gradus::onnx {

/// Whether it is `x.detach()`.
bool isDetach(const Node &node);

/// Of an embedding, the index whose row gets no gradient (`padding_idx`);
/// nothing where it has none.
std::optional<int64_t> paddingIndex(const Node &node);

} // namespace gradus::onnx
