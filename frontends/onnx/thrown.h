// Exceptions end in this folder: what is thrown about a model, in words.
#pragma once

#include "frontends/caught.h"
#include "frontends/onnx/folding_budget.h"

namespace gradus::onnx {

/// Describes the exception that is being handled, ours or a library's
/// (protobuf's, or of memory): call it in a `catch` alone.
inline std::string wordsOfThrown() {
  try {
    throw;
  } catch (const FoldingLimit &limit) {
    return limit.what();
  } catch (...) {
    return wordsOfCaught();
  }
}

} // namespace gradus::onnx
