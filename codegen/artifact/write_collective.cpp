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

static StringRef nameOf(plan::StartOp start) {
  if (PartsAttr parts = start.getPartsAttr())
    return parts.getHalf() == HalfOfReduce::scatter ? " sum of parts of "
                                                    : " gathering of ";
  GroupsAttr groups = start.getGroupsAttr();
  bool isSum = !groups || groups.getAcross() == AcrossGroups::nothing;
  bool gathers = groups && groups.getAcross() == AcrossGroups::gather;
  return isSum ? " sum of " : gathers ? " gather of " : " adasum of ";
}

static std::string nameOf(StringRef phase, plan::StartOp start) {
  return (phase + nameOf(start) + Twine(start.getOperands().size())).str();
}

static flatbuffers::Offset<fb::RankGroups>
writeGroups(flatbuffers::FlatBufferBuilder &tables, GroupsAttr groups) {
  if (!groups)
    return {};
  return fb::CreateRankGroups(tables, groups.getWithin(),
                              groups.getInside() == InGroup::mean,
                              static_cast<fb::Across>(groups.getAcross()),
                              groups.getEpsilon().getValueAsDouble());
}

static flatbuffers::Offset<fb::RankParts>
writeParts(flatbuffers::FlatBufferBuilder &tables, PartsAttr parts) {
  if (!parts)
    return {};
  return fb::CreateRankParts(tables, static_cast<fb::Half>(parts.getHalf()),
                             parts.getUnit());
}

void plan::StartOp::write(CommandWriter &writer) {
  flatbuffers::FlatBufferBuilder &tables = writer.tables();
  auto operands = tables.CreateVector(buffersOf(writer, getOperands()));
  // Another thread moves the bytes.
  auto groups = writeGroups(tables, getGroupsAttr());
  auto parts = writeParts(tables, getPartsAttr());
  writer.add(
      getLoc(),
      fb::CreateStartCommand(tables, getNumber(), operands, groups, parts),
      {nameOf("start", *this), 0, 0});
}

void plan::FinishOp::write(CommandWriter &writer) {
  flatbuffers::FlatBufferBuilder &tables = writer.tables();
  auto operands = tables.CreateVector(buffersOf(writer, getBegun()));
  auto results = tables.CreateVector(buffersOf(writer, getResults()));
  writer.add(
      getLoc(), fb::CreateFinishCommand(tables, getNumber(), operands, results),
      {nameOf("finish", getToken().getDefiningOp<plan::StartOp>()), 0, 0});
}
