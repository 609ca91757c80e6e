// Finds what the compiler would use by the same searches, and tells builds
// apart by what their files say, without opening a library: LLVM takes longer
// to open than an artifact that was kept takes to load.

#include "runtime/session/compiler_identity.h"

#include "runtime/compiler_abi.h"
#include "runtime/compiler_library.h"
#include "runtime/cpu/features.h"
#include "runtime/cuda_folder.h"
#include "runtime/file.h"
#include "runtime/shared_library.h"
#ifdef GRADUS_WITH_ONEDNN
#include "runtime/onednn_functions.h"
#endif

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <optional>
#include <sched.h>
#include <span>
#include <sys/stat.h>

namespace gradus::runtime {
namespace {

using Bytes = std::span<const uint8_t>;

/// A struct at a place of a file; nothing if the file ends before.
template <typename Struct>
std::optional<Struct> structAt(Bytes file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(Struct))
    return {};
  Struct result;
  std::memcpy(&result, file.data() + offset, sizeof(Struct));
  return result;
}

std::string hexOf(Bytes bytes) {
  std::string text;
  for (uint8_t byte : bytes)
    for (int digit : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[digit];
  return text;
}

uint64_t roundUp(uint64_t size) { return (size + 3) / 4 * 4; }

/// The build id among notes; empty if there is none.
std::string buildIdIn(Bytes notes) {
  uint64_t at = 0;
  while (auto note = structAt<Elf64_Nhdr>(notes, at)) {
    uint64_t name = at + sizeof(Elf64_Nhdr),
             id = name + roundUp(note->n_namesz), end = id + note->n_descsz;
    if (end > notes.size())
      return "";
    if (note->n_type == NT_GNU_BUILD_ID &&
        note->n_namesz == sizeof(ELF_NOTE_GNU) &&
        !std::memcmp(notes.data() + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)))
      return hexOf(notes.subspan(id, note->n_descsz));
    at = id + roundUp(note->n_descsz);
  }
  return "";
}

/// Notes that are aligned to 8 bytes are of other kinds.
std::string buildId(Bytes file) {
  auto head = structAt<Elf64_Ehdr>(file, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
      head->e_ident[EI_CLASS] != ELFCLASS64)
    return "";
  for (unsigned i = 0; i < head->e_phnum; ++i) {
    auto part =
        structAt<Elf64_Phdr>(file, head->e_phoff + i * sizeof(Elf64_Phdr));
    if (!part)
      return "";
    if (part->p_type != PT_NOTE || part->p_align > 4 ||
        part->p_offset > file.size() ||
        part->p_filesz > file.size() - part->p_offset)
      continue;
    std::string id = buildIdIn(file.subspan(part->p_offset, part->p_filesz));
    if (!id.empty())
      return id;
  }
  return "";
}

/// The file of a library that is open.
std::string fileOf(const SharedLibrary &library) {
  link_map *loaded = nullptr;
  return dlinfo(library.handle(), RTLD_DI_LINKMAP, &loaded) == 0
             ? loaded->l_name
             : library.file();
}

std::string oneDnn() {
#ifdef GRADUS_WITH_ONEDNN
  std::string known = knownPlace(onednn::kVariable, {onednn::kName});
  if (!known.empty())
    return buildOf(known);
  LibrarySearch search = findLibrary(onednn::wanted());
  return search.found ? buildOf(fileOf(*search.found)) : "none";
#else
  return "not built in";
#endif
}

StatusOr<std::string> compiler() {
  std::string known = compilerFile();
  if (!known.empty())
    return buildOf(known);
  GRADUS_ASSIGN(SharedLibrary library, openCompiler(GRADUS_ABI_COMPILE));
  return buildOf(fileOf(library));
}

std::string cudaToolkit() {
  CudaFolder folder = cudaFolder();
  std::string text;
  for (const char *file : CudaFolder::kNeeded)
    append(text, text.empty() ? "" : ", ",
           folder.path.empty() ? "none" : buildOf(folder.path + file));
  return text;
}

/// Lists what oneDNN asks the environment before it chooses layouts.
std::string environment() {
  std::string text;
  for (const char *name :
       {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_CPU_ISA_HINTS",
        "DNNL_CPU_ISA_HINTS", "ONEDNN_DEFAULT_FPMATH_MODE",
        "DNNL_DEFAULT_FPMATH_MODE", "OMP_NUM_THREADS"})
    if (const char *value = std::getenv(name))
      append(text, " ", name, "=", value);
  return text;
}

std::string machine() {
  cpu_set_t set;
  int cores =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
  std::string text = inWords(cpuModel(), ", cores: ", cores, ", features:");
  for (const std::string &feature : cpuFeatures())
    append(text, " ", feature);
  return text;
}

} // namespace

std::string buildOf(const std::string &file) {
  if (auto mapped = MappedFile::open(file); mapped.ok())
    if (std::string id = buildId(mapped->bytes()); !id.empty())
      return id;
  struct stat state;
  if (stat(file.c_str(), &state) != 0)
    return "none";
  return inWords(state.st_size, " bytes of ", state.st_mtim.tv_sec, ".",
                 state.st_mtim.tv_nsec);
}

StatusOr<std::string> compilerIdentity() {
  GRADUS_ASSIGN(std::string build, compiler());
  return inWords("gradus: ", GRADUS_VERSION, "\ncompiler: ", build,
                 "\noneDNN: ", oneDnn(), environment(),
                 "\nCUDA toolkit: ", cudaToolkit(), "\nmachine: ", machine(),
                 "\n");
}

} // namespace gradus::runtime
