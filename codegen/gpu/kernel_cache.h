// A folder of compiled kernels, which avoids compiling the same kernels again.
// Each is a file named by the hash of all its inputs. Processes share the
// folder: a file appears whole or not at all, and a damaged one is ignored. The
// cache is optional: callers work without it.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SHA256.h"

#include <optional>
#include <string>

namespace gradus {

/// The hash of several texts, including their boundaries.
class CacheKey {
public:
  CacheKey &add(llvm::StringRef text);
  std::string hex() const;

private:
  llvm::SHA256 hash_;
};

class KernelCache {
public:
  static constexpr uint64_t kMostBytes = 512u << 20;

  /// A cache without a folder is always empty.
  explicit KernelCache(std::string folder = "", uint64_t mostBytes = kMostBytes)
      : folder_(std::move(folder)), mostBytes_(mostBytes) {}

  /// The bytes that were stored under a key; marks them as used now.
  std::optional<std::string> find(const CacheKey &key) const;
  /// Stores the bytes, then removes the least recently used files until the
  /// folder is within its limit. An error says why the bytes were not stored.
  llvm::Error store(const CacheKey &key, llvm::StringRef bytes) const;

private:
  std::string pathOf(const CacheKey &key) const;
  void shrink() const;

  std::string folder_;
  uint64_t mostBytes_;
};

/// $XDG_CACHE_HOME/gradus/kernels, or ~/.cache/gradus/kernels; empty if there
/// is no home folder either.
std::string kernelCacheFolder();

} // namespace gradus
