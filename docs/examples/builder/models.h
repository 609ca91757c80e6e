// Well-known models, each a function that writes it into a ProgramBuilder.
// Parameters have the names of PyTorch's (torchvision, transformers) models.

#pragma once

#include "frontends/builder/program_builder.h"

namespace gradus::examples {

/// How a ResNet begins: with a convolution, and a max pool of 3x3 or none.
struct Stem {
  int64_t size = 3, stride = 1;
  bool pools = false;
};
inline constexpr Stem kLargeStem = {7, 2, true};

/// Square images in classes.
struct Images {
  int64_t batch, size, classes;
  std::vector<int64_t> widths = {64, 128, 256, 512}; // of a ResNet's stages
  Stem stem = {};
  bool smooth = false; // LeNet-5 by tanh and averages, not ReLU and maxima
};

/// Tokens through a transformer.
struct Text {
  int64_t batch, length, vocabulary, positions, width, layers, heads;
  int64_t inner = 4 * width; // of BERT's feed-forward layers
};

void lenet5(ProgramBuilder &net, const Images &images);
void resnet18(ProgramBuilder &net, const Images &images);
void resnet50(ProgramBuilder &net, const Images &images);
void bert(ProgramBuilder &net, const Text &text);
void gpt2(ProgramBuilder &net, const Text &text);

} // namespace gradus::examples
