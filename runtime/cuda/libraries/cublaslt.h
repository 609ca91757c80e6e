// Serves matmul commands by cuBLASLt; describing them needs no GPU.
#pragma once

#include "runtime/cuda/libraries/cublaslt_library.h"
#include "runtime/cuda/libraries/library_call.h"
#include "runtime/cuda/libraries/matmul_form.h"

namespace gradus::runtime::cuda {

namespace cublaslt {

/// A descriptor of the library that its owner destroys.
template <typename T> using Owned = std::unique_ptr<T, Code (*)(T *)>;

/// A matmul as the library describes it. f32 is really f32: sums have 32 bits,
/// and operands are not rounded (to TF32).
struct Description {
  Owned<MatmulData> matmul{nullptr, nullptr};
  Owned<LayoutData> a{nullptr, nullptr}, b{nullptr, nullptr},
      d{nullptr, nullptr};
};
StatusOr<Description> describe(const Library &library, const MatmulForm &form);

/// Converts 64 bytes to 128 digits and back; an error if a text is not that.
std::string textOf(const Algorithm &algorithm);
StatusOr<Algorithm> algorithmOf(const std::string &text);

} // namespace cublaslt

/// Returns a server whose calls share the session. Without a stored choice it
/// uses the first algorithm of the heuristics for which the scratch suffices.
std::unique_ptr<LibraryServer>
serveMatmuls(std::shared_ptr<cublaslt::Session> session);

} // namespace gradus::runtime::cuda
