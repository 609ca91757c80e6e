// How many threads this process can keep busy: the cores it may run on, and the
// part of them that its cgroups let it use.

#pragma once

#include <optional>
#include <string>

namespace gradus::runtime {

/// Where the system says which cgroups this process is in and where they lie.
struct CgroupFiles {
  std::string groups = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mountinfo";
};

/// Of the process's cgroups and those above them, the smallest CPU quota in
/// cores, such as 1.5; nothing where there is none. cgroup v2 (cpu.max) and v1
/// (cpu.cfs_quota_us, cpu.cfs_period_us).
std::optional<double> cpuQuota(const CgroupFiles &files = {});

/// Cores that this process may run on, at most as many as `quota` pays for,
/// rounded; at least 1.
int usableCores(int cores, std::optional<double> quota);

/// The same of this process, now.
int availableCores();

} // namespace gradus::runtime
