// Compares declarations with values. Symbolic sizes match any number.

#include "frontends/onnx/file/declared_outputs.h"

#include "frontends/onnx/file/model_file.h"
#include "frontends/onnx/file/onnx.pb.h"
#include "messages/message.h"

#include "ir/build.h"

#include "mlir/IR/Diagnostics.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using Declared = ::onnx::TypeProto_Tensor;

/// The declared element type as graphs have it: signed integers become
/// signless.
Type declaredElement(const Declared &declared, MLIRContext &context) {
  Type element = elementType(declared.elem_type(), context);
  if (!isUnsigned(declared.elem_type()))
    return element;
  return IntegerType::get(&context, element.getIntOrFloatBitWidth(),
                          IntegerType::Unsigned);
}

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type;
  return text;
}

bool hasSizes(const Declared &declared, ArrayRef<int64_t> shape) {
  if (!declared.has_shape())
    return true;
  return llvm::equal(
      declared.shape().dim(), shape, [](const auto &size, int64_t found) {
        return size.dim_value() <= 0 || size.dim_value() == found;
      });
}

std::string sizesOf(const Declared &declared) {
  std::vector<std::string> sizes;
  for (const auto &size : declared.shape().dim())
    sizes.push_back(size.has_dim_value() ? std::to_string(size.dim_value())
                    : size.dim_param().empty() ? "?"
                                               : size.dim_param());
  return joined(sizes);
}

} // namespace

absl::Status checkDeclared(const ::onnx::ValueInfoProto &output, Value value) {
  const Declared &declared = output.type().tensor_type();
  RankedTensorType type = tensorType(value);
  if (declared.elem_type() &&
      declaredElement(declared, *value.getContext()) != type.getElementType())
    return invalid("declares its output \"", output.name(), "\" as ",
                   dataTypeName(declared.elem_type()),
                   ", but its nodes give elements of ",
                   textOf(type.getElementType()));
  if (!hasSizes(declared, type.getShape()))
    emitWarning(UnknownLoc::get(value.getContext()))
        << "output \"" << output.name() << "\" is declared as ["
        << sizesOf(declared) << "], but its nodes give ["
        << joined(type.getShape()) << "], which counts";
  return absl::OkStatus();
}

} // namespace gradus::onnx
