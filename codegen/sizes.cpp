// Computes products of sizes without overflow, and the error for large tensors.

#include "codegen/sizes.h"

#include "ir/gradus.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace gradus {

static int64_t elementBytes(ShapedType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

std::optional<int64_t> checkedBytes(ShapedType type) {
  int64_t bytes = elementBytes(type);
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > kMostTensorBytes)
      return std::nullopt;
  return bytes;
}

/// Formats the size of a tensor, "285 TiB", without overflow.
static std::string bytesText(ShapedType type) {
  double tebibytes = double(elementBytes(type)) / (int64_t{1} << 40);
  for (int64_t size : type.getShape())
    tebibytes *= double(size);
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(tebibytes < 1e6 ? "%.0f TiB" : "%.1e TiB", tebibytes);
  return text;
}

static LogicalResult verify(Location location, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      !tensor.getElementType().isIntOrFloat() || checkedBytes(tensor))
    return success();
  return emitError(location)
         << tensor << " would take " << bytesText(tensor)
         << "; a tensor may have 4 TiB (see inputs.dims of the recipe)";
}

/// Checks the types of an op: its results and the arguments of its regions.
static LogicalResult verify(Operation *op) {
  for (Type type : op->getResultTypes())
    if (failed(verify(op->getLoc(), type)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        if (failed(verify(argument.getLoc(), argument.getType())))
          return failure();
  if (auto state = dyn_cast<StateOp>(op))
    return verify(op->getLoc(), state.getType());
  return success();
}

LogicalResult verifySizes(ModuleOp module) {
  WalkResult walked = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    return failed(verify(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace gradus
