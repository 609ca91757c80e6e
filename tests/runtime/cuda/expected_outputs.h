// What library commands must compute, and how far off they may be: as far as
// sums in f32 whose results are rounded once, and no further.
#pragma once

#include "definitions.h"
#include "run_op.h"

namespace gradus::runtime::cuda::test {

struct Expected {
  Array numbers, allowed; // and by how much each may differ
};

inline bool isAttention(const artifact::LibraryCommandT &command) {
  return command.op.type == artifact::LibraryOp::attention ||
         command.op.type == artifact::LibraryOp::attention_backward;
}

/// Digits of a type's numbers.
inline int digitsOf(artifact::DType dtype) {
  return dtype == artifact::DType::f32   ? 24
         : dtype == artifact::DType::f16 ? 11
                                         : 8;
}

inline Arrays arraysOf(std::vector<Operand> &operands) {
  Arrays arrays;
  for (Operand &operand : operands)
    arrays.push_back(arrayOf(operand));
  return arrays;
}

/// Inputs whose numbers have all digits that their types keep. A gradient of
/// attention takes what attention gave.
inline std::vector<Operand> inputsOf(const artifact::LibraryCommandT &command,
                                     unsigned binades = 2) {
  std::vector<Operand> inputs;
  inputs.reserve(command.inputs.size());
  for (const auto &tensor : command.inputs)
    inputs.push_back(
        operandOf(fullArray(tensor->dims, unsigned(inputs.size() + 1), binades),
                  *tensor));
  if (command.op.type == artifact::LibraryOp::attention_backward) {
    Arrays in = arraysOf(inputs);
    Arrays given = attentionOf(command, in).forward(in[0], in[1], in[2]);
    inputs[3] = operandOf(given[0], *command.inputs[3]);
    inputs[5] = operandOf(given[1], *command.inputs[5]);
  }
  return inputs;
}

//===-- how far -----------------------------------------------------------===//

/// Parts of a number, for it is rounded, and of the sum of the magnitudes that
/// it is a sum of.
struct Tolerance {
  double ofNumber, ofMagnitudes;
};

/// Each addition may lose a digit of f32; convolutions by Winograd's tiles lose
/// some more. An activation in 16 bits is an approximation.
inline Tolerance toleranceOf(const artifact::LibraryCommandT &command) {
  int digits = digitsOf(command.outputs[0]->dtype);
  Tolerance tolerance{digits == 24 ? 0 : std::ldexp(1, -digits), 0x1p-17};
  if (command.op.type == artifact::LibraryOp::matmul)
    tolerance.ofMagnitudes =
        double(command.inputs[0]->dims.back() + 2) * 0x1p-23;
  if (activationOf(command) == artifact::Activation::gelu_tanh ||
      activationOf(command) == artifact::Activation::gelu_tanh_gradient)
    tolerance.ofMagnitudes = 0x1p-11;
  return tolerance;
}

/// Attention rounds the scores to 16 bits on its way, and the logarithms never.
inline double partOfLargest(const artifact::LibraryTensorT &tensor) {
  return tensor.dtype == artifact::DType::f32 ? 1e-4 : 1.0 / 64;
}

inline std::vector<Expected>
expectedOf(const artifact::LibraryCommandT &command, const Arrays &inputs) {
  Arrays outputs = definitionOf(command, inputs);
  std::vector<Expected> made;
  if (isAttention(command)) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      double largest = 0;
      for (double number : outputs[i].numbers)
        largest = std::max(largest, std::abs(number));
      double part = partOfLargest(*command.outputs[i]);
      made.push_back({outputs[i], mapped(outputs[i], [&](double) {
                        return part * largest;
                      })});
    }
    return made;
  }
  artifact::LibraryCommandT sums = command;
  Arrays magnitudes;
  for (const Array &input : inputs)
    magnitudes.push_back(magnitudesOf(input));
  if (activationOf(command) != artifact::Activation::none) {
    activationOf(sums) = artifact::Activation::none;
    sums.outputs.resize(1);
  }
  if (activationOf(command) == artifact::Activation::gelu_tanh_gradient)
    magnitudes.pop_back();
  Arrays summed = definitionOf(sums, magnitudes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tolerance tolerance = toleranceOf(i == 0 ? command : sums);
    Array allowed = summed[std::min(i, summed.size() - 1)];
    for (size_t j = 0; j < allowed.numbers.size(); ++j)
      allowed.numbers[j] = tolerance.ofMagnitudes * allowed.numbers[j] +
                           tolerance.ofNumber * std::abs(outputs[i].numbers[j]);
    made.push_back({outputs[i], allowed});
  }
  return made;
}

/// The first number that is too far off; empty where none is.
inline std::string wrongIn(const Array &found, const Expected &expected) {
  for (size_t i = 0; i < found.numbers.size(); ++i) {
    double off = std::abs(found.numbers[i] - expected.numbers.numbers[i]);
    if (!(off <= expected.allowed.numbers[i])) // NaN is wrong too
      return inWords("number ", i, " is ", found.numbers[i], ", expected ",
                     expected.numbers.numbers[i], ": off by ",
                     off / expected.allowed.numbers[i], " of what is allowed");
  }
  return "";
}

} // namespace gradus::runtime::cuda::test
