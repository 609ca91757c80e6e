// Flat kernels on the emulated GPU: several segments in one launch, of any
// length and type, in vectors and one by one.

#include "check.h"
#include "tests/codegen/kernel_text.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// y = x * s + x, of a line and one number.
std::string scaled(std::string type) {
  NestText nest{{mlir::ShapedType::kDynamic},
                {},
                {},
                {{"%x", buffer({-1}, type), "(i) -> (i)"},
                 {"%s", buffer({}, type), "(i) -> ()"}},
                {{"%y", buffer({-1}, type), "(i) -> (i)"}},
                {},
                "",
                "\n ^bb0(%a: " + type + ", %b: " + type +
                    "):\n %p = arith.mulf %a, %b : " + type +
                    "\n %r = arith.addf %p, %a : " + type +
                    "\n plan.yield %r : " + type + "\n"};
  return kernelOf("scaled_" + type, nest, "flat", 0);
}

/// Several types at once: where x > 0, and its half as 16 bits.
std::string mixed() {
  NestText nest{{mlir::ShapedType::kDynamic},
                {},
                {},
                {{"%x", buffer({-1}), "(i) -> (i)"}},
                {{"%t", buffer({-1}, "i1"), "(i) -> (i)"},
                 {"%h", buffer({-1}, "bf16"), "(i) -> (i)"}},
                {},
                "",
                R"(
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %t0 = arith.cmpf ogt, %a, %zero : f32
    %p = arith.mulf %a, %half : f32
    %h0 = arith.truncf %p : f32 to bf16
    plan.yield %t0, %h0 : i1, bf16
)"};
  return kernelOf("mixed", nest, "flat", 0);
}

} // namespace

TEST(GpuFlat, ServesAnyNumberOfItems) {
  for (int64_t items : {1, 63, 131, 5000, 9001}) {
    GpuCheck check;
    check.items = items;
    check.run(scaled("f32") + scaled("f64") + scaled("bf16") + scaled("f16") +
              mixed());
  }
}

TEST(GpuFlat, TakesAsManyAsFill128Bits) {
  Context context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      scaled("f32") + scaled("f64") + scaled("bf16") + mixed(),
      &context.context);
  std::vector<int64_t> vectors;
  for (auto kernel : module->getOps<plan::KernelOp>())
    vectors.push_back(flatVector(kernel));
  EXPECT_EQ(vectors, (std::vector<int64_t>{4, 2, 8, 8}));
}
