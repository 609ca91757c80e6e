// Nests as emitters read them, from text.
#pragma once

#include "kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

#include "codegen/plan/nest_access.h"

namespace gradus::test {

/// A nest of a kernel's text, with what keeps it alive.
struct ParsedNest {
  Context context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Nest nest;

  ParsedNest(const NestText &text, std::string split) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        kernelOf("k", text, split, text.parallel[0]), &context.context);
    auto kernel = *module->getOps<plan::KernelOp>().begin();
    nest = readNest(*kernel.getBody().getOps<plan::NestOp>().begin(),
                    kernel.getSplit());
  }
};

/// A copy of `from`, element by element, to a buffer of the domain's extents.
inline NestText copyText(std::vector<int64_t> extents,
                         std::vector<int64_t> from, std::string map) {
  std::string same =
      extents.size() == 2 ? "(i, j) -> (i, j)" : "(i, j, k) -> (i, j, k)";
  return {extents,
          {},
          {},
          {{"%x", buffer(from), map}},
          {{"%y", buffer(extents), same}},
          {},
          "",
          "\n ^bb0(%a: f32):\n plan.yield %a : f32\n"};
}

} // namespace gradus::test
