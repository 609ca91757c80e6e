// The keys of `precondition`, and what is a layer norm's; see
// preconditioning.h.

#include "passes/preconditioning.h"

using namespace mlir;

namespace gradus {
namespace {

using enum recipe::Kind;
using recipe::Field;
using recipe::Keys;
using Own = PreconditionSettings;

Field kindsKey() {
  const Field kind = Field{"", choice, "\"dense\"", "a kind of layer"}.among(
      {{"dense"}, {"convolution"}, {"embedding"}, {"layer_norm"}});
  return Field{"kinds", list,
               R"(["dense", "convolution", "embedding", "layer_norm"])",
               "layers whose gradients are preconditioned"}
      .of(recipe::Fields{kind});
}

/// The keys of both types; `decay` and `pi` differ in their defaults.
recipe::Fields keysOf(std::string_view decay, std::string_view byTrace) {
  return {
      Field{"damping", number, "0.03",
            "its root is added to the diagonal of each factor"}
          .positive()
          .into(&Own::damping),
      refreshKey().into(&Own::refresh),
      Field{"block", integer, "128",
            "the largest side of the diagonal blocks that are inverted"}
          .from(1)
          .below(513)
          .into(&Own::block),
      Field{"decay", number, decay,
            "weight of what was measured before, in the mean over time; "
            "0: only the last measurement counts"}
          .from(0)
          .below(1)
          .into(&Own::decay),
      Field{"pi", boolean, byTrace,
            "whether damping is shared out by the ratio of both factors' "
            "mean eigenvalues"}
          .into(&Own::splitsByTrace),
      Field{"kl_clip", number, "null",
            "bound of the learning rate's square times the product of "
            "gradients and directions, to which all directions are scaled "
            "down"}
          .positive()
          .into(&Own::klClip),
      Field{"bias", choice, "\"plain\"",
            "whether a layer's bias keeps its gradient, or joins its weight "
            "as that of an input that is always 1"}
          .among({{"plain"}, {"joined"}})
          .into(&Own::bias),
      kindsKey().into(&Own::kinds),
      Field{"limit", integer, "8192",
            "a layer's side with more features is left alone"}
          .from(1)
          .into(&Own::limit),
      Field{"per_sample", boolean, "true",
            "whether factors are means over samples; else those of "
            "MindSpore's ThorGpu: of the mean sample for a convolution, "
            "divided by its inputs for a dense layer"}
          .under({"mindspore"}, "false")
          .into(&Own::isPerSample),
      Field{"placement", choice, "\"before_clip\"",
            "before_clip: clipping, centralization and weight decay see "
            "directions; after_weight_decay: what they have made of the "
            "gradient is preconditioned"}
          .among({{"before_clip"}, {"after_weight_decay"}})
          .into(&Own::placement),
      recipe::compat("instead of the recipe's")};
}

Field preconditionKey() {
  Field key = Field{"precondition", variant, "null",
                    "multiplies gradients by the inverse curvature of their "
                    "layers: THOR and K-FAC"}
                  .among({recipe::Choice("thor", keysOf("0.0", "false")),
                          recipe::Choice("kfac", keysOf("0.95", "true"))})
                  .typeInto(&Own::type);
  return key.switched().flagged();
}

} // namespace

const recipe::Method<PreconditionSettings> &preconditioning() {
  static const recipe::Method<PreconditionSettings> method{preconditionKey()};
  return method;
}

bool isOfLayerNorm(ParameterUpdate update) {
  auto graph = update->getParentOfType<GraphOp>();
  for (auto read : graph.getBody().front().getOps<ReadOp>())
    if (read.getState() == update.getParameterName())
      for (Operation *user : read.getResult().getUsers())
        if (auto norm = dyn_cast<LayerNormOp>(user);
            norm && norm.getInput() != read.getResult())
          return true;
  return false;
}

} // namespace gradus
