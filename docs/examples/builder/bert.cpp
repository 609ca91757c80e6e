// BERT (Devlin et al., https://arxiv.org/abs/1810.04805) for masked language
// modelling, as transformers' BertForMaskedLM. Its head is its embedding.

#include "docs/examples/builder/models.h"

namespace gradus::examples {

constexpr double kEpsilon = 1e-12;

static Tensor table(ProgramBuilder &net, const std::string &name, int64_t rows,
                    int64_t width) {
  return net.parameter("bert.embeddings." + name + ".weight", {rows, width},
                       Initializer::normal, 0.02);
}

static Tensor layer(ProgramBuilder &net, const std::string &name, Tensor x,
                    Tensor mask, const Text &text) {
  auto projected = [&](const char *part) {
    return net.dense(name + ".attention.self." + part, x, text.width);
  };
  Tensor seen = net.attention(projected("query"), projected("key"),
                              projected("value"), text.heads, {.mask = mask});
  seen = net.dense(name + ".attention.output.dense", seen, text.width);
  x = net.layerNorm(name + ".attention.output.LayerNorm", net.add(x, seen),
                    kEpsilon);
  Tensor y = net.dense(name + ".intermediate.dense", x, text.inner);
  y = net.dense(name + ".output.dense", net.gelu(y), text.width);
  return net.layerNorm(name + ".output.LayerNorm", net.add(x, y), kEpsilon);
}

void bert(ProgramBuilder &net, const Text &text) {
  Tensor ids = net.integerInput("input_ids", {text.batch, text.length}),
         mask = net.integerInput("attention_mask", {text.batch, text.length}),
         types = net.integerInput("token_type_ids", {text.batch, text.length});
  Tensor words = table(net, "word_embeddings", text.vocabulary, text.width);
  Tensor places = table(net, "position_embeddings", text.positions, text.width);
  Tensor x = net.add(
      net.lookUp(words, ids),
      net.lookUp(table(net, "token_type_embeddings", 2, text.width), types));
  x = net.add(x, net.slice(places, 0, 0, text.length));
  x = net.layerNorm("bert.embeddings.LayerNorm", x, kEpsilon);
  for (int64_t i = 0; i < text.layers; ++i)
    x = layer(net, "bert.encoder.layer." + std::to_string(i), x, mask, text);
  x = net.gelu(net.dense("cls.predictions.transform.dense", x, text.width));
  x = net.layerNorm("cls.predictions.transform.LayerNorm", x, kEpsilon);
  Tensor bias = net.parameter("cls.predictions.bias", {text.vocabulary},
                              Initializer::zeros);
  net.output("logits", net.add(net.matmul(x, words, true), bias));
}

} // namespace gradus::examples
