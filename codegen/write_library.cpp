// Writes a library call as a command of the artifact.

#include "codegen/command_writer.h"
#include "codegen/traffic.h"
#include "runtime/library_text.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;
using Tables = flatbuffers::FlatBufferBuilder;

static flatbuffers::Offset<flatbuffers::Vector<int64_t>>
integers(Tables &tables, DictionaryAttr from, StringRef key) {
  std::vector<int64_t> values;
  if (auto array = from.getAs<DenseI64ArrayAttr>(key))
    values.assign(array.asArrayRef().begin(), array.asArrayRef().end());
  return tables.CreateVector(values);
}

static fb::LibraryOp opOf(plan::LibraryOp library) {
  for (fb::LibraryOp op : fb::EnumValuesLibraryOp())
    if (library.getCall() == fb::EnumNameLibraryOp(op))
      return op;
  return fb::LibraryOp::matmul;
}

static fb::Activation activationOf(plan::LibraryOp library) {
  auto name = library.getConfig().getAs<StringAttr>("activation");
  for (fb::Activation value : fb::EnumValuesActivation())
    if (name && name.getValue() == fb::EnumNameActivation(value))
      return value;
  return fb::Activation::none;
}

static double numberIn(DictionaryAttr from, StringRef key) {
  auto number = from.getAs<FloatAttr>(key);
  return number ? number.getValueAsDouble() : 0;
}

//===-- tensors and choices -----------------------------------------------===//

static flatbuffers::Offset<fb::LibraryTensor>
tensorOf(Tables &tables, plan::LibraryOp library, size_t index, Value value,
         CommandWriter &writer) {
  auto layout = cast<DictionaryAttr>(library.getLayouts()[index]);
  auto dims = integers(tables, layout, "dims");
  auto strides = integers(tables, layout, "strides");
  auto padded = integers(tables, layout, "padded_dims");
  auto blocks = integers(tables, layout, "inner_blocks");
  auto axes = integers(tables, layout, "inner_axes");
  Type element = cast<ShapedType>(value.getType()).getElementType();
  return fb::CreateLibraryTensor(tables, writer.bufferOf(value),
                                 dtypeOf(element), dims, strides, padded,
                                 blocks, axes);
}

static flatbuffers::Offset<
    flatbuffers::Vector<flatbuffers::Offset<fb::LibraryChoice>>>
choicesOf(Tables &tables, const std::vector<TunedAlgorithm> &choices) {
  if (choices.empty())
    return 0;
  std::vector<flatbuffers::Offset<fb::LibraryChoice>> written;
  for (const TunedAlgorithm &choice : choices)
    written.push_back(fb::CreateLibraryChoiceDirect(tables, choice.card.c_str(),
                                                    choice.library.c_str(),
                                                    choice.algorithm.c_str()));
  return tables.CreateVector(written);
}

//===-- the command -------------------------------------------------------===//

static flatbuffers::Offset<fb::LibraryCommand>
commandOf(Tables &tables, plan::LibraryOp library,
          const std::vector<TunedAlgorithm> &choices, CommandWriter &writer) {
  std::vector<flatbuffers::Offset<fb::LibraryTensor>> inputs, outputs;
  for (auto [index, operand] : llvm::enumerate(library.getOperands()))
    inputs.push_back(tensorOf(tables, library, index, operand, writer));
  for (auto [index, result] : llvm::enumerate(library.getResults()))
    outputs.push_back(
        tensorOf(tables, library, inputs.size() + index, result, writer));
  auto inputVector = tables.CreateVector(inputs);
  auto outputVector = tables.CreateVector(outputs);
  DictionaryAttr config = library.getConfig();
  auto strides = integers(tables, config, "strides");
  auto dilations = integers(tables, config, "dilations");
  auto begin = integers(tables, config, "pads_begin");
  auto end = integers(tables, config, "pads_end");
  auto measured = choicesOf(tables, choices);
  return fb::CreateLibraryCommand(
      tables, opOf(library), inputVector, outputVector, strides, dilations,
      begin, end, activationOf(library), writer.scratchOf(library),
      /*logical_threads=*/0, numberIn(config, "scale"),
      config.contains("causal"), measured,
      library.getEpilogue() ? writer.kernelNumber(*library.getEpilogue())
                            : UINT32_MAX);
}

/// The measured algorithms for a call, which is identified by its table.
static std::vector<TunedAlgorithm> choicesFor(plan::LibraryOp library,
                                              CommandWriter &writer) {
  const Tuning &tuning = writer.tuning();
  if (tuning.empty())
    return {};
  Tables alone;
  alone.Finish(commandOf(alone, library, {}, writer));
  auto found = tuning.find(runtime::libraryText(
      *flatbuffers::GetRoot<fb::LibraryCommand>(alone.GetBufferPointer())));
  return found == tuning.end() ? std::vector<TunedAlgorithm>() : found->second;
}

void plan::LibraryOp::write(CommandWriter &writer) {
  writer.add(
      getLoc(),
      commandOf(writer.tables(), *this, choicesFor(*this, writer), writer),
      {getLabel().value_or(getCall()).str(), uint64_t(getFlops()),
       trafficOf(*this)});
}
