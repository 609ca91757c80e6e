// Writes a library call as a command of the artifact, by its op.

#include "codegen/artifact/command_writer.h"
#include "codegen/artifact/traffic.h"
#include "runtime/library_text.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;
using Tables = flatbuffers::FlatBufferBuilder;

/// An empty list is left out.
static flatbuffers::Offset<flatbuffers::Vector<int64_t>>
integers(Tables &tables, DictionaryAttr from, StringRef key) {
  auto array = from.getAs<DenseI64ArrayAttr>(key);
  if (!array || array.empty())
    return 0;
  return tables.CreateVector(array.asArrayRef().data(), array.size());
}

//===-- ops ---------------------------------------------------------------===//

namespace {

/// Writes the table of each op of the schema, from what the call's `config` and
/// `epilogue` say.
struct OpTables {
  Tables &tables;
  plan::LibraryOp library;
  const CommandWriter &writer;

  flatbuffers::Offset<fb::MatmulCall> matmul() {
    auto epilogue = library.getEpilogue();
    return fb::CreateMatmulCall(tables, activation(),
                                epilogue ? writer.kernelNumber(*epilogue)
                                         : UINT32_MAX);
  }
  flatbuffers::Offset<fb::ConvolutionCall> convolution() {
    auto own = windows();
    return fb::CreateConvolutionCall(tables, own, activation());
  }
  flatbuffers::Offset<fb::ConvolutionBackwardDataCall>
  convolution_backward_data() {
    return fb::CreateConvolutionBackwardDataCall(tables, windows());
  }
  flatbuffers::Offset<fb::ConvolutionBackwardWeightsCall>
  convolution_backward_weights() {
    return fb::CreateConvolutionBackwardWeightsCall(tables, windows());
  }
  flatbuffers::Offset<fb::ReorderCall> reorder() {
    return fb::CreateReorderCall(tables);
  }
  flatbuffers::Offset<fb::AttentionCall> attention() {
    return fb::CreateAttentionCall(tables, scores());
  }
  flatbuffers::Offset<fb::AttentionBackwardCall> attention_backward() {
    return fb::CreateAttentionBackwardCall(tables, scores());
  }

private:
  fb::Activation activation() {
    auto name = library.getConfig().getAs<StringAttr>("activation");
    for (fb::Activation value : fb::EnumValuesActivation())
      if (name && name.getValue() == fb::EnumNameActivation(value))
        return value;
    return fb::Activation::none;
  }
  flatbuffers::Offset<fb::Windows> windows() {
    DictionaryAttr config = library.getConfig();
    auto strides = integers(tables, config, "strides");
    auto dilations = integers(tables, config, "dilations");
    auto begin = integers(tables, config, "pads_begin");
    auto end = integers(tables, config, "pads_end");
    return fb::CreateWindows(tables, strides, dilations, begin, end);
  }
  flatbuffers::Offset<fb::Scores> scores() {
    auto scale = library.getConfig().getAs<FloatAttr>("scale");
    return fb::CreateScores(tables, scale ? scale.getValueAsDouble() : 0,
                            library.getConfig().contains("causal"));
  }
};

/// A member of the schema's union of ops.
struct OpTable {
  fb::LibraryOp op = fb::LibraryOp::NONE;
  flatbuffers::Offset<void> table;
};

} // namespace

static OpTable opOf(Tables &tables, plan::LibraryOp library,
                    const CommandWriter &writer) {
  OpTables of{tables, library, writer};
#define GRADUS_LIBRARY_OP(name, Table)                                         \
  if (library.getCall() == #name)                                              \
    return {fb::LibraryOp::name, of.name().Union()};
#include "runtime/library_ops.def"
  return {}; // Calls were verified.
}

//===-- tensors and choices -----------------------------------------------===//

/// The layout of a call whose text gives none.
static DictionaryAttr denseLayoutOf(ShapedType type) {
  Builder builder(type.getContext());
  return builder.getDictionaryAttr(builder.getNamedAttr(
      "dims", builder.getDenseI64ArrayAttr(type.getShape())));
}

static flatbuffers::Offset<fb::LibraryTensor>
tensorOf(Tables &tables, plan::LibraryOp library, size_t index, Value value,
         CommandWriter &writer) {
  auto type = cast<ShapedType>(value.getType());
  auto layout = library.getLayouts().empty()
                    ? denseLayoutOf(type)
                    : cast<DictionaryAttr>(library.getLayouts()[index]);
  auto dims = integers(tables, layout, "dims");
  auto strides = integers(tables, layout, "strides");
  auto padded = integers(tables, layout, "padded_dims");
  auto blocks = integers(tables, layout, "inner_blocks");
  auto axes = integers(tables, layout, "inner_axes");
  return fb::CreateLibraryTensor(tables, writer.bufferOf(value),
                                 dtypeOf(type.getElementType()), dims, strides,
                                 padded, blocks, axes);
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
  OpTable op = opOf(tables, library, writer);
  auto measured = choicesOf(tables, choices);
  return fb::CreateLibraryCommand(tables, op.op, op.table, inputVector,
                                  outputVector, writer.scratchOf(library),
                                  /*logical_threads=*/0, measured);
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
