// Work on rows of one dimension gives the same as on several.

#include "tests/codegen/compiled_run.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

void check(const std::string &arguments, const std::string &body) {
  CompiledRun run(graphProgram(arguments, body));
  run.run("merge-rows", 1e-4);
}

const std::string kRows = "%r = gradus.reshape %x : tensor<12x10xf32> -> "
                          "tensor<3x4x10xf32>\n";

TEST(MergeRows, OfALayerNormWithWeights) {
  check("%x: tensor<12x10xf32>, %g: tensor<10xf32>) -> (y: tensor<12x10xf32>",
        kRows + R"(
  %m = gradus.reduce mean %r axes [2] : tensor<3x4x10xf32> -> tensor<3x4xf32>
  %mb = gradus.broadcast %m dims [0, 1] : tensor<3x4xf32> -> tensor<3x4x10xf32>
  %c = arith.subf %r, %mb : tensor<3x4x10xf32>
  %s = arith.mulf %c, %c : tensor<3x4x10xf32>
  %v = gradus.reduce mean %s axes [2] : tensor<3x4x10xf32> -> tensor<3x4xf32>
  %d = math.sqrt %v : tensor<3x4xf32>
  %db = gradus.broadcast %d dims [0, 1] : tensor<3x4xf32> -> tensor<3x4x10xf32>
  %n = arith.divf %c, %db : tensor<3x4x10xf32>
  %gb = gradus.broadcast %g dims [2] : tensor<10xf32> -> tensor<3x4x10xf32>
  %w = arith.mulf %n, %gb : tensor<3x4x10xf32>
  %y = gradus.reshape %w : tensor<3x4x10xf32> -> tensor<12x10xf32>
  gradus.return %y : tensor<12x10xf32>)");
}

TEST(MergeRows, BesideWhatHasOtherRows) {
  check("%x: tensor<12x10xf32>, %e: tensor<4x10xf32>, %f: tensor<3x10xf32>) "
        "-> (y: tensor<3x4x10xf32>, s: tensor<4x10xf32>, t: tensor<10xf32>",
        kRows + R"(
  %a = gradus.broadcast %e dims [1, 2] : tensor<4x10xf32> -> tensor<3x4x10xf32>
  %b = gradus.broadcast %f dims [0, 2] : tensor<3x10xf32> -> tensor<3x4x10xf32>
  %u = arith.addf %r, %a : tensor<3x4x10xf32>
  %y = arith.mulf %u, %b : tensor<3x4x10xf32>
  %s = gradus.reduce sum %y axes [0] : tensor<3x4x10xf32> -> tensor<4x10xf32>
  %t = gradus.reduce sum %y axes [0, 1] : tensor<3x4x10xf32> -> tensor<10xf32>
  gradus.return %y, %s, %t : tensor<3x4x10xf32>, tensor<4x10xf32>, tensor<10xf32>)");
}

/// However many ways lead to a value, and however deep it is.
TEST(MergeRows, OfWhatIsReadTwiceAgainAndAgain) {
  std::string body = kRows + "%v0 = arith.mulf %e, %e : tensor<3x4x10xf32>\n";
  for (int i = 0; i < 500; ++i)
    body += "%v" + std::to_string(i + 1) + " = arith.maximumf %v" +
            std::to_string(i) + ", %v" + std::to_string(i) +
            " : tensor<3x4x10xf32>\n";
  check("%x: tensor<12x10xf32>, %e: tensor<3x4x10xf32>) -> (y: "
        "tensor<3x4x10xf32>",
        body + "%y = arith.addf %r, %v500 : tensor<3x4x10xf32>\n"
               "gradus.return %y : tensor<3x4x10xf32>");
}

} // namespace
