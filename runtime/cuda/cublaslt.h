// Products by cuBLASLt, on a card or, as far as describing them goes, without.
#pragma once

#include "runtime/cuda/cublaslt_library.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/matmul_form.h"

namespace gradus::runtime::cuda {

namespace cublaslt {

/// What goes with its owner: a descriptor of the library.
template <typename T> using Owned = std::unique_ptr<T, Code (*)(T *)>;

/// The library's own words for a product. f32 means f32: sums are of 32 bits,
/// and no operand is rounded before it is multiplied.
struct Description {
  Owned<MatmulData> matmul{nullptr, nullptr};
  Owned<LayoutData> a{nullptr, nullptr}, b{nullptr, nullptr},
      d{nullptr, nullptr};
};
StatusOr<Description> describe(const Library &library, const MatmulForm &form);

/// 64 bytes as 128 digits, and back; words where a text is not that.
std::string textOf(const Algorithm &algorithm);
StatusOr<Algorithm> algorithmOf(const std::string &text);

} // namespace cublaslt

/// A server whose calls hold on to the session. Without a choice, the first
/// algorithm of the library's heuristics that needs no more scratch than there
/// is.
std::unique_ptr<LibraryServer>
serveMatmuls(std::shared_ptr<cublaslt::Session> session);

} // namespace gradus::runtime::cuda
