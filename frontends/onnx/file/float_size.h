// The bytes of an element of ONNX's float types.
#pragma once

#include "frontends/onnx/file/onnx.pb.h"

namespace gradus::onnx {

/// Returns 0 if the element type is not a float that we have.
inline size_t floatSize(const ::onnx::TensorProto &tensor) {
  switch (tensor.data_type()) {
  case ::onnx::TensorProto::FLOAT:
    return 4;
  case ::onnx::TensorProto::DOUBLE:
    return 8;
  case ::onnx::TensorProto::FLOAT16:
  case ::onnx::TensorProto::BFLOAT16:
    return 2;
  }
  return 0;
}

} // namespace gradus::onnx
