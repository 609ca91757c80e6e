// Sums at indices by blocks, on the emulated GPU: the bits of sums in the order
// of the indices, for any grid.

#include "check.h"
#include "tests/codegen/kernel_text.h"

#include "codegen/gpu/scatter.h"

using namespace gradus;
using namespace gradus::test;

namespace {

struct Sums {
  std::vector<int64_t> table, indices, updates;
  int64_t axis = 0, batch = 0;
  std::string element = "f32", index = "i64";

  GatherSizes sizes() const { return {table, indices, axis, batch}; }
  std::string text() const {
    std::string x = buffer(updates, element), i = buffer(indices, index),
                y = buffer(table, element);
    return kernel("sums", {{"%x", x, ""}, {"%i", i, ""}, {"%y", y, ""}}, 2,
                  "rows", sizes().batch * sizes().outer * sizes().extent,
                  "  plan.add_at %x at %i into %y axis " +
                      std::to_string(axis) + " batch " + std::to_string(batch) +
                      " : " + x + ", " + i + ", " + y + "\n");
  }
};

/// By its definition, in f32 (integers as they are), rounded at the end.
void sumUp(const Sums &sums, std::vector<Tensor> &arguments) {
  GatherSizes sizes = sums.sizes();
  Tensor &updates = arguments[0], &indices = arguments[1],
         &table = arguments[2];
  for (Number &number : table.elements)
    number = {};
  for (int64_t row = 0; row < sizes.batch * sizes.outer; ++row)
    for (int64_t n = 0; n < sizes.count; ++n) {
      int64_t index = row / sizes.outer * sizes.count + n;
      int64_t place = sizes.placeOf(indices.elements[index].whole);
      for (int64_t i = 0; place >= 0 && i < sizes.inner; ++i) {
        Number &to =
            table.elements[(row * sizes.extent + place) * sizes.inner + i];
        const Number &from =
            updates.elements[(row * sizes.count + n) * sizes.inner + i];
        to.real = float(to.real) + float(from.real);
        to.whole += from.whole;
      }
    }
}

/// Indices are random numbers in [-range, range], updates whole ones where
/// their sums, in any order, shall be exact. Operations of a run.
int64_t expectSums(const Sums &sums, int64_t range, bool isExact = false) {
  Context context;
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(sums.text(), &context.context);
  auto kernel = *module->getOps<plan::KernelOp>().begin();
  GpuKernels gpu({kernel});
  gpu.load();
  std::vector<Tensor> arguments = argumentsOf(kernel, 0);
  std::mt19937 random(11);
  for (Number &index : arguments[1].elements)
    index.whole = int64_t(random() % uint64_t(2 * range + 1)) - range;
  for (Number &update : arguments[0].elements)
    if (isExact)
      update.real = double(int64_t(random() % 15)) - 7;
  std::vector<Tensor> wanted = arguments;
  sumUp(sums, wanted);
  Buffer expected(wanted[2]);
  for (int64_t blocks : {int64_t(3), int64_t(1) << 30}) {
    std::vector<Buffer> found(arguments.begin(), arguments.end());
    auto status = gpu.run(0, found, 0, blocks, unsigned(blocks % 7));
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(found[2] == expected) << sums.text();
  }
  return gpu.operations / 2;
}

} // namespace

TEST(GpuScatter, AddsInTheOrderOfIndices) {
  expectSums({{700, 36}, {3000}, {3000, 36}}, 710);
  expectSums({{700, 37}, {2049}, {2049, 37}, 0, 0, "f32", "i32"}, 710);
  expectSums({{1000}, {5001}, {5001}}, 1000);
}

/// A block sums up several times what it has found until then.
TEST(GpuScatter, AddsMoreThanAListHolds) {
  expectSums({{20, 8}, {9000}, {9000, 8}}, 20);
  expectSums({{3}, {4096}, {4096}, 0, 0, "i32"}, 3);
}

TEST(GpuScatter, HasRowsOfItsOwnForBatches) {
  expectSums({{2, 3, 40, 8}, {2, 64}, {2, 3, 64, 8}, 2, 1}, 41);
}

/// Such as the gradient of two types of tokens; also where a list is summed up
/// several times.
TEST(GpuScatter, SharesListsOfFewWideSlices) {
  auto expectExact = [](int64_t extent, int64_t count, std::string element) {
    expectSums({{extent, 64}, {count}, {count, 64}, 0, 0, element}, extent,
               /*isExact=*/true);
  };
  for (std::string element : {"f32", "bf16", "f64"})
    expectExact(2, 700, element);
  expectExact(3, 513, "bf16");
  expectExact(16, 1500, "f32");
  expectExact(1, 64, "i32");
  expectExact(2, 5000, "f32");
  expectSums({{2, 2, 64}, {2, 300}, {2, 300, 64}, 1, 1}, 2, /*isExact=*/true);
  Context context;
  mlir::Type f32 = mlir::Float32Type::get(&context.context);
  auto types = mapScatter({{2, 768}, {4096}, 0, 0}, f32);
  ASSERT_TRUE(types);
  EXPECT_EQ(types->strips, 24);
  EXPECT_EQ(types->lanes, 16);
}

/// Sums are of f32, and rounded once.
TEST(GpuScatter, RoundsOnce) {
  expectSums({{40, 64}, {500}, {500, 64}, 0, 0, "bf16"}, 40);
}

/// Threads that each looked at all indices would take 8,000 for 16 bytes.
TEST(GpuScatter, TakesFewOperations) {
  int64_t operations = expectSums({{3000, 256}, {1000}, {1000, 256}}, 3000);
  int64_t bytes = (3000 + 1000) * 256 * 4 + 1000 * 8;
  EXPECT_LT(operations, 50 * bytes / 16);
}

/// The work of sorting grows with the list: threads that each looked at all of
/// it would take 3,000 for each index.
TEST(GpuScatter, SortsInLinearTime) {
  int64_t operations = expectSums({{256}, {20000}, {20000}}, 255);
  EXPECT_LT(operations, 150 * 20000);
}

/// Small tables have small blocks, lists with parts of any length.
TEST(GpuScatter, HasBlocksOfFewThreads) {
  for (int64_t count : {5, 33, 100, 600})
    for (int64_t extent : {1, 2, 7, 100})
      expectSums({{4, extent}, {4, count}, {4, count}, 1, 1}, extent);
  Context context;
  mlir::Type f32 = mlir::Float32Type::get(&context.context);
  auto small = mapScatter({{4, 72}, {4, 600}, 1, 1}, f32);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->threads, 128);
  EXPECT_EQ(small->slices, 72);
  EXPECT_EQ(small->parts, 32);
}

/// The gradients of GPT-2's and BERT's embeddings fill a card; a slice is read
/// and written 16 bytes at a time.
TEST(GpuScatter, FillsACard) {
  Context context;
  mlir::Type f32 = mlir::Float32Type::get(&context.context);
  auto mapped = [&](int64_t rows, int64_t count, int64_t width) {
    return mapScatter({{rows, width}, {count}, 0, 0}, f32);
  };
  EXPECT_EQ(mapped(50257, 8192, 768)->slices, 128);
  EXPECT_EQ(mapped(50257, 8192, 768)->groups, 393);
  EXPECT_EQ(mapped(50257, 8192, 768)->vector, 4);
  EXPECT_GE(mapped(30522, 4096, 768)->groups, 264);
  EXPECT_TRUE(mapped(30522, 4096, 768)->isInterleaved);
  EXPECT_FALSE(mapped(30522, 4096, 1)->isInterleaved);
  EXPECT_FALSE(mapped(512, 1, 768)); // All look at the one index.
}
