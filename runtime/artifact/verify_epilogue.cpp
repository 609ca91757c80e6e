// The kernel that takes the place of a product's epilogue: its arguments are
// what the product's tensors say, and lie in their buffers.

#include "runtime/artifact/verify.h"
#include "runtime/flat.h"
#include "runtime/status.h"

namespace gradus::runtime {

namespace {

using artifact::KernelSignature;
using artifact::LibraryCommand;

constexpr uint32_t kNone = UINT32_MAX;

/// It is launched over buffers alone: a flat one would read a table.
Status verifyArguments(const KernelSignature &kernel,
                       const LibraryCommand &command) {
  size_t outputs = countOf(command.outputs()),
         expected = countOf(command.inputs()) - 1 + outputs;
  if (countOf(kernel.fixed_bytes()) != expected || kernel.outputs() != outputs)
    return invalid("takes ", countOf(kernel.fixed_bytes()), " arguments and ",
                   kernel.outputs(), " of them are outputs, expected ",
                   expected, " and ", outputs);
  if (kernel.gpu()->piece() != 0)
    return invalid("takes segments of items, expected buffers");
  for (uint64_t bytes : *kernel.bytes_per_item())
    if (bytes != 0)
      return invalid("takes items of ", bytes, " bytes, expected buffers");
  return Status();
}

/// A product lies as the result does, in f32.
Status verifyProduct(const artifact::Plan &plan, const KernelSignature &kernel,
                     const artifact::LibraryTensor &result) {
  uint64_t bytes = kernel.fixed_bytes()->Get(0),
           has = plan.buffers()->Get(result.buffer())->size() /
                 bytesOf(result.dtype()),
           needs = bytes / sizeof(float) + (bytes % sizeof(float) != 0);
  if (needs > has)
    return invalid("reads a product of ", bytes,
                   " bytes, too many for a result of ", has, " elements");
  return Status();
}

Status verifyArgument(const artifact::Plan &plan, const KernelSignature &kernel,
                      size_t argument, const artifact::LibraryTensor &tensor) {
  uint64_t has = plan.buffers()->Get(tensor.buffer())->size(),
           needs = kernel.fixed_bytes()->Get(unsigned(argument));
  if (needs > has)
    return invalid("argument ", argument, ": its buffer has ", has,
                   " bytes, and the kernel takes ", needs);
  return Status();
}

Status verifyKernel(const artifact::Plan &plan, const KernelSignature &kernel,
                    const LibraryCommand &command) {
  GRADUS_TRY(verifyArguments(kernel, command));
  GRADUS_TRY(verifyProduct(plan, kernel, *command.outputs()->Get(0)));
  size_t argument = 1;
  for (size_t i = 2; i < countOf(command.inputs()); ++i)
    GRADUS_TRY(verifyArgument(plan, kernel, argument++,
                              *command.inputs()->Get(unsigned(i))));
  for (const artifact::LibraryTensor *output : *command.outputs())
    GRADUS_TRY(verifyArgument(plan, kernel, argument++, *output));
  return Status();
}

} // namespace

Status verifyEpilogue(const artifact::Plan &plan,
                      const artifact::CodeHeader *kernels,
                      const LibraryCommand &command) {
  const artifact::MatmulCall *matmul = command.op_as_matmul();
  if (!matmul || matmul->epilogue() == kNone)
    return Status();
  if (!countOf(plan.images()))
    return invalid("has a kernel for what stands behind it, as products on "
                   "cards alone do");
  if (matmul->activation() == artifact::Activation::none &&
      countOf(command.inputs()) <= 2)
    return invalid("has a kernel for what stands behind it, which is nothing");
  size_t count = kernels ? countOf(kernels->kernels()) : 0;
  if (matmul->epilogue() >= count)
    return invalid("names kernel ", matmul->epilogue(), " of ", count);
  const KernelSignature &kernel = *kernels->kernels()->Get(matmul->epilogue());
  return at(verifyKernel(plan, kernel, command), "kernel ", matmul->epilogue(),
            " (", textOf(kernel.name()), ")");
}

} // namespace gradus::runtime
