// A library with the names of cuBLASLt, which writes down what it is asked for
// and multiplies nothing; or an old one, or one without a GPU.

#include "runtime/cuda/libraries/cublaslt_library.h"

#include "stub_record.h"

#include <algorithm>
#include <cstdlib>
#include <map>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::cublaslt;

namespace {

/// Attributes of a descriptor, as numbers.
struct Numbers {
  std::map<int, uint64_t> values;

  Code set(int attribute, const void *value, size_t bytes) {
    uint64_t number = 0;
    if (bytes > sizeof(number))
      return Code::invalidValue;
    std::copy_n(static_cast<const char *>(value), bytes,
                reinterpret_cast<char *>(&number));
    values[attribute] = number;
    return Code::success;
  }
};

template <typename T> Numbers &numbersOf(T *descriptor) {
  return *reinterpret_cast<Numbers *>(descriptor);
}

/// "0: 14, 2: 768"
template <typename T> std::string toText(T *descriptor) {
  std::string text;
  for (auto [attribute, number] : numbersOf(descriptor).values)
    append(text, text.empty() ? "" : ", ", attribute, ": ", number);
  return text;
}

template <typename T> Code create(T **descriptor) {
  *descriptor = reinterpret_cast<T *>(new Numbers);
  return Code::success;
}

template <typename T> Code destroy(T *descriptor) {
  delete reinterpret_cast<Numbers *>(descriptor);
  return Code::success;
}

/// Algorithms of this library: their numbers are their bytes of workspace.
constexpr uint64_t kAlgorithms[] = {65536, 4096, 1000};

} // namespace

extern "C" {

size_t cublasLtGetVersion() {
#ifdef GRADUS_OLD_LIBRARY
  return 110800;
#else
  return 130100;
#endif
}

const char *cublasLtGetStatusName(Code code) {
  return code == Code::notInitialized ? "CUBLAS_STATUS_NOT_INITIALIZED"
                                      : "CUBLAS_STATUS_INVALID_VALUE";
}

const char *cublasLtGetStatusString(Code) { return "the stub's words"; }

Code cublasLtCreate(Handle *handle) {
#ifdef GRADUS_LIBRARY_WITHOUT_GPU
  return Code::notInitialized;
#else
  *handle = reinterpret_cast<Handle>(&written);
  written += "create\n";
  return Code::success;
#endif
}

Code cublasLtDestroy(Handle) {
  written += "destroy\n";
  return Code::success;
}

Code cublasLtMatmulDescCreate(Matmul *matmul, Compute compute, Type scale) {
  append(written, "matmul computes ", int(compute), ", scales ", int(scale),
         "\n");
  return create(matmul);
}

Code cublasLtMatmulDescDestroy(Matmul matmul) { return destroy(matmul); }

Code cublasLtMatmulDescSetAttribute(Matmul matmul, MatmulAttribute attribute,
                                    const void *value, size_t bytes) {
  return numbersOf(matmul).set(int(attribute), value, bytes);
}

Code cublasLtMatrixLayoutCreate(Layout *layout, Type type, uint64_t rows,
                                uint64_t columns, int64_t lead) {
  append(written, "matrix of ", int(type), ": ", rows, "x", columns, " lead ",
         lead, "\n");
  return create(layout);
}

Code cublasLtMatrixLayoutDestroy(Layout layout) { return destroy(layout); }

Code cublasLtMatrixLayoutSetAttribute(Layout layout, LayoutAttribute attribute,
                                      const void *value, size_t bytes) {
  Code code = numbersOf(layout).set(int(attribute), value, bytes);
  append(written, "matrix has ", int(attribute), ": ",
         int64_t(numbersOf(layout).values[int(attribute)]), "\n");
  return code;
}

Code cublasLtMatmulPreferenceCreate(Preference *preference) {
  return create(preference);
}

Code cublasLtMatmulPreferenceDestroy(Preference preference) {
  return destroy(preference);
}

Code cublasLtMatmulPreferenceSetAttribute(Preference preference,
                                          PreferenceAttribute attribute,
                                          const void *value, size_t bytes) {
  return numbersOf(preference).set(int(attribute), value, bytes);
}

Code cublasLtMatmulAlgoGetHeuristic(Handle, Matmul matmul, Layout, Layout,
                                    Layout, Layout, Preference preference,
                                    int most, Found *found, int *count) {
  append(written, "find for ", toText(matmul), " with ", toText(preference),
         "\n");
  uint64_t mostBytes =
      numbersOf(preference).values[int(PreferenceAttribute::mostWorkspace)];
  *count = 0;
  // The epilogue that a test wants it to lack.
  const char *lacked = std::getenv("GRADUS_STUB_LACKS");
  if (lacked &&
      std::to_string(
          numbersOf(matmul).values[int(MatmulAttribute::epilogue)]) == lacked)
    return Code::notSupported;
  for (uint64_t bytes : kAlgorithms)
    if (bytes <= mostBytes && *count < most)
      found[(*count)++] = {{{bytes}}, bytes, Code::success, 1, {}};
  return *count ? Code::success : Code::notSupported;
}

Code cublasLtMatmul(Handle, Matmul matmul, const void *alpha, const void *a,
                    Layout, const void *b, Layout, const void *beta,
                    const void *c, Layout, void *d, Layout,
                    const Algorithm *algorithm, void *workspace,
                    size_t workspaceBytes, Stream stream) {
  auto number = [](const void *address) {
    return reinterpret_cast<uintptr_t>(address);
  };
  append(written, "multiply ", int(*static_cast<const float *>(alpha)), " ",
         number(a), " ", number(b), " + ",
         int(*static_cast<const float *>(beta)), " ", number(c), " into ",
         number(d), " by ", algorithm->data[0], " with ", workspaceBytes,
         " at ", number(workspace), " on ", number(stream), ", ",
         toText(matmul), "\n");
  return Code::success;
}
}

// As runtime/cuda/libraries/cublaslt.def has them.
#define GRADUS_CUBLASLT(name, symbol, gives, parameters)                       \
  static_assert(std::is_same_v<decltype(Library::name), decltype(&::symbol)>);
#include "runtime/cuda/libraries/cublaslt.def"
