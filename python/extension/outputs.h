// The type `Outputs`: what one run of a graph gave. Numbers are Python's,
// arrays show the memory that the run wrote to.

#pragma once

#include "python/extension/tensors.h"

#include <memory>

namespace gradus::python {

/// The outputs of a graph, and where each one lies in the memory of a run.
class OutputPlan {
public:
  ~OutputPlan() { Py_XDECREF(numbers_); }

  /// False with Python's error set.
  bool add(Tensor tensor);

  const std::vector<Tensor> &tensors() const { return tensors_; }
  size_t offset(size_t output) const { return offsets_[output]; }
  size_t bytes() const { return bytes_; }
  /// A dictionary from the name to the number; its order is that of outputs.
  PyObject *numbers() const { return numbers_; }

private:
  std::vector<Tensor> tensors_;
  std::vector<size_t> offsets_;
  size_t bytes_ = 0;
  PyObject *numbers_ = nullptr;
};

extern PyTypeObject *outputsType;
bool makeOutputsType();

/// Memory for one run; `addresses` gets where each output shall be written.
PyObject *makeOutputs(const std::shared_ptr<const OutputPlan> &plan,
                      void **addresses);

} // namespace gradus::python
