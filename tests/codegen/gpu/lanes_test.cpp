// Which threads share which points, by shapes: where inputs lie along points,
// where along what is reduced, and where vectors fit.

#include "check.h"
#include "tests/codegen/kernel_text.h"
#include "tests/codegen/random_nests.h"

#include "codegen/gpu/mapping.h"

using namespace gradus;
using namespace gradus::test;

namespace {

struct Lanes {
  unsigned lanes, columns;
  int64_t vector;
  bool operator==(const Lanes &) const = default;
};

void PrintTo(const Lanes &lanes, std::ostream *out) {
  *out << lanes.lanes << " lanes, " << lanes.columns << " columns, vectors of "
       << lanes.vector;
}

/// Of the first nest of a kernel.
NestMapping mappingOf(const std::string &text) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context.context);
  plan::KernelOp kernel = *module->getOps<plan::KernelOp>().begin();
  GpuMapping mapping = chooseMapping(kernel);
  return mapping.nests[*kernel.getBody().getOps<plan::NestOp>().begin()];
}

Lanes lanesOf(const std::string &text) {
  NestMapping mapping = mappingOf(text);
  return {mapping.lanes, mapping.columns, mapping.vector};
}

std::string sums(std::vector<int64_t> parallel, std::vector<int64_t> reduced,
                 std::vector<int64_t> shape, std::string map,
                 std::string type) {
  std::string all = parallel.size() == 1 ? "(i) -> (i)" : "(i, j) -> (i, j)";
  std::string body =
      "\n ^bb0(%a: " + type + "):\n plan.yield %a : " + type + "\n";
  NestText nest{parallel,
                reduced,
                {{"%x", buffer(shape, type), map}},
                {},
                {{"%y", buffer(parallel, type), all}},
                {"sum"},
                body,
                body};
  return kernelOf("sums", nest, "rows", parallel[0]);
}

Lanes columns(int64_t parts, int64_t rows, int64_t channels,
              std::string type = "bf16") {
  return lanesOf(sums({parts, channels}, {rows}, {parts, rows, channels},
                      "(i, j, k) -> (i, k, j)", type));
}

Lanes rows(int64_t count, int64_t length, std::string type = "bf16") {
  return lanesOf(
      sums({count}, {length}, {count, length}, "(i, k) -> (i, k)", type));
}

} // namespace

TEST(GpuLanes, LiePointByPointDownColumns) {
  // Statistics of 64 channels that come last, and a bias gradient.
  EXPECT_EQ(columns(512, 392, 64), (Lanes{32, 8, 8}));
  EXPECT_EQ(columns(128, 64, 768), (Lanes{8, 32, 8}));
  // Their totals: few points, so that more threads share one.
  EXPECT_EQ(lanesOf(sums({64}, {512}, {512, 64}, "(i, k) -> (k, i)", "f32")),
            (Lanes{64, 4, 4}));
}

/// Sums in f64 of bf16 whose parts do not fit: fewer columns, whole vectors,
/// until lanes had nothing to do.
TEST(GpuLanes, KeepVectorsWhereSumsAreMany) {
  auto lanes = [](int64_t rows, int count) {
    std::vector<std::string> values(count, "%w"), types(count, "f64"),
        sums(count, "sum"), arguments;
    Operands outs;
    for (int i = 0; i < count; ++i) {
      std::string n = std::to_string(i);
      arguments.push_back("%s" + n + ": f64");
      outs.push_back({"%y" + n, buffer({64, 2048}, "f64"), "(i, j) -> (i, j)"});
    }
    std::string type = " : " + llvm::join(types, ", ") + "\n";
    NestText nest{
        {64, 2048},
        {rows},
        {{"%x", buffer({64, rows, 2048}, "bf16"), "(i, j, k) -> (i, k, j)"}},
        {},
        outs,
        sums,
        "\n ^bb0(%a: bf16):\n %w = arith.extf %a : bf16 to f64\n "
        "plan.yield " +
            llvm::join(values, ", ") + type,
        "\n ^bb0(" + llvm::join(arguments, ", ") + "):\n plan.yield "};
    for (int i = 0; i < count; ++i)
      nest.then += (i ? ", %s" : "%s") + std::to_string(i);
    nest.then += type;
    return lanesOf(kernelOf("sums", nest, "rows", 64));
  };
  EXPECT_EQ(lanes(448, 1), (Lanes{8, 32, 8}));
  EXPECT_EQ(lanes(448, 2), (Lanes{16, 16, 8}));
  EXPECT_EQ(lanes(448, 4), (Lanes{32, 8, 8}));
  EXPECT_EQ(lanes(28, 4), (Lanes{16, 16, 4}));
}

TEST(GpuLanes, AreNeighboursAlongRows) {
  EXPECT_EQ(rows(8192, 768), (Lanes{32, 0, 8}));
  EXPECT_EQ(rows(8192, 768, "f32"), (Lanes{32, 0, 4}));
  EXPECT_EQ(rows(8, 4096), (Lanes{256, 0, 8}));
  EXPECT_EQ(rows(8192, 64), (Lanes{32, 0, 2}));
}

TEST(GpuLanes, TakeSingleElementsWhereVectorsDoNotFit) {
  EXPECT_EQ(rows(1024, 50257), (Lanes{256, 0, 1}));
  EXPECT_EQ(columns(512, 392, 17), (Lanes{8, 32, 1}));
  // Three channels are no row to read: threads share each of them.
  EXPECT_EQ(columns(512, 392, 3), (Lanes{32, 0, 1}));
}

TEST(GpuLanes, AreOneWhereManyPointsHaveShortSums) {
  EXPECT_EQ(columns(8192, 9, 768), (Lanes{1, 0, 8}));
}

/// What gpu_nests_test runs.
TEST(GpuLanes, AreOfAllKindsInRandomNests) {
  int points = 0, turned = 0, columns = 0, wideColumns = 0, rows = 0;
  for (unsigned seed = 0; seed < kWideNests; ++seed) {
    NestMapping mapping = mappingOf(RandomNest(seed, true).text("random"));
    bool isWide = mapping.vector > 1;
    points += isWide && mapping.lanes == 1 && !mapping.turned;
    turned += bool(mapping.turned);
    columns += mapping.columns > 1;
    wideColumns += isWide && mapping.columns > 1;
    rows += isWide && mapping.lanes > 1 && !mapping.columns;
  }
  EXPECT_GE(points, 8);
  EXPECT_GE(turned, 3);
  EXPECT_GE(columns, 8);
  EXPECT_GE(wideColumns, 4);
  EXPECT_GE(rows, 4);
}
