// A library call as one line of text: the same for commands that differ only in
// the addresses of their tensors, in scale and in algorithm choices. Tuning
// files and the compiler identify calls by it.
//
//   matmul f32 8x4 x f32 4x10 x f32 1x10 -> f32 8x10, relu
#pragma once

#include "runtime/library_ops.h"

#include <string>

namespace gradus::runtime {

namespace library_text {

/// Joins numbers: "8x4".
template <typename List>
std::string numbers(const List *list, const char *between = "x") {
  std::string text;
  for (unsigned i = 0; list && i < list->size(); ++i)
    text += (i ? between : "") + std::to_string(list->Get(i));
  return text;
}

/// Names a list: " strides 1x2"; empty if the list is.
template <typename List> std::string named(const char *name, const List *list) {
  return list && list->size() ? std::string(name) + numbers(list) : "";
}

inline std::string tensor(const artifact::LibraryTensor &tensor) {
  return std::string(artifact::EnumNameDType(tensor.dtype())) + " " +
         numbers(tensor.dims()) + named(" strides ", tensor.strides()) +
         named(" padded to ", tensor.padded_dims()) +
         named(" blocks ", tensor.inner_blocks()) +
         named(" of axes ", tensor.inner_axes());
}

template <typename List> std::string tensors(const List *list) {
  std::string text;
  for (unsigned i = 0; list && i < list->size(); ++i)
    text += (i ? " x " : "") + tensor(*list->Get(i));
  return text;
}

} // namespace library_text

/// The text of a command whose enumeration values are valid.
inline std::string libraryText(const artifact::LibraryCommand &command) {
  using namespace library_text;
  std::string text =
      std::string(artifact::EnumNameLibraryOp(command.op_type())) + " " +
      tensors(command.inputs()) + " -> " + tensors(command.outputs());
  if (const artifact::Windows *windows = windowsOf(command))
    text += named(", strides ", windows->strides()) +
            named(", dilations ", windows->dilations()) +
            named(", pads ", windows->pads_begin()) +
            named(" and ", windows->pads_end());
  if (activationOf(command) != artifact::Activation::none)
    text +=
        std::string(", ") + artifact::EnumNameActivation(activationOf(command));
  const artifact::Scores *scores = scoresOf(command);
  return text + (scores && scores->causal() ? ", causal" : "");
}

} // namespace gradus::runtime
