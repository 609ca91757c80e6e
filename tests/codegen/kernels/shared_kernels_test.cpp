// Kernels that differ in the number of items: one code for all of them.

#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

#include "codegen/kernels/shared_kernels.h"

using namespace gradus;
using namespace gradus::test;

namespace {

struct Rows {
  int64_t items = 8, width = 16;
  std::string factor = "2.0";
  std::string from = "%x"; // or %z
  bool usesScratch = true;
};

/// y = factor * x for each row, by way of scratch.
std::string textOf(const std::string &name, const Rows &rows) {
  Operand x = {rows.from, buffer({rows.items, rows.width}), "(m, n) -> (m, n)"},
          y = {"%y", x.type, x.map},
          row = {"%row", buffer({rows.width}), "(m, n) -> (n)"};
  auto times = [&](Operand in, Operand out, const std::string &factor) {
    NestText nest{{rows.items, rows.width}, {}, {}, {in}, {out}, {}, "", ""};
    nest.then = "\n  ^bb0(%value: f32):\n    %c = arith.constant " + factor +
                " : f32\n    %s = arith.mulf %value, %c : f32\n    plan.yield "
                "%s : f32\n";
    return nest.text();
  };
  std::string body = times(x, y, rows.factor);
  if (rows.usesScratch)
    body = "  %row = plan.scratch : " + row.type + "\n" +
           times(x, row, rows.factor) + times(row, y, "1.0");
  Operand z = {"%z", x.type, ""};
  return kernel(name, {{"%x", x.type, ""}, z, y}, 2, "rows", rows.items, body);
}

std::string textOf(llvm::ArrayRef<Rows> all) {
  std::string text;
  for (const Rows &rows : all)
    text += textOf("rows" + std::to_string(text.size()), rows);
  return text;
}

/// Calls `use` with the kernels of a text.
template <typename Use> auto withKernels(const std::string &text, Use use) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  return use(llvm::to_vector(module->getOps<plan::KernelOp>()));
}

std::vector<size_t> codes(llvm::ArrayRef<Rows> all) {
  return withKernels(textOf(all), [](llvm::ArrayRef<plan::KernelOp> kernels) {
    auto codes = sharedCode(kernels);
    return std::vector<size_t>(codes.begin(), codes.end());
  });
}

std::vector<char> bytes(llvm::ArrayRef<Rows> all) {
  return withKernels(textOf(all), [](llvm::ArrayRef<plan::KernelOp> kernels) {
    CpuTarget target = llvm::cantFail(cpuTarget("cpu:x86-64-v3"));
    CpuCode code = llvm::cantFail(emitCpu(kernels, target));
    return std::vector<char>(code.code.begin(), code.code.end());
  });
}

} // namespace

TEST(SharedKernels, DifferInTheNumberOfItemsAlone) {
  EXPECT_EQ(codes({Rows{}, Rows{.items = 5}, Rows{.factor = "3.0"},
                   Rows{.items = 5, .width = 8}, Rows{.from = "%z"},
                   Rows{.items = 1, .factor = "3.0"}, Rows{.items = 1}}),
            (std::vector<size_t>{0, 0, 2, 3, 4, 2, 0}));
}

// How items are divided among tiles depends on their number.
TEST(SharedKernels, RunOneItemAtATime) {
  EXPECT_EQ(codes({Rows{.usesScratch = false},
                   Rows{.items = 5, .usesScratch = false}}),
            (std::vector<size_t>{0, 1}));
}

TEST(SharedKernels, CostTheCodeOfOne) {
  EXPECT_EQ(bytes({Rows{}, Rows{.items = 5}, Rows{.items = 1}}),
            bytes({Rows{}}));
  EXPECT_NE(bytes({Rows{}, Rows{.factor = "3.0"}}), bytes({Rows{}}));
}

TEST(SharedKernels, ComputeWhatEachWould) {
  KernelCheck().run(textOf({Rows{}, Rows{.items = 5}, Rows{.factor = "3.0"},
                            Rows{.items = 3, .factor = "3.0"}}));
}

// So many kernels are compiled in parts, of which some have no code then.
TEST(SharedKernels, MayHaveFewerCodesThanParts) {
  std::vector<Rows> all;
  for (int64_t items = 1; items <= 24; ++items)
    all.push_back({.items = items});
  EXPECT_EQ(codes(all), std::vector<size_t>(24, 0));
  KernelCheck().run(textOf(all));
}
