// What a driver says of a machine with one card that another program has for
// itself; all else is stub_driver.cpp's.

#include "runtime/cuda/driver/driver_abi.h"

#include <cstdio>

using namespace gradus::runtime::cuda;

extern "C" {

Result cuInit(unsigned) { return Result::success; }

Result cuDriverGetVersion(int *version) {
  *version = 13000;
  return Result::success;
}

Result cuDeviceGetCount(int *count) {
  *count = 1;
  return Result::success;
}

Result cuDeviceGet(DeviceNumber *device, int) {
  *device = 0;
  return Result::success;
}

Result cuDeviceGetName(char *name, int bytes, DeviceNumber) {
  std::snprintf(name, size_t(bytes), "a stub of a card");
  return Result::success;
}

Result cuDeviceGetAttribute(int *value, DeviceAttribute, DeviceNumber) {
  *value = 9;
  return Result::success;
}

Result cuDeviceTotalMem_v2(size_t *bytes, DeviceNumber) {
  *bytes = size_t(1) << 30;
  return Result::success;
}

Result cuDevicePrimaryCtxRetain(Context *, DeviceNumber) {
  return Result::deviceUnavailable;
}
}
