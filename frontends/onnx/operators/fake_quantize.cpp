// As in PyTorch, the rounded number decides whether a number lies inside, so
// numbers that round to a limit pass their gradient.

#include "frontends/onnx/operators/fake_quantize.h"

#include "ir/gradient_ops.h"

namespace gradus::onnx {

using namespace mlir;

Value straightThrough(const Building &b, Value whole, Value source,
                      Range range) {
  Builder attributes(b.builder);
  Value cut = b.make<ClipOp>(whole.getType(), whole,
                             attributes.getF64FloatAttr(range.low),
                             attributes.getF64FloatAttr(range.high));
  Value isInside = b.compare(arith::CmpFPredicate::OEQ, whole, cut);
  Value inside = b.select(isInside, source, b.number(0, source));
  return b.make<StopGradientOp>(cut, inside);
}

//===-- roundings in the importer -----------------------------------------===//

bool Importer::isStraightThrough() const {
  auto asked = options_.recipe
                   ? options_.recipe.getAs<BoolAttr>("straight_through")
                   : BoolAttr();
  return asked && asked.getValue();
}

Value Importer::asFloats(const Node &node, int input) const {
  auto found = entries_.find(node.input(input));
  return found == entries_.end() ? Value() : found->second.floats;
}

void Importer::setFloats(const Node &node, int output, Value floats) {
  if (!node.output(output).empty())
    entries_[node.output(output)].floats = floats;
}

bool Importer::isSaidParameter(llvm::StringRef name) const {
  return marks_.parameters.count(name.str()) ||
         isNamed(options_.trainable, name);
}

} // namespace gradus::onnx
