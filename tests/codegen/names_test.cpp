#include "codegen/names.h"

#include "program_text.h"

using namespace gradus;

namespace {

/// What verifyNames says of a program that has a name in each place.
std::string said(const std::string &program, const std::string &state,
                 const std::string &input, const std::string &output) {
  ProgramText text("gradus.program @\"" + program + "\" { gradus.state @\"" +
                   state +
                   "\" : tensor<f32> {role = #gradus.role<parameter>, init = "
                   "#gradus.init<zeros>} gradus.graph @g(%x as \"" +
                   input + "\": tensor<2xf32>) -> (\"" + output +
                   "\": tensor<2xf32>) { gradus.return %x : tensor<2xf32> } }");
  std::string words = "fine";
  mlir::ScopedDiagnosticHandler handler(&text.context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          words = diagnostic.str();
                                          return mlir::success();
                                        });
  EXPECT_EQ(mlir::succeeded(verifyNames(*text.module)), words == "fine");
  return words;
}

constexpr const char *kWhy =
    " is not UTF-8; rename it: files hold tensors by their names";

} // namespace

TEST(Names, MayBeAnyText) {
  EXPECT_EQ(said("caf\\C3\\A9", "a/b c\\22", "1\\0A", "\\F0\\9F\\99\\82"),
            "fine");
}

TEST(Names, ThatAreNotUtf8AreRefusedWhereverTheyStand) {
  EXPECT_EQ(said("mod\\E9le", "w", "x", "y"),
            std::string("the name of program \"mod\\xE9le\"") + kWhy);
  EXPECT_EQ(said("p", "w\\E9", "x", "y"),
            std::string("the name of tensor \"w\\xE9\"") + kWhy);
  EXPECT_EQ(said("p", "w", "x\\FF", "y"),
            std::string("the name of input \"x\\xFF\"") + kWhy);
  EXPECT_EQ(said("p", "w", "x", "y\\80"),
            std::string("the name of output \"y\\x80\"") + kWhy);
}

TEST(Names, ThatFilesKeepForThemselvesAreRefused) {
  EXPECT_EQ(said("p", "__metadata__", "x", "y"),
            "the name of tensor \"__metadata__\" is the one that .safetensors "
            "files keep for themselves; rename it: files hold tensors by their "
            "names");
  EXPECT_EQ(said("__metadata__", "w", "x", "y"), "fine");
}
