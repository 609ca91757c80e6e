// Writes the beginning and the end of a sum over ranks as commands of the
// artifact.

#include "codegen/artifact/command_writer.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;

/// Summed in place, so a second run would add up sums.
bool plan::StartOp::mayRunTwice() { return false; }
bool plan::FinishOp::mayRunTwice() { return false; }

/// The token is the first operand.
int64_t plan::FinishOp::getInplaceOperand(unsigned result) {
  return result + 1;
}

static std::vector<uint32_t> buffersOf(CommandWriter &writer,
                                       ValueRange values) {
  std::vector<uint32_t> buffers;
  for (Value value : values)
    buffers.push_back(writer.bufferOf(value));
  return buffers;
}

static std::string nameOf(StringRef phase, size_t count) {
  return (phase + " sum of " + Twine(count)).str();
}

void plan::StartOp::write(CommandWriter &writer) {
  flatbuffers::FlatBufferBuilder &tables = writer.tables();
  auto operands = tables.CreateVector(buffersOf(writer, getOperands()));
  // Another thread moves the bytes.
  writer.add(getLoc(), fb::CreateStartCommand(tables, getNumber(), operands),
             {nameOf("start", getOperands().size()), 0, 0});
}

void plan::FinishOp::write(CommandWriter &writer) {
  flatbuffers::FlatBufferBuilder &tables = writer.tables();
  auto operands = tables.CreateVector(buffersOf(writer, getBegun()));
  auto results = tables.CreateVector(buffersOf(writer, getResults()));
  writer.add(getLoc(),
             fb::CreateFinishCommand(tables, getNumber(), operands, results),
             {nameOf("finish", getResults().size()), 0, 0});
}
