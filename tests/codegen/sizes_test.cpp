#include "codegen/sizes.h"

#include "codegen/plan/nest.h"
#include "program_text.h"

using namespace gradus;

namespace {

/// What verifySizes says of a program with one input of a shape.
std::string said(const std::string &shape) {
  ProgramText text("gradus.program @p { gradus.graph @g(%x: tensor<" + shape +
                   ">) -> () { gradus.return } }");
  std::string words = "fine";
  mlir::ScopedDiagnosticHandler handler(&text.context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          words = diagnostic.str();
                                          return mlir::success();
                                        });
  EXPECT_EQ(mlir::succeeded(verifySizes(*text.module)), words == "fine");
  return words;
}

} // namespace

TEST(Sizes, MayFillFourTebibytes) {
  EXPECT_EQ(said("4398046511104xi8"), "fine");
  EXPECT_EQ(said("1099511627776xf32"), "fine");
  EXPECT_EQ(said("0x9223372036854775807x9223372036854775807xf32"), "fine");
}

TEST(Sizes, AreSaidInWordsWhereTheyAreTooLarge) {
  EXPECT_EQ(said("99999999999x1x28x28xf32"),
            "'tensor<99999999999x1x28x28xf32>' would take 285 TiB; a tensor "
            "may have 4 TiB (see inputs.dims of the recipe)");
  EXPECT_EQ(said("4611686018427387904x4611686018427387904xf32"),
            "'tensor<4611686018427387904x4611686018427387904xf32>' would take "
            "7.7e+25 TiB; a tensor may have 4 TiB (see inputs.dims of the "
            "recipe)");
}

TEST(Sizes, OfDomainsDoNotOverflow) {
  EXPECT_EQ(product({int64_t{1} << 20, int64_t{1} << 20}), int64_t{1} << 40);
  EXPECT_EQ(product({int64_t{1} << 40, int64_t{1} << 40}), kMostPoints);
  EXPECT_EQ(product({int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
}
