// How fast the code of single kernels is (GFLOP/s, GB/s) and what it costs to
// emit it. `kernels_bench` alone runs the usual ones, `kernels_bench FILE` each
// nest of the kernels that `gradus compile --stop-after kernels` printed;
// --benchmark_filter picks.

#include "codegen/cpu/tiling.h"
#include "tests/codegen/kernel_text.h"
#include "tests/codegen/plan/nest_reference.h"

#include <benchmark/benchmark.h>

using namespace gradus::test;

namespace {

struct Case {
  std::string name, text;
  int64_t items = 1;
  double flops = 0;
};

double flopsOf(const NestText &nest) {
  return 2.0 * countOf(nest.parallel) * countOf(nest.reduced);
}

Case sumOfProducts(std::string name, NestText nest, std::string split) {
  int64_t items = split == "serial" ? 1 : nest.parallel[0];
  return {name, kernelOf("k", nest, split, items), items, flopsOf(nest)};
}

NestText flatUpdate() {
  NestText nest{{INT64_MIN}, {}, {}, {}, {}, {}, "", R"(
  ^bb0(%w0: f32, %m0: f32, %v0: f32, %g0: f32, %lr0: f32):
    %c9 = arith.constant 0.9 : f32
    %c1 = arith.constant 0.1 : f32
    %d9 = arith.constant 0.999 : f32
    %d1 = arith.constant 0.001 : f32
    %eps = arith.constant 1.0e-8 : f32
    %ma = arith.mulf %m0, %c9 : f32
    %mb = arith.mulf %g0, %c1 : f32
    %m1 = arith.addf %ma, %mb : f32
    %va = arith.mulf %v0, %d9 : f32
    %g2 = arith.mulf %g0, %g0 : f32
    %vb = arith.mulf %g2, %d1 : f32
    %v1 = arith.addf %va, %vb : f32
    %root = math.sqrt %v1 : f32
    %den = arith.addf %root, %eps : f32
    %q = arith.divf %m1, %den : f32
    %s = arith.mulf %q, %lr0 : f32
    %w1 = arith.subf %w0, %s : f32
    plan.yield %w1, %m1, %v1 : f32, f32, f32
)"};
  for (std::string value : {"%w", "%m", "%v", "%g"})
    nest.with.push_back({value, buffer({-1}), "(i) -> (i)"});
  nest.with.push_back({"%lr", buffer({}), "(i) -> ()"});
  for (std::string value : {"%wo", "%mo", "%vo"})
    nest.outs.push_back({value, buffer({-1}), "(i) -> (i)"});
  return nest;
}

std::vector<Case> cases() {
  Convolution first{32, 1, 6, 28, 5, 2}, second{32, 6, 16, 14, 5};
  std::vector<Case> all;
  auto add = [&](std::string name, NestText nest, std::string split) {
    all.push_back(sumOfProducts(name, nest, split));
  };
  add("mlp_forward_16x32x32", dense(16, 32, 32, "mk", "nk", true), "serial");
  add("mlp_data_16x32x32", dense(16, 32, 32, "mk", "kn", false), "serial");
  add("mlp_weights_32x32x16", dense(32, 32, 16, "km", "kn", false), "serial");
  add("mlp_last_16x1x32", dense(16, 1, 32, "mk", "nk", true), "serial");
  for (auto [n, k] :
       {std::pair<int64_t, int64_t>{120, 400}, {84, 120}, {10, 84}}) {
    std::string size = std::to_string(k) + "x" + std::to_string(n);
    add("fc_forward_" + size, dense(32, n, k, "mk", "nk", true), "rows");
    add("fc_data_" + size, dense(32, k, n, "mk", "kn", false), "rows");
    add("fc_weights_" + size, dense(n, k, 32, "km", "kn", false), "rows");
  }
  add("conv1_forward", convolution(first), "rows");
  add("conv1_weights", convolutionBackwardWeights(first), "rows");
  add("conv2_forward", convolution(second), "rows");
  add("conv2_data", convolutionBackwardData(second), "rows");
  add("conv2_weights", convolutionBackwardWeights(second), "rows");
  add("pool_28", maxPool(32, 6, 28, 2), "rows");
  all.push_back(
      {"adam_65536", kernelOf("k", flatUpdate(), "flat"), 65536, 65536 * 12});
  return all;
}

/// "d2 vectors of 16: 1 x 6 x 16 .." - how the kernel's first nest is tiled.
std::string tilingOf(gradus::plan::KernelOp kernel,
                     const gradus::CpuTarget &target) {
  auto nest =
      gradus::readNest(*kernel.getBody().getOps<gradus::plan::NestOp>().begin(),
                       kernel.getSplit());
  auto tiling = gradus::chooseTiling(nest, target);
  std::string text = "d" + std::to_string(tiling.vectorDim) + " vectors of " +
                     std::to_string(tiling.lanes) + ":";
  for (auto [size, extent] : llvm::zip(tiling.sizes, nest.extents))
    text += " " + std::to_string(size) + "/" +
            (extent < 0 ? "?" : std::to_string(extent));
  return text + (tiling.finishDim < 0
                     ? ""
                     : ", finished along d" + std::to_string(tiling.finishDim));
}

void emitOnce(benchmark::State &state, const Case &test) {
  Context context;
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(test.text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<gradus::plan::KernelOp>());
  auto target = llvm::cantFail(gradus::cpuTarget("cpu"));
  size_t bytes = 0;
  for (auto _ : state)
    bytes = llvm::cantFail(gradus::emitCpu(kernels, target)).code.size();
  state.counters["bytes"] = bytes;
}

void runCase(benchmark::State &state, const Case &test) {
  Context context;
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(test.text, &context.context);
  auto kernels = llvm::to_vector(module->getOps<gradus::plan::KernelOp>());
  auto target = llvm::cantFail(gradus::cpuTarget("cpu"));
  Code code(llvm::cantFail(gradus::emitCpu(kernels, target)));
  std::mt19937 random(1);
  std::vector<Buffer> buffers;
  for (mlir::Type type : kernels[0].getArgumentTypes())
    buffers.emplace_back(
        randomTensor(llvm::cast<mlir::MemRefType>(type), test.items, random));
  std::vector<void *> table;
  for (Buffer &buffer : buffers)
    table.push_back(buffer.data());
  state.SetLabel(tilingOf(kernels[0], target));
  for (auto _ : state)
    code.run(0, table.data(), 0, test.items);
  state.counters["GFLOP/s"] = benchmark::Counter(
      test.flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

/// The kernel with all nests but one erased, as a case of its own.
Case onlyNest(gradus::plan::KernelOp kernel, unsigned kept) {
  mlir::OwningOpRef<mlir::Operation *> copy(kernel->clone());
  auto clone = llvm::cast<gradus::plan::KernelOp>(*copy);
  unsigned number = 0;
  double flops = 0;
  for (auto nest : llvm::make_early_inc_range(
           clone.getBody().getOps<gradus::plan::NestOp>())) {
    if (number++ != kept) {
      nest.erase();
      continue;
    }
    auto size = [](auto extents) {
      return std::max<int64_t>(1, countOf(extents));
    };
    flops = 2.0 * size(nest.getParallel()) * size(nest.getReduced());
  }
  Case test{kernel.getSymName().str() + "/" + std::to_string(kept), "",
            int64_t(kernel.getItems()), flops};
  if (kernel.getSplit() == gradus::plan::Split::flat)
    test.items = 65536;
  llvm::raw_string_ostream(test.text) << *clone;
  return test;
}

std::vector<Case> casesOf(const char *path) {
  Context context;
  context.context.allowUnregisteredDialects();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context.context);
  std::vector<Case> all;
  module->walk([&](gradus::plan::KernelOp kernel) {
    unsigned count =
        llvm::range_size(kernel.getBody().getOps<gradus::plan::NestOp>());
    for (unsigned i = 0; i < count; ++i)
      all.push_back(onlyNest(kernel, i));
  });
  return all;
}

} // namespace

int main(int argc, char **argv) {
  bool fromFile = argc > 1 && argv[1][0] != '-';
  for (const Case &test : fromFile ? casesOf(argv[1]) : cases()) {
    benchmark::RegisterBenchmark(
        ("run/" + test.name).c_str(),
        [test](benchmark::State &state) { runCase(state, test); });
    benchmark::RegisterBenchmark(
        ("emit/" + test.name).c_str(),
        [test](benchmark::State &state) { emitOnce(state, test); })
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
