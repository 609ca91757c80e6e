// Recipes: read for a small model, and where they fit, applied by every stage
// up to `optimize`.

#include "target.h"

#include "frontends/compiler/compiler.h"

#include <fstream>

extern "C" gradus::compiler::Compiler *gradus_compiler();

namespace gradus::fuzz {
namespace {

/// Something of all that recipes are about: a convolution, a normalization,
/// dropout, a bias, classes.
constexpr const char *kModel = R"(
gradus.program @net {
  gradus.state @conv.weight : tensor<4x1x3x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @fc.weight : tensor<64x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<kaiming_uniform>}
  gradus.state @fc.bias : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @predict(%image: tensor<2x1x6x6xf32>) -> (logits: tensor<2x3xf32>) {
    %k = gradus.read @conv.weight : tensor<4x1x3x3xf32>
    %w = gradus.read @fc.weight : tensor<64x3xf32>
    %b = gradus.read @fc.bias : tensor<3xf32>
    %0 = gradus.convolution %image, %k strides [1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<2x1x6x6xf32>, tensor<4x1x3x3xf32> -> tensor<2x4x4x4xf32>
    %1 = math.tanh %0 : tensor<2x4x4x4xf32>
    %2 = gradus.dropout %1 ratio 0.25 : tensor<2x4x4x4xf32>
    %3 = gradus.reshape %2 : tensor<2x4x4x4xf32> -> tensor<2x64xf32>
    %4 = gradus.matmul %3, %w : tensor<2x64xf32>, tensor<64x3xf32> -> tensor<2x3xf32>
    %5 = gradus.broadcast %b dims [1] : tensor<3xf32> -> tensor<2x3xf32>
    %logits = arith.addf %4, %5 : tensor<2x3xf32>
    gradus.return %logits : tensor<2x3xf32>
  }
}
)";

} // namespace

void prepare(const std::vector<std::string> &) {
  std::ofstream(ownFolder() + "/net.mlir") << kModel;
}

Outcome tryInput(std::span<const uint8_t> input) {
  compiler::Request request;
  request.model = ownFolder() + "/net.mlir";
  request.recipe.file = ownFolder() + "/recipe.json";
  request.plan.threads = 1;
  request.wanted.stopAfter = "optimize";
  std::ofstream(request.recipe.file, std::ios::binary)
      .write(reinterpret_cast<const char *>(input.data()),
             static_cast<std::streamsize>(input.size()));
  auto result = gradus_compiler()->compile(request);
  if (!result.ok())
    return {Outcome::refused, std::string(result.status().message())};
  return {};
}

} // namespace gradus::fuzz
