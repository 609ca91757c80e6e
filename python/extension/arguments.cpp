// Reads arrays of Python as tensors of a fixed type and shape.

#include "python/extension/arguments.h"

#include "python/extension/errors.h"

#include <cstring>

namespace gradus::python {
namespace {

enum class Kind { real, integer, natural, truth };

Kind kindOf(gradus_dtype dtype) {
  switch (dtype) {
  case GRADUS_F32:
  case GRADUS_F64:
  case GRADUS_F16:
  case GRADUS_BF16:
    return Kind::real;
  case GRADUS_BOOL:
    return Kind::truth;
  case GRADUS_U8:
  case GRADUS_U16:
  case GRADUS_U32:
  case GRADUS_U64:
    return Kind::natural;
  default:
    return Kind::integer;
  }
}

/// Whether each integer of the first type is one of the second, which is wider.
bool widens(gradus_dtype from, gradus_dtype to) {
  Kind source = kindOf(from), target = kindOf(to);
  if (source == Kind::real || source == Kind::truth ||
      (target != Kind::integer && target != Kind::natural))
    return false;
  return sizeOf(from) < sizeOf(to) &&
         (source == Kind::natural || target == Kind::integer);
}

int64_t integerAt(const char *data, gradus_dtype dtype) {
  int64_t value = 0;
  Py_ssize_t size = sizeOf(dtype);
  std::memcpy(&value, data, static_cast<size_t>(size));
  // The sign of a narrower integer is spread over the bytes above it.
  if (kindOf(dtype) == Kind::integer && size < 8) {
    int above = static_cast<int>(64 - 8 * size);
    value =
        static_cast<int64_t>(static_cast<uint64_t>(value) << above) >> above;
  }
  return value;
}

/// Copies an array into dense memory, element by element, widening integers.
class DenseCopy {
public:
  DenseCopy(char *target, gradus_dtype to, gradus_dtype from, int rank,
            const Py_ssize_t *shape, const Py_ssize_t *strides)
      : target_(target), to_(to), from_(from), rank_(rank), shape_(shape),
        strides_(strides) {}

  void run(const char *source, int axis = 0) {
    if (axis == rank_) {
      if (to_ == from_) {
        std::memcpy(target_, source, static_cast<size_t>(sizeOf(to_)));
      } else {
        int64_t value = integerAt(source, from_);
        std::memcpy(target_, &value, static_cast<size_t>(sizeOf(to_)));
      }
      target_ += sizeOf(to_);
      return;
    }
    for (Py_ssize_t i = 0; i < shape_[axis]; ++i)
      run(source + i * strides_[axis], axis + 1);
  }

private:
  char *target_;
  gradus_dtype to_, from_;
  int rank_;
  const Py_ssize_t *shape_, *strides_;
};

/// Says at the end of a message how the array could be made to fit.
const char *advice(gradus_dtype found, gradus_dtype expected, bool sameShape) {
  if (found == expected || !sameShape)
    return "";
  if (kindOf(expected) == Kind::real && found == GRADUS_U8)
    return "; pixels are divided by 255 and normalized by the caller, and "
           "converted by .astype(\"float32\") or .float()";
  if (kindOf(expected) == Kind::real)
    return "; convert it, as by .astype(\"float32\") or .float()";
  return "; convert it, as by .astype() or .to()";
}

bool isDense(const Py_ssize_t *shape, const Py_ssize_t *strides, int rank,
             Py_ssize_t size) {
  if (!strides)
    return true;
  for (int axis = rank; axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != size)
      return false;
    size *= shape[axis];
  }
  return true;
}

bool isHost(const dlpack::Device &device) {
  return device.type == dlpack::kCpu || device.type == dlpack::kCudaHost;
}

bool isSame(const dlpack::Device &one, const dlpack::Device &other) {
  return one.type == other.type && one.number == other.number;
}

/// Finds where an array lies; false with Python's error set.
bool deviceOf(PyObject *object, dlpack::Device &found) {
  if (!PyObject_HasAttrString(object, "__dlpack_device__"))
    return true;
  Owned said(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
  if (!said)
    return false;
  int32_t numbers[2];
  for (Py_ssize_t i = 0; i < 2; ++i) {
    Owned item(PySequence_GetItem(said.get(), i));
    if (!item)
      return false;
    numbers[i] = static_cast<int32_t>(PyLong_AsLong(item.get()));
    if (PyErr_Occurred())
      return false;
  }
  found = {numbers[0], numbers[1]};
  return true;
}

/// "the host's memory", "the host's memory or on cuda:0"
std::string placesOf(const dlpack::Device &device) {
  std::string host = "the host's memory";
  return isHost(device) ? host : host + " or on " + dlpack::deviceText(device);
}

/// The capsule of an array. One on `device` says with stream 1, the default
/// one, that work there comes behind what makes the array.
PyObject *capsuleOf(PyObject *object, const dlpack::Device &device) {
  dlpack::Device found = dlpack::kHost;
  if (!isHost(device) && !deviceOf(object, found))
    return nullptr;
  if (isHost(found) || !isSame(found, device))
    return PyObject_CallMethod(object, "__dlpack__", nullptr);
  Owned method(PyObject_GetAttrString(object, "__dlpack__"));
  Owned none(PyTuple_New(0)), named(Py_BuildValue("{s:i}", "stream", 1));
  return method && none && named
             ? PyObject_Call(method.get(), none.get(), named.get())
             : nullptr;
}

} // namespace

void Argument::release() {
  if (viewed_)
    PyBuffer_Release(&view_);
  viewed_ = false;
  Py_CLEAR(capsule_);
  if (copy_)
    PyMem_Free(copy_);
  copy_ = nullptr;
  data_ = nullptr;
  onDevice_ = false;
}

bool Argument::read(const char *what, const Tensor &tensor, PyObject *object,
                    const dlpack::Device &device) {
  if (PyObject_CheckBuffer(object))
    return readBuffer(what, tensor, object);
  if (tensor.shape.empty() && (PyFloat_Check(object) || PyLong_Check(object)))
    return readNumber(what, tensor, object);
  return readDlpack(what, tensor, object, device);
}

bool Argument::readBuffer(const char *what, const Tensor &tensor,
                          PyObject *object) {
  if (PyObject_GetBuffer(object, &view_, PyBUF_RECORDS_RO) < 0)
    return refuse(what, tensor, object, dlpack::kHost);
  viewed_ = true;
  Found found{static_cast<const char *>(view_.buf), GRADUS_F32, view_.ndim,
              view_.shape, view_.strides};
  if (!dtypeOf(view_.format, view_.itemsize, found.dtype)) {
    raiseInvalid("%s \"%s\": expected %s, found an array whose elements are "
                 "\"%s\" of %zd bytes",
                 what, tensor.name.c_str(), typeText(tensor).c_str(),
                 view_.format ? view_.format : "B", view_.itemsize);
    return false;
  }
  return take(what, tensor, found);
}

bool Argument::readNumber(const char *what, const Tensor &tensor,
                          PyObject *object) {
  if (!(copy_ = PyMem_Malloc(8)))
    return PyErr_NoMemory() != nullptr;
  data_ = copy_;
  if (tensor.dtype == GRADUS_F32 || tensor.dtype == GRADUS_F64) {
    double number = PyFloat_AsDouble(object);
    auto single = static_cast<float>(number);
    if (tensor.dtype == GRADUS_F64)
      std::memcpy(copy_, &number, sizeof(number));
    else
      std::memcpy(copy_, &single, sizeof(single));
    return !PyErr_Occurred();
  }
  if (tensor.dtype == GRADUS_I64 && PyLong_Check(object)) {
    long long number = PyLong_AsLongLong(object);
    std::memcpy(copy_, &number, sizeof(number));
    return !PyErr_Occurred();
  }
  raiseInvalid("%s \"%s\": expected %s, found a Python number; give an array "
               "of this type",
               what, tensor.name.c_str(), typeText(tensor).c_str());
  return false;
}

bool Argument::readDlpack(const char *what, const Tensor &tensor,
                          PyObject *object, const dlpack::Device &device) {
  if (!PyObject_HasAttrString(object, "__dlpack__")) {
    Owned type(PyType_GetName(Py_TYPE(object)));
    if (type)
      PyErr_Format(exceptions().invalid,
                   "%s \"%s\": expected an array of %s (numpy, PyTorch, or "
                   "any with the buffer protocol or DLPack), found %U",
                   what, tensor.name.c_str(), typeText(tensor).c_str(),
                   type.get());
    return false;
  }
  capsule_ = capsuleOf(object, device);
  if (!capsule_)
    return refuse(what, tensor, object, device);
  if (!PyCapsule_IsValid(capsule_, dlpack::kName)) {
    raiseInvalid("%s \"%s\": its __dlpack__() gave no capsule of an array",
                 what, tensor.name.c_str());
    return false;
  }
  const auto &array = static_cast<dlpack::Managed *>(
                          PyCapsule_GetPointer(capsule_, dlpack::kName))
                          ->array;
  onDevice_ = !isHost(array.device) && isSame(array.device, device);
  if (!onDevice_ && !isHost(array.device)) {
    raiseInvalid("%s \"%s\": the array is on %s; expected one in %s; .cpu() "
                 "gives one that the host has",
                 what, tensor.name.c_str(),
                 dlpack::deviceText(array.device).c_str(),
                 placesOf(device).c_str());
    return false;
  }
  Found found{static_cast<const char *>(array.data) + array.offset, GRADUS_F32,
              array.rank, nullptr, nullptr};
  if (!dlpack::dtypeOf(array.type, found.dtype)) {
    raiseInvalid("%s \"%s\": expected %s, found an array of DLPack's type "
                 "%d with %d bits",
                 what, tensor.name.c_str(), typeText(tensor).c_str(),
                 array.type.code, array.type.bits);
    return false;
  }
  static_assert(sizeof(int64_t) == sizeof(Py_ssize_t));
  std::vector<Py_ssize_t> shape(array.shape, array.shape + array.rank), strides;
  if (array.strides)
    for (int axis = 0; axis < array.rank; ++axis)
      strides.push_back(array.strides[axis] * sizeOf(found.dtype));
  found.shape = shape.data();
  found.strides = array.strides ? strides.data() : nullptr;
  return take(what, tensor, found);
}

namespace {

/// "Tensor on cuda:0"; "" with Python's error set.
std::string describe(PyObject *object) {
  Owned type(PyType_GetName(Py_TYPE(object)));
  const char *name =
      type ? PyUnicode_AsUTF8AndSize(type.get(), nullptr) : nullptr;
  dlpack::Device found = dlpack::kHost;
  if (!name)
    return "";
  if (!deviceOf(object, found)) {
    PyErr_Clear(); // The array's library has refused it already.
    return name;
  }
  return isHost(found) ? name
                       : std::string(name) + " on " + dlpack::deviceText(found);
}

} // namespace

/// Says which array it is whose library did not lend its memory, and the
/// library's own reason.
bool Argument::refuse(const char *what, const Tensor &tensor, PyObject *object,
                      const dlpack::Device &device) {
  if (!PyErr_ExceptionMatches(PyExc_BufferError) &&
      !PyErr_ExceptionMatches(PyExc_ValueError))
    return false; // no refusal: Ctrl-C, a mistake in the array's own code
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  Owned kind(type), reason(value), place(trace);
  std::string found = describe(object);
  if (!found.empty())
    PyErr_Format(exceptions().invalid,
                 "%s \"%s\": expected an array of %s that can be read in %s; "
                 "the %s that was found says: %S",
                 what, tensor.name.c_str(), typeText(tensor).c_str(),
                 placesOf(device).c_str(), found.c_str(), value ? value : type);
  return false;
}

bool Argument::take(const char *what, const Tensor &tensor,
                    const Found &found) {
  bool sameShape = found.rank == static_cast<int>(tensor.shape.size()) &&
                   (found.rank == 0 ||
                    std::memcmp(found.shape, tensor.shape.data(),
                                tensor.shape.size() * sizeof(Py_ssize_t)) == 0);
  // Buffers have no letter for bf16: its 16 bits come as u16.
  bool sameType = found.dtype == tensor.dtype ||
                  (tensor.dtype == GRADUS_BF16 && found.dtype == GRADUS_U16);
  if (!sameShape || (!sameType && !widens(found.dtype, tensor.dtype))) {
    raiseInvalid("%s \"%s\": expected %s, found %s%s", what,
                 tensor.name.c_str(), typeText(tensor).c_str(),
                 typeText(nameOf(found.dtype), found.shape, found.rank).c_str(),
                 advice(found.dtype, tensor.dtype, sameShape));
    return false;
  }
  if (sameType &&
      isDense(found.shape, found.strides, found.rank, sizeOf(found.dtype))) {
    data_ = found.data;
    return true;
  }
  if (!onDevice_)
    return convert(tensor, found);
  raiseInvalid(
      "%s \"%s\": expected a dense array of %s, found %s in the memory "
      "of a device; make it one there, as by .contiguous() or .to()",
      what, tensor.name.c_str(), typeText(tensor).c_str(),
      sameType
          ? "another order of elements"
          : typeText(nameOf(found.dtype), found.shape, found.rank).c_str());
  return false;
}

bool Argument::convert(const Tensor &tensor, const Found &found) {
  copy_ = PyMem_Malloc(tensor.bytes ? static_cast<size_t>(tensor.bytes) : 1);
  if (!copy_) {
    PyErr_NoMemory();
    return false;
  }
  data_ = copy_;
  std::vector<Py_ssize_t> dense;
  const Py_ssize_t *strides = found.strides;
  if (!strides) {
    dense.resize(tensor.shape.size());
    Py_ssize_t stride = sizeOf(found.dtype);
    for (size_t axis = dense.size(); axis-- > 0;) {
      dense[axis] = stride;
      stride *= tensor.shape[axis];
    }
    strides = dense.data();
  }
  gradus_dtype to = tensor.dtype == GRADUS_BF16 ? found.dtype : tensor.dtype;
  DenseCopy(static_cast<char *>(copy_), to, found.dtype, found.rank,
            tensor.shape.data(), strides)
      .run(found.data);
  return true;
}

} // namespace gradus::python
