// CPU quotas in trees of cgroups, as files of a folder.

#include "runtime/cpu/cores.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sched.h>
#include <thread>
#include <unistd.h>

using namespace gradus::runtime;

namespace {

namespace fs = std::filesystem;

class Cores : public testing::Test {
protected:
  Cores() { fs::create_directories(folder_); }
  ~Cores() override { fs::remove_all(folder_); }

  void write(const std::string &path, const std::string &text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }

  /// `kind` is what a line of mountinfo says behind its dash.
  void mount(const std::string &root, const std::string &kind) {
    write("mountinfo",
          "22 1 0:21 / /proc rw shared:14 - proc proc rw\n30 22 0:26 " + root +
              " " + (folder_ / "cg").string() + " rw,nosuid shared:9 - " +
              kind + "\n");
  }

  std::optional<double> quota() const {
    return cpuQuota(
        {(folder_ / "cgroup").string(), (folder_ / "mountinfo").string()});
  }

  fs::path folder_ =
      fs::temp_directory_path() / ("gradus_cores." + std::to_string(getpid()));
};

constexpr const char *kV2 = "cgroup2 cgroup2 rw,nsdelegate",
                     *kV1 = "cgroup cgroup rw,cpu,cpuacct";

} // namespace

TEST_F(Cores, HaveTheQuotaOfTheirCgroup) {
  mount("/", kV2);
  write("cgroup", "0::/user.slice/job\n");
  EXPECT_EQ(quota(), std::nullopt) << "no such file";
  write("cg/user.slice/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("cg/user.slice/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(Cores, HaveTheSmallestQuotaOfTheCgroupsAbove) {
  mount("/", kV2);
  write("cgroup", "0::/user.slice/job\n");
  write("cg/user.slice/job/cpu.max", "400000 100000\n");
  write("cg/user.slice/cpu.max", "100000 50000\n");
  EXPECT_EQ(quota(), 2);
  write("cg/cpu.max", "50000 100000\n"); // as the root of a container has it
  EXPECT_EQ(quota(), 0.5);
}

TEST_F(Cores, HaveAQuotaOfTheFirstVersion) {
  mount("/", kV1);
  write("cgroup", "5:memory:/other\n4:cpu,cpuacct:/job\n0::/job\n");
  write("cg/job/cpu.cfs_quota_us", "-1\n");
  write("cg/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("cg/job/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(quota(), 2.5);
}

TEST_F(Cores, FindTheQuotaWhereAPartOfTheTreeIsMounted) {
  mount("/docker/a1b2", kV1);
  write("cgroup", "4:cpu,cpuacct:/docker/a1b2\n");
  write("cg/cpu.cfs_quota_us", "50000\n");
  write("cg/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0.5);
}

TEST_F(Cores, HaveNoQuotaWhereNothingSaysSo) {
  EXPECT_EQ(quota(), std::nullopt);
  write("cgroup", "damaged\n::\n0:");
  write("mountinfo", "damaged\n1 - cgroup2\n");
  EXPECT_EQ(quota(), std::nullopt);
  mount("/", kV2);
  write("cgroup", "0::/job\n");
  for (const char *text : {"", "100000", "x y", "0 100000", "100000 0"}) {
    write("cg/job/cpu.max", text);
    EXPECT_EQ(quota(), std::nullopt) << text;
  }
}

TEST(UsableCores, AreThoseThatTheQuotaPaysFor) {
  EXPECT_EQ(usableCores(8, std::nullopt), 8);
  EXPECT_EQ(usableCores(8, 16), 8);
  EXPECT_EQ(usableCores(8, 2), 2);
  EXPECT_EQ(usableCores(8, 1.5), 2);
  EXPECT_EQ(usableCores(8, 1.4), 1);
  EXPECT_EQ(usableCores(8, 0.1), 1);
  EXPECT_EQ(usableCores(0, std::nullopt), 1);
}

TEST(AvailableCores, IsAtLeastOne) { EXPECT_GE(availableCores(), 1); }

TEST(SharesOfCores, AreEqualAndApart) {
  cpu_set_t whole, together;
  ASSERT_EQ(sched_getaffinity(0, sizeof(whole), &whole), 0);
  int all = CPU_COUNT(&whole);
  for (size_t parts : {size_t(1), size_t(2), size_t(3)}) {
    if (static_cast<size_t>(all) < parts)
      break;
    CPU_ZERO(&together);
    int seen = 0;
    for (size_t part = 0; part < parts; ++part)
      std::thread([&] {
        bindToShare(part, parts);
        cpu_set_t mine;
        ASSERT_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
        EXPECT_GE(static_cast<size_t>(CPU_COUNT(&mine)), all / parts);
        seen += CPU_COUNT(&mine);
        CPU_OR(&together, &together, &mine);
      }).join();
    EXPECT_EQ(seen, all) << "a core belongs to two of " << parts;
    EXPECT_TRUE(CPU_EQUAL(&together, &whole));
  }
}

TEST(SharesOfCores, AreNotMadeForMoreThreadsThanCores) {
  std::thread([] {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    bindToShare(1, static_cast<size_t>(CPU_COUNT(&before)) + 1);
    ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }).join();
}
