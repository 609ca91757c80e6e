// cuBLASLt as a table of functions, opened when a plan multiplies by it, and
// one handle of it.
#pragma once

#include "runtime/cuda/cublaslt_abi.h"
#include "runtime/cuda/driver_abi.h"
#include "runtime/status.h"

#include <functional>
#include <memory>
#include <string>

namespace gradus::runtime::cuda::cublaslt {

struct Library {
#define GRADUS_CUBLASLT(name, symbol, gives, parameters)                       \
  gives(*name) parameters = nullptr;
#include "runtime/cuda/cublaslt.def"
};

/// Finds it (vendor_library.h), and takes the functions out of it.
StatusOr<Library> load();
/// One that starts, too: the newest file may want a newer driver than there is.
using Starts = std::function<Status(const Library &)>;
StatusOr<Library> load(const Starts &starts);

/// Success, or "WHAT: words (CUBLAS_STATUS_NOT_SUPPORTED 15)".
Status check(const Library &library, Code code, const std::string &what);

/// The library and a handle of it for the card that is current, which goes with
/// the last who holds it. Without a handle it describes and does not choose.
struct Session {
  Library library;
  Handle handle = nullptr;

  explicit Session(const Library &library) : library(library) {}
  Session(const Session &) = delete;
  ~Session();

  /// "cublaslt 130100": what choices in artifacts are for.
  std::string name() const;
};
StatusOr<std::shared_ptr<Session>> openSession();

} // namespace gradus::runtime::cuda::cublaslt
