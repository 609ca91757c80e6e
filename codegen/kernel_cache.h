// A folder of compiled kernels, so that the same kernels are not compiled
// again: a file each, named by the hash of all that it was made from. Processes
// share it: a file appears whole or not at all, and one that is damaged is as
// good as none. Nothing here is needed: whoever uses it goes on without it.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SHA256.h"

#include <optional>
#include <string>

namespace gradus {

/// The hash of several texts, where one ends and the next begins included.
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

  /// No folder: a cache that never has anything.
  explicit KernelCache(std::string folder = "", uint64_t mostBytes = kMostBytes)
      : folder_(std::move(folder)), mostBytes_(mostBytes) {}

  /// What was stored under a key; marks it as used now.
  std::optional<std::string> find(const CacheKey &key) const;
  /// Then takes away what was not used for longest, while all is more than the
  /// limit. An error says why there will be nothing to find.
  llvm::Error store(const CacheKey &key, llvm::StringRef bytes) const;

private:
  std::string pathOf(const CacheKey &key) const;
  void shrink() const;

  std::string folder_;
  uint64_t mostBytes_;
};

/// $XDG_CACHE_HOME/gradus/kernels, or ~/.cache/gradus/kernels; empty where
/// there is no home either.
std::string kernelCacheFolder();

} // namespace gradus
