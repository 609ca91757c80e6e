// Finds oneDNN, loads it and connects its OpenMP calls with our pool.

#include "runtime/cpu/onednn_library.h"

#include "runtime/cpu/call_memory.h"
#include "runtime/cpu/openmp.h"
#include "runtime/memory.h"
#include "runtime/shared_library.h"
#include "runtime/status.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace gradus::runtime {

namespace {

constexpr int kMajor = 3;

//===-- search ------------------------------------------------------------===//

StatusOr<SharedLibrary> openLibrary() {
  LibrarySearch search = findLibrary(onednn::wanted());
  if (search.found)
    return *search.found;
  return failed("needs oneDNN 3, which cannot be loaded: ", search.reasons(),
                " (", onednn::kVariable,
                " may name its file; a plan compiled with --libraries never "
                "needs none)");
}

//===-- replacing imports -------------------------------------------------===//

/// The parts of a loaded library's dynamic section that name its imports.
struct Imports {
  const ElfW(Sym) *symbols = nullptr;
  const char *names = nullptr;
  const ElfW(Rela) *calls = nullptr;
  size_t callBytes = 0;
  const ElfW(Rela) *others = nullptr;
  size_t otherBytes = 0;
};

Imports importsOf(const link_map &library) {
  Imports imports;
  for (const ElfW(Dyn) *entry = library.l_ld; entry->d_tag != DT_NULL;
       ++entry) {
    // The loader of most systems has already added the base to addresses.
    ElfW(Addr) address = entry->d_un.d_ptr;
    if (address < library.l_addr)
      address += library.l_addr;
    switch (entry->d_tag) {
    case DT_SYMTAB:
      imports.symbols = reinterpret_cast<const ElfW(Sym) *>(address);
      break;
    case DT_STRTAB:
      imports.names = reinterpret_cast<const char *>(address);
      break;
    case DT_JMPREL:
      imports.calls = reinterpret_cast<const ElfW(Rela) *>(address);
      break;
    case DT_PLTRELSZ:
      imports.callBytes = entry->d_un.d_val;
      break;
    case DT_RELA:
      imports.others = reinterpret_cast<const ElfW(Rela) *>(address);
      break;
    case DT_RELASZ:
      imports.otherBytes = entry->d_un.d_val;
      break;
    }
  }
  return imports;
}

void *replacementOf(const char *name) {
  for (const OpenMpFunction &function : openMpFunctions())
    if (std::strcmp(function.name, name) == 0)
      return function.address;
  if (std::strcmp(name, "_Znwm") == 0) // operator new(size_t)
    return reinterpret_cast<void *>(&allocateForCall);
  if (std::strcmp(name, "_ZdlPv") == 0) // operator delete(void *)
    return reinterpret_cast<void *>(&freeForCall);
  if (std::strcmp(name, "posix_memalign") == 0)
    return reinterpret_cast<void *>(&alignForCall);
  if (std::strcmp(name, "free") == 0)
    return reinterpret_cast<void *>(&releaseForCall);
  return nullptr;
}

/// Writes a pointer that the loader may have made read-only.
bool writePointer(void **at, void *value) {
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto *start =
      reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(at) / page * page);
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
    return false;
  *at = value;
  return true;
}

/// The number of imports that were replaced; -1 if one could not be written.
int replace(const link_map &library, const Imports &imports,
            const ElfW(Rela) * list, size_t bytes) {
  int replaced = 0;
  for (size_t i = 0; list && i < bytes / sizeof(ElfW(Rela)); ++i) {
    auto type = ELF64_R_TYPE(list[i].r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
      continue;
    const ElfW(Sym) &symbol = imports.symbols[ELF64_R_SYM(list[i].r_info)];
    void *value = replacementOf(imports.names + symbol.st_name);
    if (!value)
      continue;
    if (!writePointer(
            reinterpret_cast<void **>(library.l_addr + list[i].r_offset),
            value))
      return -1;
    ++replaced;
  }
  return replaced;
}

Status replaceImports(void *handle) {
  link_map *library = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &library) != 0 || !library)
    return failed("cannot look into oneDNN: ", dlerror());
  Imports imports = importsOf(*library);
  int calls = replace(*library, imports, imports.calls, imports.callBytes);
  int others = replace(*library, imports, imports.others, imports.otherBytes);
  if (calls < 0 || others < 0)
    return failed("cannot connect oneDNN with the thread pool: ",
                  strerror(errno));
  // A build without OpenMP is fine: it then runs in the calling thread.
  return Status();
}

//===-- functions ---------------------------------------------------------===//

Status resolve(const SharedLibrary &found, OneDnn &library) {
  if (const char *missing = library.take(found))
    return failed("needs oneDNN 3, and the library found has no ", missing);
  const dnnl_version_t *version = library.dnnl_version();
  if (version->major != kMajor)
    return failed("needs oneDNN 3, and the library found is ", version->major,
                  ".", version->minor);
  return Status();
}

StatusOr<const OneDnn *> load() {
  if (!allowsWritableCode())
    return failed("oneDNN needs memory that can be written and executed at "
                  "once, which this system forbids; compile with --libraries "
                  "never, whose code needs none");
  GRADUS_ASSIGN(SharedLibrary found, openLibrary());
  GRADUS_TRY(replaceImports(found.handle()));
  static OneDnn library; // lives as long as the process: others may use it too
  GRADUS_TRY(resolve(found, library));
  if (library.dnnl_engine_create(&library.engine, dnnl_cpu, 0) !=
          dnnl_success ||
      library.dnnl_stream_create(&library.stream, library.engine,
                                 dnnl_stream_default_flags) != dnnl_success)
    return failed("oneDNN does not start on this machine");
  return &library;
}

} // namespace

StatusOr<const OneDnn *> oneDnn() {
  static const StatusOr<const OneDnn *> library = load();
  return library;
}

} // namespace gradus::runtime
