// Types, shapes and names of tensors, and how Python's buffers write them.

#pragma once

#include "python/extension/python.h"
#include "runtime/gradus.h"

#include <string>
#include <vector>

namespace gradus::python {

/// What a gradus_tensor says, in memory of its own: it outlives the session.
struct Tensor {
  Tensor() = default;
  explicit Tensor(const gradus_tensor &tensor);

  std::string name;
  gradus_dtype dtype = GRADUS_F32;
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides; // in bytes, of a dense tensor
  Py_ssize_t bytes = 0;
};

Py_ssize_t sizeOf(gradus_dtype dtype);

/// "f32"; "?" for a number that this version does not know.
const char *nameOf(gradus_dtype dtype);

/// The character by which the buffer protocol writes a type. bf16, which the
/// protocol lacks, is written as the 16 bits that it is: "H".
const char *formatOf(gradus_dtype dtype);

/// The type that a buffer's format and item size mean; false if it is none of
/// ours, such as a struct or a string, or of another byte order.
bool dtypeOf(const char *format, Py_ssize_t itemSize, gradus_dtype &dtype);

/// "f32[32,1,28,28]"
std::string typeText(const char *dtype, const Py_ssize_t *shape, int rank);
std::string typeText(const Tensor &tensor);

/// (name, dtype, shape) as a tuple.
PyObject *describe(const Tensor &tensor);

/// A Python number made of one element.
PyObject *numberAt(const void *data, gradus_dtype dtype);

} // namespace gradus::python
