// A library with the names of a driver: whole, where each function says that
// there is no GPU, unless stub_card.cpp says something else; or one of CUDA
// 11.4, which has its version alone.

#include "runtime/cuda/driver/driver_abi.h"

using namespace gradus::runtime::cuda;

extern "C" {

#ifdef GRADUS_OLD_DRIVER
Result cuDriverGetVersion(int *version) {
  *version = 11040;
  return Result::success;
}
#else
#define GRADUS_CUDA(needs, name, symbol, parameters)                           \
  [[gnu::weak]] Result symbol parameters { return Result::noDevice; }
#include "runtime/cuda/driver/driver.def"
#endif
}
