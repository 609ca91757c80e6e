// Cubins of kernels for three architectures, without a GPU; what ptxas says of
// them; the same ones from the cache; words where there is no toolkit.

#include "cuda_kernels.h"

#include "runtime/cuda_folder.h"

#include "llvm/Support/FileSystem.h"

#include <filesystem>
#include <fstream>

using namespace gradus;
using namespace gradus::test;

namespace {

struct GpuObject : CudaKernels {
  void SetUp() override {
    CudaKernels::SetUp();
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("gradus-cubins", folder));
  }
  void TearDown() override {
    if (!folder.empty())
      std::filesystem::remove_all(folder.str().str());
  }
  std::vector<Cubin> cubinsOf(const std::string &text,
                              std::vector<std::string> architectures,
                              const KernelCache &cache = KernelCache()) {
    auto cubins = emitCubins(codeOf(text), architectures, toolkit, cache);
    EXPECT_TRUE(bool(cubins)) << llvm::toString(cubins.takeError());
    return cubins ? std::move(*cubins) : std::vector<Cubin>();
  }
  std::vector<std::filesystem::path> stored() {
    std::vector<std::filesystem::path> files;
    for (auto &entry : std::filesystem::directory_iterator(folder.str().str()))
      files.push_back(entry.path());
    return files;
  }

  llvm::SmallString<64> folder;
};

void expectEqual(const std::vector<Cubin> &a, const std::vector<Cubin> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (auto [one, other] : llvm::zip(a, b)) {
    EXPECT_EQ(one.architecture, other.architecture);
    EXPECT_EQ(one.ptx, other.ptx);
    EXPECT_EQ(one.code, other.code);
    ASSERT_EQ(one.kernels().size(), other.kernels().size());
    for (auto [a, b] : llvm::zip(one.kernels(), other.kernels())) {
      EXPECT_EQ(a.name, b.name);
      EXPECT_EQ(a.registers, b.registers);
      EXPECT_EQ(a.shared, b.shared);
    }
  }
}

} // namespace

/// As on a full disk: an error, where LLVM's streams would end the program.
TEST_F(GpuObject, SaysThatThereIsNoTemporaryFolder) {
  std::string before = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
  setenv("TMPDIR", "/no/such/folder", 1);
  auto cubins = emitCubins(codeOf(roots()), {"sm_80"}, toolkit, KernelCache());
  auto asked = cudaToolkit();
  setenv("TMPDIR", before.c_str(), 1);
  ASSERT_FALSE(bool(cubins) || bool(asked));
  std::string why = llvm::toString(cubins.takeError());
  EXPECT_EQ(why, "ptxas needs files in the temporary folder /no/such/folder "
                 "(TMPDIR may name another): No such file or directory");
  EXPECT_EQ(llvm::toString(asked.takeError()), why);
}

TEST_F(GpuObject, AssemblesForThreeArchitectures) {
  std::vector<std::string> all = {"sm_80", "sm_90", "sm_100"};
  auto cubins = cubinsOf(roots() + rowSums() +
                             kernelOf("pool", maxPool(2, 3, 8, 2), "rows", 2),
                         all);
  ASSERT_EQ(cubins.size(), 3u);
  for (auto [cubin, architecture] : llvm::zip(cubins, all)) {
    EXPECT_EQ(cubin.architecture, architecture);
    EXPECT_NE(cubin.ptx.find(".target " + architecture), std::string::npos);
    ASSERT_EQ(cubin.kernels().size(), 3u);
    EXPECT_GT(cubin.code.size(), 1000u);
    for (const KernelUse &use : cubin.kernels()) {
      EXPECT_GT(use.registers, 0) << use.name;
      EXPECT_EQ(use.spilled, 0) << use.name;
      EXPECT_EQ(use.stack, 0) << use.name;
      EXPECT_EQ(use.shared, use.name == "sums" ? 32 : 0) << use.name;
    }
  }
}

/// However many processors it has, and whoever else it assembles for.
TEST_F(GpuObject, GivesTheSameBytesEveryTime) {
  std::string text = roots() + rowSums();
  auto all = cubinsOf(text, {"sm_80", "sm_90", "sm_100"});
  ASSERT_EQ(all.size(), 3u);
  expectEqual({all[1]}, cubinsOf(text, {"sm_90"}));
}

TEST_F(GpuObject, TakesFromTheCacheWhatItHas) {
  KernelCache cache(folder.str().str());
  auto plain = cubinsOf(rowSums(), {"sm_80", "sm_90"});
  expectEqual(plain, cubinsOf(rowSums(), {"sm_80", "sm_90"}, cache));
  ASSERT_EQ(stored().size(), 2u);
  // No ptxas, so nothing is compiled.
  toolkit.folder +=
      "/../" + std::filesystem::path(toolkit.folder).filename().string();
  std::string library = toolkit.folder + "/nvvm/libdevice";
  CudaToolkit whole = toolkit;
  toolkit.folder = folder.str().str() + "/toolkit";
  std::filesystem::create_directories(toolkit.folder + "/nvvm");
  std::filesystem::create_directory_symlink(library,
                                            toolkit.folder + "/nvvm/libdevice");
  expectEqual(plain, cubinsOf(rowSums(), {"sm_80", "sm_90"}, cache));
  auto missing = emitCubins(codeOf(rowSums()), {"sm_100"}, toolkit, cache);
  EXPECT_NE(llvm::toString(missing.takeError()).find("ptxas failed"),
            std::string::npos);
  toolkit = whole;
  // An architecture more: those that are there are taken.
  auto more = cubinsOf(rowSums(), {"sm_80", "sm_90", "sm_100"}, cache);
  ASSERT_EQ(more.size(), 3u);
  expectEqual(plain, {more[0], more[1]});
}

TEST_F(GpuObject, CompilesAnewWhatIsDamagedOrDiffers) {
  KernelCache cache(folder.str().str());
  auto plain = cubinsOf(rowSums(), {"sm_80"}, cache);
  for (auto &path : stored())
    std::ofstream(path) << "not what was stored";
  expectEqual(plain, cubinsOf(rowSums(), {"sm_80"}, cache));
  EXPECT_EQ(stored().size(), 1u);
  cubinsOf(roots(), {"sm_80"}, cache);
  EXPECT_EQ(stored().size(), 2u);
  toolkit.version += " of tomorrow";
  expectEqual(plain, cubinsOf(rowSums(), {"sm_80"}, cache));
  EXPECT_EQ(stored().size(), 3u);
}

/// A cache that cannot be written costs a warning.
TEST_F(GpuObject, DoesWithoutACache) {
  std::string file = folder.str().str() + "/file";
  std::ofstream(file) << "no folder";
  std::string warning;
  mlir::ScopedDiagnosticHandler handler(
      &context.context, [&](mlir::Diagnostic &diagnostic) {
        EXPECT_EQ(diagnostic.getSeverity(), mlir::DiagnosticSeverity::Warning);
        warning = diagnostic.str();
      });
  auto cubins = cubinsOf(rowSums(), {"sm_80"}, KernelCache(file));
  EXPECT_EQ(cubins.size(), 1u);
  EXPECT_EQ(warning.rfind("kernel cache: cannot ", 0), 0u) << warning;
}

TEST_F(GpuObject, PassesOnWhatPtxasFinds) {
  auto cubins = assemble({"no PTX"}, {"sm_90"}, toolkit);
  std::string why = llvm::toString(cubins.takeError());
  EXPECT_NE(why.find("ptxas failed: "), std::string::npos) << why;
  for (size_t line = why.find('\n'); line != why.npos;
       line = why.find('\n', line + 1))
    EXPECT_EQ(why.substr(line + 1, 2), "  ") << why;
  EXPECT_NE(why.find("line 1"), std::string::npos) << why;
}

/// The toolkit where the environment names a folder.
static llvm::Expected<CudaToolkit> toolkitNamed(const std::string &folder) {
  setenv(CudaFolder::kVariable, folder.c_str(), 1);
  auto toolkit = cudaToolkit();
  unsetenv(CudaFolder::kVariable);
  return toolkit;
}

TEST_F(GpuObject, IsMadeWithTheToolkitThatTheEnvironmentNames) {
  std::string other = folder.str().str() + "/other";
  std::filesystem::create_directory_symlink(toolkit.folder, other);
  auto named = toolkitNamed(other);
  ASSERT_TRUE(bool(named)) << llvm::toString(named.takeError());
  EXPECT_EQ(named->folder, other);
  EXPECT_EQ(named->version, toolkit.version);
  auto unnamed = toolkitNamed("");
  ASSERT_TRUE(bool(unnamed)) << llvm::toString(unnamed.takeError());
  EXPECT_EQ(unnamed->folder, toolkit.folder);
}

TEST_F(GpuObject, NeedsAllOfAToolkit) {
  std::string half = folder.str().str();
  std::filesystem::create_directory_symlink(toolkit.folder + "/bin",
                                            half + "/bin");
  EXPECT_EQ(llvm::toString(toolkitNamed(half).takeError()),
            "CUDA targets need a toolkit: " + half +
                "/nvvm/libdevice/libdevice.10.bc is not there "
                "(GRADUS_CUDA_TOOLKIT names the folder)");
}

TEST(GpuToolkit, SaysWhatIsMissing) {
  EXPECT_EQ(llvm::toString(toolkitNamed("/nowhere").takeError()),
            "CUDA targets need a toolkit: /nowhere/bin/ptxas is not there "
            "(GRADUS_CUDA_TOOLKIT names the folder)");
  EXPECT_EQ(CudaFolder{"/nowhere"}.problem(),
            "/nowhere/bin/ptxas is not there; ./dev setup fetches it, and "
            "GRADUS_CUDA_TOOLKIT may name another folder");
  EXPECT_EQ(CudaFolder{}.problem(),
            "found none; expected it in the folder that GRADUS_CUDA_TOOLKIT "
            "names, in cuda beside Gradus's libraries, or in /usr/local/cuda");
}

TEST(GpuToolkit, ReadsWhatPtxasPrints) {
  auto kernels = parseUse(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas info    : Function properties for a\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 18 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "a");
  EXPECT_EQ(kernels[0].registers, 32);
  EXPECT_EQ(kernels[0].stack, 8);
  EXPECT_EQ(kernels[0].spilled, 16);
  EXPECT_EQ(kernels[0].shared, 1024);
  EXPECT_EQ(kernels[1].registers, 18);
  EXPECT_EQ(kernels[1].spilled, 0);
}
