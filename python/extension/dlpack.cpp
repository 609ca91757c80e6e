// Types and devices in DLPack's numbers, and capsules of our own memory.

#include "python/extension/dlpack.h"

namespace gradus::python::dlpack {
namespace {

struct TypeRow {
  gradus_dtype dtype;
  uint8_t code;
};

constexpr TypeRow kCodes[] = {
    {GRADUS_F32, kFloat},    {GRADUS_F64, kFloat},    {GRADUS_F16, kFloat},
    {GRADUS_BF16, kBfloat},  {GRADUS_I8, kInt},       {GRADUS_I16, kInt},
    {GRADUS_I32, kInt},      {GRADUS_I64, kInt},      {GRADUS_U8, kUnsigned},
    {GRADUS_U16, kUnsigned}, {GRADUS_U32, kUnsigned}, {GRADUS_U64, kUnsigned},
    {GRADUS_BOOL, kBool},
};

/// A capsule's array with what it points to.
struct Lent {
  Managed managed;
  PyObject *owner;
  std::vector<int64_t> shape;
};

void giveBack(Managed *managed) {
  auto *lent = static_cast<Lent *>(managed->context);
  PyGILState_STATE lock = PyGILState_Ensure();
  Py_DECREF(lent->owner);
  PyGILState_Release(lock);
  delete lent;
}

/// Runs where nobody took the array out of its capsule.
void dropCapsule(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, kName))
    return;
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, kName));
  managed->free(managed);
}

} // namespace

bool dtypeOf(const Type &type, gradus_dtype &dtype) {
  for (const TypeRow &row : kCodes)
    if (row.code == type.code && sizeOf(row.dtype) * 8 == type.bits &&
        type.lanes == 1) {
      dtype = row.dtype;
      return true;
    }
  return false;
}

Type typeOf(gradus_dtype dtype) {
  for (const TypeRow &row : kCodes)
    if (row.dtype == dtype)
      return {row.code, static_cast<uint8_t>(sizeOf(dtype) * 8), 1};
  return {kUnsigned, 8, 1};
}

std::string deviceText(const Device &device) {
  const char *name = "device";
  switch (device.type) {
  case kCpu:
    return "cpu";
  case kEmulated:
    return "the emulated GPU";
  case kCuda:
    name = "cuda";
    break;
  case 8:
    name = "metal";
    break;
  case 10:
    name = "rocm";
    break;
  default:
    return "device type " + std::to_string(device.type);
  }
  return std::string(name) + ":" + std::to_string(device.number);
}

PyObject *capsule(PyObject *owner, void *data, const Tensor &tensor) {
  auto *lent = new Lent;
  lent->shape.assign(tensor.shape.begin(), tensor.shape.end());
  lent->owner = owner;
  lent->managed = {{data,
                    {kCpu, 0},
                    static_cast<int32_t>(tensor.shape.size()),
                    typeOf(tensor.dtype),
                    lent->shape.data(),
                    nullptr,
                    0},
                   lent,
                   giveBack};
  Py_INCREF(owner);
  PyObject *made = PyCapsule_New(&lent->managed, kName, dropCapsule);
  if (!made)
    giveBack(&lent->managed);
  return made;
}

} // namespace gradus::python::dlpack
