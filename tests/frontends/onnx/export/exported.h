// Model files as they are read, and as they are exported.

#pragma once

#include "frontends/onnx/export/export.h"
#include "frontends/onnx/file/onnx.pb.h"

#include <gtest/gtest.h>

#include <fstream>

namespace gradus::testing {

inline ::onnx::ModelProto read(const std::string &path) {
  ::onnx::ModelProto model;
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(model.ParseFromIstream(&stream));
  return model;
}

inline ::onnx::ModelProto parsed(const ExportedOnnx &exported) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(exported.model));
  return model;
}

} // namespace gradus::testing
