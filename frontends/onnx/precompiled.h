// The headers that almost every source of the importer includes.
#pragma once
#include "frontends/onnx/file/onnx.pb.h"
#include "ir/gradus.h"

#include "absl/status/statusor.h"
