// Reads the kernel's files about cores; an unreadable file imposes no limit.

#include "runtime/cpu/cores.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sched.h>
#include <string_view>
#include <thread>
#include <vector>

namespace gradus::runtime {
namespace {

std::string textOf(const std::string &path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(path.c_str(), "re"), std::fclose);
  std::string text;
  char part[4096];
  for (size_t count; file && (count = std::fread(part, 1, 4096, file.get()));)
    text.append(part, count);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// The number at the start of a text; nothing for "max", a negative number or
/// none at all.
std::optional<double> positive(std::string_view text) {
  double number = 0;
  auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && number > 0 ? std::optional(number)
                                              : std::nullopt;
}

bool has(std::string_view list, std::string_view word) {
  auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A mounted tree of cgroups: its directory `root` is mounted at `point`.
struct Mount {
  std::string root, point;
};

/// Finds the mount of cgroup v2, or of v1's controller `cpu`.
std::optional<Mount> mountOf(bool v2, const std::string &mounts) {
  for (std::string_view line : split(mounts, '\n')) {
    size_t dash = line.find(" - ");
    if (dash == std::string_view::npos)
      continue;
    auto before = split(line.substr(0, dash), ' '),
         after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3)
      continue;
    bool fits = v2 ? after[0] == "cgroup2"
                   : after[0] == "cgroup" && has(after[2], "cpu");
    if (fits)
      return Mount{std::string(before[3]), std::string(before[4])};
  }
  return std::nullopt;
}

/// The process's cgroup of v2 ("0::/a/b"), or of v1's controller `cpu`
/// ("4:cpu,cpuacct:/a/b").
std::optional<std::string> groupOf(bool v2, const std::string &groups) {
  for (std::string_view line : split(groups, '\n')) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string_view::npos)
      continue;
    std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : has(controllers, "cpu"))
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

/// The quota of one folder divided by its period, in cores.
std::optional<double> quotaIn(const std::string &folder, bool v2) {
  std::string quota, period;
  if (v2) {
    quota = textOf(folder + "/cpu.max"); // "150000 100000"
    size_t space = std::min(quota.find(' '), quota.size());
    period = quota.substr(std::min(space + 1, quota.size()));
  } else {
    quota = textOf(folder + "/cpu.cfs_quota_us");
    period = textOf(folder + "/cpu.cfs_period_us");
  }
  auto most = positive(quota), of = positive(period);
  return most && of ? std::optional(*most / *of) : std::nullopt;
}

/// The smallest quota of the process's cgroup and its mounted ancestors.
std::optional<double> quotaOf(bool v2, const CgroupFiles &files) {
  auto group = groupOf(v2, textOf(files.groups));
  auto mount = mountOf(v2, textOf(files.mounts));
  if (!group || !mount)
    return std::nullopt;
  if (mount->root != "/" && group->starts_with(mount->root))
    group->erase(0, mount->root.size());
  std::optional<double> least;
  for (std::string path = *group;; path.erase(path.rfind('/'))) {
    if (auto quota = quotaIn(mount->point + path, v2))
      least = std::min(least.value_or(*quota), *quota);
    if (path.find('/') == std::string::npos)
      return least;
  }
}

int coresOfAffinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  return CPU_COUNT(&set);
}

} // namespace

std::optional<double> cpuQuota(const CgroupFiles &files) {
  auto one = quotaOf(true, files), other = quotaOf(false, files);
  return one && other ? std::min(one, other) : one ? one : other;
}

int usableCores(int cores, std::optional<double> quota) {
  double most = quota ? std::min<double>(cores, std::round(*quota)) : cores;
  return std::max(1, static_cast<int>(most));
}

int availableCores() { return usableCores(coresOfAffinity(), cpuQuota()); }

void bindToShare(size_t part, size_t parts) {
  cpu_set_t all, share;
  if (sched_getaffinity(0, sizeof(all), &all) != 0)
    return;
  size_t cores = static_cast<size_t>(CPU_COUNT(&all)), number = 0;
  if (cores < parts)
    return;
  CPU_ZERO(&share);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all)) {
      if (number * parts / cores == part)
        CPU_SET(core, &share);
      ++number;
    }
  // A thread that cannot be bound is only less even in its speed.
  (void)sched_setaffinity(0, sizeof(share), &share);
}

} // namespace gradus::runtime
