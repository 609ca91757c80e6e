// Writes the selection of the largest elements as a command of the artifact.

#include "codegen/artifact/command_writer.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;

/// The elements from which on tables of 2^13 counts cost less than further
/// passes, and those of a part that is worth a thread.
static constexpr int64_t kMany = int64_t(1) << 18, kOfPart = int64_t(1) << 16;

static int64_t sizeOf(plan::SelectOp op) {
  return cast<RankedTensorType>(op.getInput().getType()).getNumElements();
}

int64_t plan::SelectOp::getParts() {
  return std::clamp<int64_t>(sizeOf(*this) / kOfPart, 1, 16);
}

int64_t plan::SelectOp::getDigitBits() {
  return sizeOf(*this) < kMany ? 8 : 13;
}

/// Lists have room for twice what the search guesses: twice what is selected.
/// A part has no more than its elements, and where the guess is all of them,
/// there is nothing to list.
int64_t plan::SelectOp::getListed() {
  int64_t size = sizeOf(*this),
          selected =
              cast<RankedTensorType>(getIndices().getType()).getNumElements();
  if (size < kMany || 2 * selected >= size)
    return 0;
  int64_t ofPart = llvm::divideCeil(size, getParts());
  return std::min<int64_t>(2 * (2 * selected / getParts() + 512),
                           llvm::alignTo(ofPart, 2));
}

int64_t plan::SelectOp::getScratchBytes() {
  auto input = cast<RankedTensorType>(getInput().getType());
  int64_t each = sizeof(uint32_t) + input.getElementTypeBitWidth() / 8;
  int64_t counts = (int64_t(1) << getDigitBits()) * int64_t(sizeof(uint32_t));
  return getParts() * (counts + getListed() * each);
}

void plan::SelectOp::write(CommandWriter &writer) {
  auto bytes = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return uint64_t(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
  };
  uint32_t threshold =
      getThreshold() ? writer.bufferOf(getThreshold()) : UINT32_MAX;
  writer.add(getLoc(),
             fb::CreateSelectCommand(
                 writer.tables(), writer.bufferOf(getInput()), threshold,
                 writer.bufferOf(getIndices()), writer.bufferOf(getValues()),
                 writer.scratchOf(*this), getParts(), getDigitBits(),
                 getListed()),
             {"select_largest", 0,
              bytes(getInput()) + bytes(getIndices()) + bytes(getValues())});
}
