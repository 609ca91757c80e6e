// The command is changed as a table, and packed again.

#include "runtime/cuda/plain_product.h"

#include "runtime/flat.h"

namespace gradus::runtime::cuda {

namespace {

using artifact::LibraryCommand;
using artifact::LibraryCommandT;
using artifact::LibraryTensorT;

flatbuffers::DetachedBuffer packed(const LibraryCommandT &table) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(LibraryCommand::Pack(builder, &table));
  return builder.Release();
}

/// The sum of one operand: the other is a row or a column of ones.
LibraryCommandT sumOf(const LibraryCommandT &command) {
  LibraryCommandT sum = command;
  sum.outputs.erase(sum.outputs.begin());
  bool isOfWeights = sum.outputs[0]->dims.end()[-2] == 1;
  LibraryTensorT &ones = *sum.inputs[isOfWeights ? 0 : 1];
  ones.dims.end()[isOfWeights ? -2 : -1] = 1;
  ones.buffer = kOnesBuffer;
  ones.strides.clear(); // dense
  ones.padded_dims.clear();
  return sum;
}

} // namespace

bool sumsOperand(const LibraryCommand &command) {
  return command.op() == artifact::LibraryOp::matmul &&
         command.activation() == artifact::Activation::none &&
         countOf(command.outputs()) > 1;
}

std::vector<flatbuffers::DetachedBuffer>
plainProductOf(const LibraryCommand &command) {
  LibraryCommandT table;
  command.UnPackTo(&table);
  table.choices.clear();
  std::vector<flatbuffers::DetachedBuffer> commands;
  commands.push_back(packed(sumOf(table)));
  table.outputs.resize(1);
  commands.push_back(packed(table));
  return commands;
}

} // namespace gradus::runtime::cuda
