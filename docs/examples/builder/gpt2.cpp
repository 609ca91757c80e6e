// GPT-2 (Radford et al., 2019), as transformers' GPT2LMHeadModel. Its head is
// its embedding.

#include "docs/examples/builder/models.h"

namespace gradus::examples {

static Tensor attention(ProgramBuilder &net, const std::string &name, Tensor x,
                        const Text &text) {
  Tensor all = net.dense(name + ".c_attn", x, 3 * text.width);
  auto part = [&](int64_t which) {
    return net.slice(all, 2, which * text.width, text.width);
  };
  Tensor seen =
      net.attention(part(0), part(1), part(2), text.heads, {.causal = true});
  return net.dense(name + ".c_proj", seen, text.width);
}

static Tensor feedForward(ProgramBuilder &net, const std::string &name,
                          Tensor x, const Text &text) {
  Tensor y = net.dense(name + ".c_fc", x, 4 * text.width);
  return net.dense(name + ".c_proj", net.gelu(y, /*byTanh=*/true), text.width);
}

void gpt2(ProgramBuilder &net, const Text &text) {
  Tensor ids = net.integerInput("input_ids", {text.batch, text.length});
  Tensor words =
      net.parameter("transformer.wte.weight", {text.vocabulary, text.width},
                    Initializer::normal, 0.02);
  Tensor places =
      net.parameter("transformer.wpe.weight", {text.positions, text.width},
                    Initializer::normal, 0.02);
  Tensor x =
      net.add(net.lookUp(words, ids), net.slice(places, 0, 0, text.length));
  for (int64_t i = 0; i < text.layers; ++i) {
    std::string name = "transformer.h." + std::to_string(i);
    x = net.add(x, attention(net, name + ".attn",
                             net.layerNorm(name + ".ln_1", x), text));
    x = net.add(x, feedForward(net, name + ".mlp",
                               net.layerNorm(name + ".ln_2", x), text));
  }
  x = net.layerNorm("transformer.ln_f", x);
  net.output("logits", net.matmul(x, words, true));
}

} // namespace gradus::examples
