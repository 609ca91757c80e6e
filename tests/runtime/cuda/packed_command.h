// Library commands for tests, as artifacts hold them.
#pragma once

#include "runtime/artifact/artifact.h"
#include "tests/runtime/library_ops.h"

#include <vector>

namespace gradus::runtime::cuda {

/// A dense tensor, or one with these strides.
inline artifact::LibraryTensorT tensorOf(artifact::DType dtype,
                                         std::vector<int64_t> dims,
                                         std::vector<int64_t> strides = {}) {
  artifact::LibraryTensorT tensor;
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.strides = std::move(strides);
  return tensor;
}

inline artifact::LibraryCommandT
commandOf(artifact::LibraryOp op, std::vector<artifact::LibraryTensorT> inputs,
          std::vector<artifact::LibraryTensorT> outputs) {
  artifact::LibraryCommandT command;
  command.op = opOf(op);
  for (auto &tensor : inputs)
    command.inputs.push_back(
        std::make_unique<artifact::LibraryTensorT>(std::move(tensor)));
  for (auto &tensor : outputs)
    command.outputs.push_back(
        std::make_unique<artifact::LibraryTensorT>(std::move(tensor)));
  return command;
}

class PackedCommand {
public:
  explicit PackedCommand(const artifact::LibraryCommandT &command) {
    builder_.Finish(artifact::LibraryCommand::Pack(builder_, &command));
  }
  const artifact::LibraryCommand &operator*() const {
    return *flatbuffers::GetRoot<artifact::LibraryCommand>(
        builder_.GetBufferPointer());
  }

private:
  flatbuffers::FlatBufferBuilder builder_;
};

} // namespace gradus::runtime::cuda
