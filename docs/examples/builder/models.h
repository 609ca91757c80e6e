// Well-known models, each a function that writes it into a ProgramBuilder.
// Parameters have the names of PyTorch's (torchvision, transformers) models.

#pragma once

#include "frontends/builder/program_builder.h"

namespace gradus::examples {

/// Square images in classes; `width` is that of the first stage.
struct Images {
  int64_t batch, size, classes, width;
};

/// Tokens through a transformer.
struct Text {
  int64_t batch, length, vocabulary, positions, width, layers, heads;
};

void lenet5(ProgramBuilder &net, const Images &images);
void resnet18(ProgramBuilder &net, const Images &images);
void resnet50(ProgramBuilder &net, const Images &images);
void bert(ProgramBuilder &net, const Text &text);
void gpt2(ProgramBuilder &net, const Text &text);

} // namespace gradus::examples
