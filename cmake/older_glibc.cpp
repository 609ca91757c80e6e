// LLVM calls functions that glibc has only since its version 2.36. This file
// defines them for libraries that run with older ones (GRADUS_STATIC_LLVM).

#include <cstdint>
#include <sys/random.h>

/// A random number, by which LLVM names temporary files.
extern "C" uint32_t arc4random() {
  uint32_t number = 0;
  while (getrandom(&number, sizeof(number), 0) !=
         static_cast<ssize_t>(sizeof(number)))
    ;
  return number;
}
