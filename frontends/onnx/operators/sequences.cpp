// ONNX ops on sequences of tensors, such as those that loops fill. Ops that
// split a tensor into a sequence or join one are with Split and Concat.

#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

absl::Status sequenceEmpty(Importer &importer, const Node &node) {
  return importer.defineSequence(node, 0, {});
}

/// An index in a sequence of `count`, which may count from the end.
absl::StatusOr<int64_t> placeIn(Importer &importer, const Node &node, int input,
                                int64_t count, int64_t last) {
  if (node.input(input).empty())
    return last;
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> places,
                          importer.integers(node, input, "position"));
  int64_t place = places.size() == 1 ? places[0] : count + 1;
  place += place < 0 ? count : 0;
  if (place < 0 || place > last)
    return node.error("position ", joined(places),
                      " is out of range for a sequence of ", count);
  return place;
}

absl::Status sequenceInsert(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(ArrayRef<Value> found, importer.sequence(node, 0));
  SmallVector<Value> values(found);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 1));
  GRADUS_ASSIGN_OR_RETURN(
      int64_t place, placeIn(importer, node, 2, values.size(), values.size()));
  values.insert(values.begin() + place, value);
  return importer.defineSequence(node, 0, values);
}

absl::Status sequenceErase(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(ArrayRef<Value> found, importer.sequence(node, 0));
  SmallVector<Value> values(found);
  if (values.empty())
    return node.error("its sequence is empty");
  int64_t count = values.size();
  GRADUS_ASSIGN_OR_RETURN(int64_t place,
                          placeIn(importer, node, 1, count, count - 1));
  values.erase(values.begin() + place);
  return importer.defineSequence(node, 0, values);
}

absl::Status sequenceLength(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(ArrayRef<Value> values, importer.sequence(node, 0));
  Constant count = zeros(importer.builder.getI64Type(), {});
  count.tensor.integers[0] = values.size();
  return importer.define(node, 0, std::move(count));
}

absl::Status sequenceAt(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(ArrayRef<Value> values, importer.sequence(node, 0));
  int64_t count = values.size();
  GRADUS_ASSIGN_OR_RETURN(int64_t place,
                          placeIn(importer, node, 1, count, count - 1));
  return importer.define(node, 0, values[place]);
}

absl::Status sequenceConstruct(Importer &importer, const Node &node) {
  SmallVector<Value> values;
  for (int i = 0; i < node.inputCount(); ++i) {
    GRADUS_ASSIGN_OR_RETURN(values.emplace_back(), importer.value(node, i));
  }
  return importer.defineSequence(node, 0, values);
}

constexpr Ignored kIgnoredByEmpty[] = {
    {"dtype", "what is inserted has a type of its own"}};

const Operator kOperators[] = {
    {"SequenceEmpty",
     {.since = 11, .ignored = kIgnoredByEmpty},
     sequenceEmpty,
     nullptr,
     false},
    {"SequenceInsert",
     {11, "input_sequence, tensor", "computed `position`"},
     sequenceInsert,
     nullptr,
     false},
    {"SequenceErase",
     {11, "input_sequence", "computed `position`"},
     sequenceErase,
     nullptr,
     false},
    {"SequenceLength", {11}, sequenceLength, nullptr, false},
    {"SequenceAt", {11, "input_sequence", "computed `position`"}, sequenceAt},
    {"SequenceConstruct", {11, "inputs"}, sequenceConstruct, nullptr, false},
};

} // namespace

llvm::ArrayRef<Operator> sequenceOperators() { return kOperators; }

} // namespace gradus::onnx
