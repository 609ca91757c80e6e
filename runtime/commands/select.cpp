// The command select: the elements of a vector that are largest by their
// absolute value, and their indices.

#include "runtime/artifact/command_kinds.h"
#include "runtime/artifact/verify.h"
#include "runtime/cpu/command.h"
#include "runtime/cpu/select_largest.h"

#include <climits>

namespace gradus::runtime {

//===-- what a file may say -----------------------------------------------===//

namespace {

TensorType typeIn(const artifact::Plan &plan, uint32_t buffer) {
  return typeOf(plan.buffers()->Get(buffer)->type());
}

uint64_t elementsOf(const TensorType &type) {
  return *bytesOf(type) / bytesOf(type.dtype);
}

bool hasThreshold(const artifact::SelectCommand &command) {
  return command.threshold() != UINT32_MAX;
}

uint64_t scratchBytes(const artifact::Plan &plan,
                      const artifact::SelectCommand &command) {
  uint64_t counts = (uint64_t(1) << command.digit_bits()) * sizeof(uint32_t);
  uint64_t each =
      sizeof(uint32_t) + bytesOf(typeIn(plan, command.input()).dtype);
  return command.parts() * (counts + command.listed() * each);
}

Status verifySearch(const artifact::Plan &plan,
                    const artifact::SelectCommand &command) {
  if (command.parts() < 1 || command.parts() > 64)
    return invalid("has ", command.parts(), " parts, expected 1 to 64");
  if (command.digit_bits() < 4 || command.digit_bits() > 16)
    return invalid("has digits of ", command.digit_bits(),
                   " bits, expected 4 to 16");
  if (command.listed() % 2)
    return invalid("lists ", command.listed(),
                   " elements, expected an even "
                   "number");
  GRADUS_TRY(at(verifyUse(plan,
                          {command.scratch(), scratchBytes(plan, command),
                           /*isRead=*/false, /*isWritten=*/true},
                          "its counts"),
                "scratch"));
  if (plan.buffers()->Get(command.scratch())->region() !=
      artifact::Region::arena)
    return invalid("scratch: does not lie in the arena");
  return Status();
}

Status verifyTypes(const artifact::Plan &plan,
                   const artifact::SelectCommand &command) {
  TensorType input = typeIn(plan, command.input()),
             indices = typeIn(plan, command.indices()),
             values = typeIn(plan, command.values());
  if (input.dtype != DType::f32 && input.dtype != DType::f64)
    return invalid("selects of ", nameOf(input.dtype), ", expected f32 or f64");
  if (elementsOf(input) > INT_MAX)
    return invalid("selects of ", elementsOf(input),
                   " elements, expected at most ", INT_MAX);
  if (indices.dtype != DType::i32 || values.dtype != input.dtype ||
      elementsOf(indices) != elementsOf(values))
    return invalid("has indices ", toString(indices), " and values ",
                   toString(values), ", expected as many i32 and ",
                   nameOf(input.dtype));
  if (elementsOf(indices) > elementsOf(input))
    return invalid("selects ", elementsOf(indices), " of ", elementsOf(input),
                   " elements");
  if (hasThreshold(command))
    if (TensorType type = typeIn(plan, command.threshold());
        type.dtype != input.dtype || elementsOf(type) != 1)
      return invalid("has the threshold ", toString(type), ", expected one ",
                     nameOf(input.dtype));
  return Status();
}

} // namespace

Status verifyKind(const artifact::Plan &plan, const artifact::CodeHeader *,
                  const artifact::SelectCommand &command) {
  GRADUS_TRY(verifyBuffer(plan, command.input(), false));
  if (hasThreshold(command))
    GRADUS_TRY(at(verifyBuffer(plan, command.threshold(), false), "threshold"));
  GRADUS_TRY(at(verifyBuffer(plan, command.indices(), true), "indices"));
  GRADUS_TRY(at(verifyBuffer(plan, command.values(), true), "values"));
  GRADUS_TRY(verifyTypes(plan, command));
  return verifySearch(plan, command);
}

std::vector<BufferUse> usesOfKind(const artifact::Plan &plan,
                                  const artifact::CodeHeader *,
                                  const artifact::SelectCommand &command) {
  auto use = [&](uint32_t buffer, bool writes) {
    return BufferUse{buffer, *bytesOf(typeIn(plan, buffer)), !writes, writes};
  };
  std::vector<BufferUse> uses = {use(command.input(), false)};
  if (hasThreshold(command))
    uses.push_back(use(command.threshold(), false));
  uses.push_back(use(command.indices(), true));
  uses.push_back(use(command.values(), true));
  uses.push_back({command.scratch(), scratchBytes(plan, command),
                  /*isRead=*/false,
                  /*isWritten=*/true, /*isScratch=*/true});
  return uses;
}

//===-- on a CPU ----------------------------------------------------------===//

namespace {

template <typename Number> class Select : public Command {
public:
  Select(const CommandContext &context, const artifact::SelectCommand &command)
      : selection_(selectedOf(context, command),
                   {context.buffers[command.scratch()], command.parts(),
                    static_cast<int>(command.digit_bits()), command.listed()},
                   context.pool) {}

  Status run() override {
    selection_.run();
    return Status();
  }

private:
  template <typename T>
  static std::span<T> buffer(const CommandContext &context, uint32_t number) {
    return {reinterpret_cast<T *>(context.buffers[number]),
            elementsOf(typeIn(context.plan, number))};
  }

  static Selected<Number> selectedOf(const CommandContext &context,
                                     const artifact::SelectCommand &command) {
    return {buffer<const Number>(context, command.input()),
            hasThreshold(command)
                ? buffer<const Number>(context, command.threshold()).data()
                : nullptr,
            buffer<int32_t>(context, command.indices()),
            buffer<Number>(context, command.values())};
  }

  Selection<Number> selection_;
};

} // namespace

StatusOr<std::unique_ptr<Command>>
prepareKind(const CommandContext &context,
            const artifact::SelectCommand &command) {
  if (typeIn(context.plan, command.input()).dtype == DType::f64)
    return std::make_unique<Select<double>>(context, command);
  return std::make_unique<Select<float>>(context, command);
}

} // namespace gradus::runtime
