// The number of threads that this process can keep busy: the cores it may run
// on, limited by the CPU quota of its cgroups.

#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace gradus::runtime {

/// The system's files that list this process's cgroups and their mounts.
struct CgroupFiles {
  std::string groups = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mountinfo";
};

/// The smallest CPU quota of the process's cgroups and their ancestors, in
/// cores, such as 1.5; nothing if there is none. Reads cgroup v2 (cpu.max) and
/// v1 (cpu.cfs_quota_us, cpu.cfs_period_us).
std::optional<double> cpuQuota(const CgroupFiles &files = {});

/// The number of cores that this process may use, limited by `quota`, rounded;
/// at least 1.
int usableCores(int cores, std::optional<double> quota);

/// usableCores() of this process, now; of a thread that is bound to some cores,
/// of these.
int availableCores();

/// Binds the calling thread, and those that it starts from now on, to one of
/// `parts` equal shares of the cores that it may run on; `part` counts from 0.
/// Where there are fewer cores than parts, the thread stays as it is.
void bindToShare(size_t part, size_t parts);

} // namespace gradus::runtime
