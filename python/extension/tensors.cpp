// Types of tensors, in the words of the C API, of buffers and of messages.

#include "python/extension/tensors.h"

#include "python/extension/errors.h"
#include "runtime/float_conversion.h"

#include <cstring>

namespace gradus::python {
namespace {

struct TypeRow {
  gradus_dtype dtype;
  const char *name;
  const char *format; // as buffers write it
  Py_ssize_t size;
};

constexpr TypeRow kTypes[] = {
    {GRADUS_F32, "f32", "f", 4},   {GRADUS_F64, "f64", "d", 8},
    {GRADUS_F16, "f16", "e", 2},   {GRADUS_BF16, "bf16", "H", 2},
    {GRADUS_I8, "i8", "b", 1},     {GRADUS_U8, "u8", "B", 1},
    {GRADUS_I32, "i32", "i", 4},   {GRADUS_I64, "i64", "q", 8},
    {GRADUS_BOOL, "bool", "?", 1}, {GRADUS_I16, "i16", "h", 2},
    {GRADUS_U16, "u16", "H", 2},   {GRADUS_U32, "u32", "I", 4},
    {GRADUS_U64, "u64", "Q", 8},
};

const TypeRow *rowOf(gradus_dtype dtype) {
  for (const TypeRow &row : kTypes)
    if (row.dtype == dtype)
      return &row;
  return nullptr;
}

template <typename Number> Number at(const void *data) {
  Number number;
  std::memcpy(&number, data, sizeof(number));
  return number;
}

} // namespace

Tensor::Tensor(const gradus_tensor &tensor)
    : name(tensor.name), dtype(tensor.dtype),
      shape(tensor.shape, tensor.shape + tensor.rank),
      strides(static_cast<size_t>(tensor.rank)),
      bytes(static_cast<Py_ssize_t>(tensor.bytes)) {
  Py_ssize_t stride = sizeOf(dtype);
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
}

Py_ssize_t sizeOf(gradus_dtype dtype) {
  const TypeRow *row = rowOf(dtype);
  return row ? row->size : 1;
}

const char *nameOf(gradus_dtype dtype) {
  const TypeRow *row = rowOf(dtype);
  return row ? row->name : "?";
}

const char *formatOf(gradus_dtype dtype) {
  const TypeRow *row = rowOf(dtype);
  return row ? row->format : "B";
}

bool dtypeOf(const char *format, Py_ssize_t itemSize, gradus_dtype &dtype) {
  const char *code = format ? format : "B";
  if (*code == '@' || *code == '=' || *code == '<')
    ++code;
  if (!*code || code[1])
    return false;
  // `long` and `long long` are of one size here, and have two letters.
  char letter = *code == 'l' ? 'q' : *code == 'L' ? 'Q' : *code;
  for (const TypeRow &row : kTypes)
    if (row.dtype != GRADUS_BF16 && *row.format == letter &&
        row.size == itemSize) {
      dtype = row.dtype;
      return true;
    }
  return false;
}

std::string typeText(const char *dtype, const Py_ssize_t *shape, int rank) {
  std::string text = dtype;
  text += '[';
  for (int axis = 0; axis < rank; ++axis) {
    if (axis)
      text += ',';
    text += std::to_string(shape[axis]);
  }
  return text + ']';
}

std::string typeText(const Tensor &tensor) {
  return typeText(nameOf(tensor.dtype), tensor.shape.data(),
                  static_cast<int>(tensor.shape.size()));
}

PyObject *describe(const Tensor &tensor) {
  Owned shape(PyTuple_New(static_cast<Py_ssize_t>(tensor.shape.size())));
  if (!shape)
    return nullptr;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    PyObject *size = PyLong_FromSsize_t(tensor.shape[axis]);
    if (!size ||
        PyTuple_SetItem(shape.get(), static_cast<Py_ssize_t>(axis), size) < 0)
      return nullptr;
  }
  Owned name(toText(tensor.name.c_str()));
  return name ? Py_BuildValue("(OsO)", name.get(), nameOf(tensor.dtype),
                              shape.get())
              : nullptr;
}

PyObject *numberAt(const void *data, gradus_dtype dtype) {
  switch (dtype) {
  case GRADUS_F32:
    return PyFloat_FromDouble(at<float>(data));
  case GRADUS_F64:
    return PyFloat_FromDouble(at<double>(data));
  case GRADUS_F16:
    return PyFloat_FromDouble(at<_Float16>(data));
  case GRADUS_BF16:
    return PyFloat_FromDouble(static_cast<double>(at<runtime::Bf16>(data)));
  case GRADUS_I8:
    return PyLong_FromLong(at<int8_t>(data));
  case GRADUS_U8:
    return PyLong_FromLong(at<uint8_t>(data));
  case GRADUS_I16:
    return PyLong_FromLong(at<int16_t>(data));
  case GRADUS_U16:
    return PyLong_FromLong(at<uint16_t>(data));
  case GRADUS_I32:
    return PyLong_FromLong(at<int32_t>(data));
  case GRADUS_U32:
    return PyLong_FromUnsignedLong(at<uint32_t>(data));
  case GRADUS_I64:
    return PyLong_FromLongLong(at<int64_t>(data));
  case GRADUS_U64:
    return PyLong_FromUnsignedLongLong(at<uint64_t>(data));
  case GRADUS_BOOL:
    return PyBool_FromLong(at<uint8_t>(data));
  }
  Py_RETURN_NONE;
}

} // namespace gradus::python
