// Arrays of Python as inputs: by the buffer protocol (numpy) or DLPack
// (PyTorch, JAX), without a copy where they are dense and of the right type.

#pragma once

#include "python/extension/dlpack.h"

namespace gradus::python {

/// One array that was given for a tensor, held until it goes away. `data` is
/// the array's own memory, or a copy's: of an array that is not contiguous, of
/// integers that had to be widened (int32 labels), of a Python number.
class Argument {
public:
  Argument() = default;
  Argument(const Argument &) = delete;
  Argument &operator=(const Argument &) = delete;
  ~Argument() { release(); }

  /// Reads `object` as the tensor; false with Python's error set, which names
  /// `what` ("input") and the tensor, what was found and what is expected. An
  /// array in the memory of `device` is taken where it is.
  bool read(const char *what, const Tensor &tensor, PyObject *object,
            const dlpack::Device &device = dlpack::kHost);

  void release();

  const void *data() const { return data_; }
  /// Whether that is in the memory of the device.
  bool onDevice() const { return onDevice_; }
  /// The object whose buffer is held; nullptr for an array by DLPack, or a
  /// number, of which Python's collector sees no holder.
  PyObject *object() const { return viewed_ ? view_.obj : nullptr; }

  bool copied() const { return copy_ != nullptr; }

private:
  /// An array as both protocols describe it; strides count bytes.
  struct Found {
    const char *data = nullptr;
    gradus_dtype dtype = GRADUS_F32;
    int rank = 0;
    const Py_ssize_t *shape = nullptr;
    const Py_ssize_t *strides = nullptr; // nullptr: dense
  };

  bool readBuffer(const char *what, const Tensor &tensor, PyObject *object);
  bool readDlpack(const char *what, const Tensor &tensor, PyObject *object,
                  const dlpack::Device &device);
  bool readNumber(const char *what, const Tensor &tensor, PyObject *object);
  bool refuse(const char *what, const Tensor &tensor, PyObject *object,
              const dlpack::Device &device);
  bool take(const char *what, const Tensor &tensor, const Found &found);
  bool convert(const Tensor &tensor, const Found &found);

  const void *data_ = nullptr;
  void *copy_ = nullptr;
  Py_buffer view_ = {};
  bool viewed_ = false, onDevice_ = false;
  PyObject *capsule_ = nullptr;
};

} // namespace gradus::python
