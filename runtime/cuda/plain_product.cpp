// Changes a copy of the command's table, and packs it again.

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

/// The sum of one operand as a matmul: the other operand is ones.
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

/// Reduces a command to the matmul that an epilogue reads.
void makePlain(LibraryCommandT &command) {
  LibraryTensorT &result = *command.outputs[0];
  if (result.dtype != artifact::DType::f32)
    result.buffer = kProductBuffer;
  result.dtype = artifact::DType::f32;
  command.op.Asmatmul()->activation = artifact::Activation::none;
  command.inputs.resize(2);
}

} // namespace

bool sumsOperand(const LibraryCommand &command) {
  const artifact::MatmulCall *matmul = command.op_as_matmul();
  return matmul && matmul->activation() == artifact::Activation::none &&
         countOf(command.outputs()) > 1;
}

bool hasEpilogue(const LibraryCommand &command) {
  const artifact::MatmulCall *matmul = command.op_as_matmul();
  return matmul && (matmul->activation() != artifact::Activation::none ||
                    countOf(command.inputs()) > 2);
}

std::vector<flatbuffers::DetachedBuffer>
plainProductOf(const LibraryCommand &command) {
  LibraryCommandT table;
  command.UnPackTo(&table);
  table.choices.clear();
  std::vector<flatbuffers::DetachedBuffer> commands;
  if (sumsOperand(command))
    commands.push_back(packed(sumOf(table)));
  else
    makePlain(table);
  table.outputs.resize(1);
  commands.push_back(packed(table));
  return commands;
}

} // namespace gradus::runtime::cuda
