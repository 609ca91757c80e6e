// Uses flock, and the list of locks that Linux keeps in /proc/locks.

#include "runtime/file_lock.h"

#include "runtime/status.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gradus::runtime {

Lock tryLock(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return Lock::taken;
  return errno == EWOULDBLOCK ? Lock::held : Lock::none;
}

/// The process in a line of /proc/locks, "4711" of "1: FLOCK  ADVISORY  WRITE
/// 4711 08:02:131 0 EOF", if the line is about that file; else empty.
static std::string processIn(const std::string &line, const char *file) {
  std::istringstream words(line);
  std::string number, kind, advisory, access, process, place;
  words >> number >> kind >> advisory >> access >> process >> place;
  return kind == "FLOCK" && place == file ? process : "";
}

std::string lockOwnerOf(int descriptor) {
  struct stat facts;
  char file[64] = "";
  if (fstat(descriptor, &facts) == 0)
    std::snprintf(file, sizeof(file), "%02x:%02x:%llu", major(facts.st_dev),
                  minor(facts.st_dev),
                  static_cast<unsigned long long>(facts.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::string process = processIn(line, file), name;
    if (process.empty())
      continue;
    std::getline(std::ifstream("/proc/" + process + "/comm"), name);
    return inWords("process ", process, name.empty() ? "" : " (" + name + ")");
  }
  return "";
}

} // namespace gradus::runtime
