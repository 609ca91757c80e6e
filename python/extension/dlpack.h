// DLPack's structs (https://dmlc.github.io/dlpack, version 0.8), by which
// arrays of other libraries are taken and states are given without a copy.

#pragma once

#include "python/extension/tensors.h"

#include <cstdint>

namespace gradus::python::dlpack {

struct Device {
  int32_t type; // kCpu or another's number
  int32_t number;
};

struct Type {
  uint8_t code; // kInt, ...
  uint8_t bits;
  uint16_t lanes;
};

struct Array {
  void *data;
  Device device;
  int32_t rank;
  Type type;
  int64_t *shape;
  int64_t *strides; // in elements; nullptr: dense
  uint64_t offset;  // of the first element in `data`, in bytes
};

struct Managed {
  Array array;
  void *context;
  void (*free)(Managed *);
};

constexpr char kName[] = "dltensor"; // of the capsule, until it is taken
// kEmulated is DLPack's number for devices that it does not know.
constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kEmulated = 12;
constexpr Device kHost = {kCpu, 0};
constexpr uint8_t kInt = 0, kUnsigned = 1, kFloat = 2, kBfloat = 4, kBool = 6;

/// The type in our numbers; false if we have none for it.
bool dtypeOf(const Type &type, gradus_dtype &dtype);
Type typeOf(gradus_dtype dtype);

/// "cuda:0", "the emulated GPU"
std::string deviceText(const Device &device);

/// A capsule of the memory at `data`, which keeps `owner` alive.
PyObject *capsule(PyObject *owner, void *data, const Tensor &tensor);

} // namespace gradus::python::dlpack
