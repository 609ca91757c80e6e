// Writes the launch of a kernel as a command of the artifact.

#include "codegen/artifact/command_writer.h"
#include "codegen/plan/kernel_work.h"

using namespace mlir;
using namespace gradus;

namespace fb = gradus::artifact;

/// The largest whole number that is not above a count and that the artifact can
/// hold: counts of large kernels may be more than 2^64, of which a conversion
/// would be undefined.
static uint64_t wholeCount(double count) {
  constexpr double end = 18446744073709551616.0; // 2^64
  if (!(count > 0))
    return 0;
  return count < end ? uint64_t(count) : UINT64_MAX;
}

static flatbuffers::Offset<fb::Products>
productsOf(flatbuffers::FlatBufferBuilder &tables, plan::KernelOp kernel) {
  std::optional<KernelWork> work = workOf(kernel);
  return work ? fb::CreateProducts(tables, wholeCount(work->flops),
                                   wholeCount(work->pairFlops),
                                   wholeCount(work->operations))
              : flatbuffers::Offset<fb::Products>();
}

/// Segment s has the s-th of `count` equal parts of the operands and results.
void plan::LaunchOp::write(CommandWriter &writer) {
  flatbuffers::FlatBufferBuilder &tables = writer.tables();
  size_t count = getItems().size();
  size_t inputs = getOperands().size() / count;
  size_t outputs = getResults().size() / count;
  std::vector<flatbuffers::Offset<fb::Segment>> segments;
  for (size_t s = 0; s < count; ++s) {
    std::vector<uint32_t> buffers;
    for (Value operand : getOperands().slice(s * inputs, inputs))
      buffers.push_back(writer.bufferOf(operand));
    for (Value result : getResults().slice(s * outputs, outputs))
      buffers.push_back(writer.bufferOf(result));
    segments.push_back(
        fb::CreateSegment(tables, tables.CreateVector(buffers), getItems()[s]));
  }
  uint32_t number = writer.kernelNumber(getKernel());
  auto products = productsOf(tables, writer.kernel(number));
  writer.add(getLoc(),
             fb::CreateKernelCommand(tables, number,
                                     tables.CreateVector(segments), getGrain(),
                                     products),
             {getLabel().value_or(getKernel()).str(), uint64_t(getFlops()),
              writer.traffic().of(*this, writer.kernel(number))});
}
