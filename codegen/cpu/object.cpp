// Compiles modules in memory, lays out the sections of all objects as one blob,
// and applies the relocations, which are all relative and internal.

#include "codegen/cpu/object.h"

#include "codegen/cpu/pointers.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace gradus;

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

static constexpr const char *kTriple = "x86_64-unknown-linux-gnu";

static const Target *x86() {
  static const Target *target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    std::string error;
    return TargetRegistry::lookupTarget(Triple(kTriple), error);
  }();
  return target;
}

Expected<std::unique_ptr<TargetMachine>>
gradus::targetMachine(const CpuTarget &target) {
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard; // Only the emitter fuses.
  const Target *x86Target = x86();
  TargetMachine *machine =
      x86Target ? x86Target->createTargetMachine(
                      Triple(kTriple), target.cpu, target.features, options,
                      Reloc::PIC_, CodeModel::Small, CodeGenOptLevel::Default)
                : nullptr;
  if (!machine)
    return createStringError("this LLVM has no x86-64 code generator");
  return std::unique_ptr<TargetMachine>(machine);
}

/// A few passes suffice, since the emitter writes loops and vectors in final
/// form. The last one removes the copies that hoisting leaves behind each loop,
/// up to half of all phis.
static Error optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  ModulePassManager passes;
  if (Error error = builder.parsePassPipeline(
          passes,
          "function(early-cse,loop-mssa(licm),simplifycfg,instsimplify)"))
    return error;
  passes.addPass(createModuleToFunctionPassAdaptor(CarryPointers()));
  passes.run(module, modules);
  return Error::success();
}

namespace {

/// The passes that are removed from LLVM's code generation. CarryPointers
/// replaces the first in a fraction of its time, and the second prepares for
/// the first. The third reorders instructions after register allocation, which
/// processors do themselves.
constexpr StringRef kLeftOut[] = {"Loop Strength Reduction",
                                  "Canonicalize Freeze Instructions in Loops",
                                  "Post RA top-down list latency scheduler"};

class CodeGeneration : public legacy::PassManagerBase {
public:
  explicit CodeGeneration(legacy::PassManagerBase &passes) : passes_(passes) {}

  void add(Pass *pass) override {
    if (is_contained(kLeftOut, pass->getPassName()))
      delete pass;
    else
      passes_.add(pass);
  }

private:
  legacy::PassManagerBase &passes_;
};

} // namespace

static Expected<ObjectBytes> compile(Module &module, TargetMachine &machine) {
  ObjectBytes object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  passes.add(new TargetLibraryInfoWrapperPass(Triple(kTriple)));
  CodeGeneration generation(passes);
  if (machine.addPassesToEmitFile(generation, stream, nullptr,
                                  CodeGenFileType::ObjectFile,
                                  /*DisableVerify=*/true))
    return createStringError("this LLVM cannot write x86-64 objects");
  passes.run(module);
  return object;
}

namespace {

using Elf = object::ELF64LEObjectFile;

/// The loaded sections of objects, one after another.
class Layout {
public:
  Error place(const Elf &object);
  Error relocate(const Elf &object);
  /// The offsets of the functions that other objects may call.
  StringMap<uint64_t> entries;
  std::vector<char> bytes;

private:
  bool isLoaded(const object::SectionRef &section) const;
  Error note(const Elf &object);
  Expected<uint64_t> address(const Elf &object,
                             const object::SymbolRef &symbol) const;
  Error apply(const Elf &object, const object::ELFRelocationRef &relocation,
              uint64_t base);
  std::vector<std::pair<object::SectionRef, uint64_t>> placed_;
};

} // namespace

bool Layout::isLoaded(const object::SectionRef &section) const {
  uint64_t flags = object::ELFSectionRef(section).getFlags();
  Expected<StringRef> name = section.getName();
  bool unwind = name && *name == ".eh_frame";
  if (!name)
    consumeError(name.takeError());
  return (flags & ELF::SHF_ALLOC) && !unwind && section.getSize() > 0;
}

Error Layout::place(const Elf &object) {
  bytes.resize(alignTo(bytes.size(), 64));
  for (const object::SectionRef &section : object.sections()) {
    if (!isLoaded(section))
      continue;
    if (object::ELFSectionRef(section).getFlags() & ELF::SHF_WRITE)
      return createStringError("emitted code has writable data");
    Expected<StringRef> contents = section.getContents();
    if (!contents)
      return contents.takeError();
    bytes.resize(alignTo(bytes.size(), section.getAlignment()));
    placed_.push_back({section, bytes.size()});
    bytes.insert(bytes.end(), contents->begin(), contents->end());
  }
  return note(object);
}

/// Records the functions of an object.
Error Layout::note(const Elf &object) {
  for (const object::SymbolRef &symbol : object.symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name)
      return joinErrors(flags.takeError(), name.takeError());
    if (!(*flags & object::SymbolRef::SF_Global) ||
        (*flags & object::SymbolRef::SF_Undefined))
      continue;
    Expected<uint64_t> place = address(object, symbol);
    if (!place)
      return place.takeError();
    if (!entries.try_emplace(*name, *place).second)
      return createStringError("two objects define " + name->str());
  }
  return Error::success();
}

Expected<uint64_t> Layout::address(const Elf &object,
                                   const object::SymbolRef &symbol) const {
  Expected<object::section_iterator> section = symbol.getSection();
  Expected<StringRef> name = symbol.getName();
  if (!section || !name)
    return joinErrors(section.takeError(), name.takeError());
  if (*section != object.section_end())
    for (auto &[candidate, base] : placed_)
      if (candidate == **section)
        return base + cantFail(symbol.getValue());
  if (auto entry = entries.find(*name); entry != entries.end())
    return entry->second;
  return createStringError("emitted code calls '" + *name +
                           "', which is not part of it");
}

Error Layout::apply(const Elf &object,
                    const object::ELFRelocationRef &relocation, uint64_t base) {
  uint64_t type = relocation.getType();
  if (type != ELF::R_X86_64_PC32 && type != ELF::R_X86_64_PLT32)
    return createStringError("emitted code has a relocation of type " +
                             Twine(type) + ", expected relative ones");
  Expected<uint64_t> target = address(object, *relocation.getSymbol());
  Expected<int64_t> addend = relocation.getAddend();
  if (!target || !addend)
    return joinErrors(target.takeError(), addend.takeError());
  uint64_t place = base + relocation.getOffset();
  support::endian::write32le(bytes.data() + place,
                             uint32_t(*target + *addend - place));
  return Error::success();
}

Error Layout::relocate(const Elf &object) {
  for (const object::SectionRef &table : object.sections()) {
    Expected<object::section_iterator> target = table.getRelocatedSection();
    if (!target)
      return target.takeError();
    for (auto &[section, base] : placed_)
      if (*target != object.section_end() && section == **target)
        for (const object::RelocationRef &relocation : table.relocations())
          if (Error error =
                  apply(object, object::ELFRelocationRef(relocation), base))
            return error;
  }
  return Error::success();
}

Expected<Blob> gradus::joinObjects(ArrayRef<ObjectBytes> objects,
                                   ArrayRef<std::string> names) {
  std::vector<Elf> read;
  for (const ObjectBytes &bytes : objects) {
    auto object = Elf::create(
        MemoryBufferRef(StringRef(bytes.data(), bytes.size()), "kernels"));
    if (!object)
      return object.takeError();
    read.push_back(std::move(*object));
  }
  Layout layout;
  for (const Elf &object : read)
    if (Error error = layout.place(object))
      return std::move(error);
  for (const Elf &object : read)
    if (Error error = layout.relocate(object))
      return std::move(error);
  Blob blob{std::move(layout.bytes), {}};
  for (const std::string &name : names) {
    auto entry = layout.entries.find(name);
    if (entry == layout.entries.end())
      return createStringError("no object defines " + name);
    blob.entries.push_back(entry->second);
  }
  return blob;
}

Expected<ObjectBytes> gradus::compileToObject(Module &module,
                                              TargetMachine &machine) {
  module.setTargetTriple(Triple(kTriple));
  module.setDataLayout(machine.createDataLayout());
  if (Error error = optimize(module, machine))
    return error;
  return compile(module, machine);
}

Expected<Blob> gradus::compileToBlob(Module &module, TargetMachine &machine,
                                     ArrayRef<std::string> names) {
  auto object = compileToObject(module, machine);
  if (!object)
    return object.takeError();
  return joinObjects(*object, names);
}
