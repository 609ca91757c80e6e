// An op done to any number of elements by emitted code.
#pragma once

#include "kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

namespace gradus::test {

/// y = op(x...) for any number of elements.
template <typename T>
std::vector<T> apply(std::string op, std::vector<std::vector<T>> inputs,
                     const std::string &targetName) {
  std::string element = "f" + std::to_string(8 * sizeof(T)),
              type = buffer({-1}, element);
  NestText nest{{INT64_MIN}, {}, {}, {}, {{"%y", type, "(i) -> (i)"}},
                {},          "", ""};
  std::string arguments, values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string n = std::to_string(i);
    nest.with.push_back({"%x" + n, type, "(i) -> (i)"});
    arguments += (i ? ", %a" : "%a") + n + ": " + element;
    values += (i ? ", %a" : "%a") + n;
  }
  nest.then = "\n ^bb0(" + arguments + "):\n %r = " + op + " " + values +
              " : " + element + "\n plan.yield %r : " + element + "\n";
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kernelOf("k", nest, "flat", 0), &context.context);
  auto kernels = llvm::to_vector(module->getOps<plan::KernelOp>());
  auto target = llvm::cantFail(cpuTarget(targetName));
  Code code(llvm::cantFail(emitCpu(kernels, target)));
  std::vector<T> result(inputs[0].size());
  std::vector<void *> table;
  for (auto &input : inputs)
    table.push_back(input.data());
  table.push_back(result.data());
  code.run(0, table.data(), 0, result.size());
  return result;
}

} // namespace gradus::test
