// Training methods as recipe keys; see method_fields.h. What they do is said in
// docs/methods/.

#include "frontends/recipe/method_fields.h"

#include "frontends/recipe/optimizer_fields.h"

namespace gradus::recipe {

using enum Kind;

Field lessBn() {
  return Field{"less_bn", object, "null",
               "takes batch normalizations out of blocks that have several"}
      .of({patterns("keep", "[]", "batch normalizations to keep")})
      .switched();
}

Field fcToFn() {
  return Field{"fc_to_fn", object, "null",
               "normalizes the inputs and weights of the last dense layer"}
      .of({Field{"epsilon", number, "0.0001",
                 "the least square of a norm that is divided by"}
               .from(1e-30),
           {"bias", boolean, "false", "whether it keeps its bias"}})
      .switched();
}

Field gradientCentralization() {
  const Field placement =
      Field{"placement", choice, "null",
            "before_weight_decay centers what the loss says, "
            "after_weight_decay the decay too; null: before, with compat "
            "mindspore after"}
          .among({{"before_weight_decay"}, {"after_weight_decay"}});
  const Field kind = Field{"", choice, "\"dense\"", "a kind of weight"}.among(
      {{"convolution"}, {"dense"}, {"embedding"}});
  return Field{"gradient_centralization", object, "null",
               "gives the gradients of weights zero mean for each output"}
      .of({placement,
           Field{"kinds", list, R"(["convolution", "dense"])",
                 "weights of which layers"}
               .of({kind}),
           compat("null", "instead of the recipe's")})
      .switched();
}

Field gradientFreeze() {
  const Field group = Field{"", integer, "0", "a group"}.from(0);
  const Field step = Field{"", integer, "0", "a step"}.from(0);
  return Field{"gradient_freeze", object, "null",
               "lets a part of the steps train the last layers alone"}
      .of({Field{"groups", integer, "10",
                 "places to begin from; the first one is everything"}
               .from(1),
           Field{"type", integer, "1",
                 "0: frozen steps come in turn; 1: they are drawn, by `seed`"}
               .from(0)
               .below(2),
           Field{"p", number, "0.7", "part of the steps that train everything"}
               .from(0)
               .below(1),
           Field{"total_steps", integer, "65536", "steps until it begins again"}
               .from(1)
               .below(1 << 24),
           Field{"strategy", list, "null",
                 "the group of each step, instead of type, p and total_steps"}
               .of({group}),
           Field{"from", named, "null",
                 "by names or patterns of parameters: the step from which on "
                 "they rest; this, `until` and `last_layers` say by hand what "
                 "rests, instead of groups that are drawn"}
               .of({step}),
           Field{"until", named, "null",
                 "by names or patterns of parameters: the step before which "
                 "they rest"}
               .of({step}),
           Field{"last_layers", integer, "null",
                 "so many layers are trained, the others never"}
               .from(1),
           compat("null", "instead of the recipe's")})
      .switched();
}

} // namespace gradus::recipe
