// A limit that is met in the middle of a start gives errors that name anything
// but the limit, or none: mpirun waits for ever.

#include "tool/session/open_files.h"

#include "tool/failure.h"

#include <sys/resource.h>

namespace gradus::cli {

OpenFileLimit openFileLimit() {
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return {UINT64_MAX, UINT64_MAX};
  return {limit.rlim_cur, limit.rlim_max};
}

std::string openFilesProblem(uint64_t needed, const OpenFileLimit &limit) {
  if (limit.now >= needed)
    return "";
  std::string words =
      absl::StrCat("needs up to ", needed, " open files, and the limit is ",
                   limit.now, " (RLIMIT_NOFILE); ");
  return limit.most >= needed
             ? absl::StrCat(words, "raise it with: ulimit -n ", needed)
             : absl::StrCat(words,
                            "an administrator can raise it, as it may "
                            "be at most ",
                            limit.most,
                            " here (ulimit -Hn; nofile in "
                            "/etc/security/limits.conf)");
}

void checkOpenFiles(const std::string &what, uint64_t needed) {
  std::string problem = openFilesProblem(needed, openFileLimit());
  if (!problem.empty())
    throw badInput(what, ": ", problem);
}

} // namespace gradus::cli
