// The names of sizes that a model leaves open: `--dim NAME=32`.
#pragma once

#include "frontends/onnx/file/onnx.pb.h"
#include "messages/message.h"

namespace gradus::onnx {

/// The dimension's own name, or `<input>.<axis>`; empty if the size is known.
inline std::string
sizeName(const ::onnx::TensorShapeProto::Dimension &dimension,
         const std::string &input, size_t axis) {
  if (dimension.has_dim_value() && dimension.dim_value() > 0)
    return "";
  return dimension.dim_param().empty() ? message(input, ".", axis)
                                       : dimension.dim_param();
}

} // namespace gradus::onnx
