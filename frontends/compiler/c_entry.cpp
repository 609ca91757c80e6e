// The compiler for programs that call it through gradus.h: the options of C
// become a request, and what the compiler says goes to the caller's receivers.

#include "frontends/compiler/compiler.h"
#include "frontends/compiler/extra_options.h"
#include "frontends/compiler/text_file.h"
#include "messages/message.h"
#include "runtime/compiler_abi.h"

#include <algorithm>
#include <iterator>

namespace gradus::compiler {
namespace {

std::string textOf(const char *text) { return text ? text : ""; }

std::vector<std::string> listOf(const char *const *texts) {
  std::vector<std::string> list;
  for (; texts && *texts; ++texts)
    list.emplace_back(*texts);
  return list;
}

template <typename Byte>
std::span<const Byte> bytesOf(const void *bytes, size_t size) {
  return {static_cast<const Byte *>(bytes), size};
}

std::vector<Weight> weightsOf(const gradus_abi_tensors &tensors) {
  std::vector<Weight> weights;
  for (size_t i = 0; i < tensors.count; ++i) {
    const gradus_abi_tensor &tensor = tensors.first[i];
    weights.push_back({tensor.name,
                       tensor.dtype,
                       {tensor.shape, tensor.shape + tensor.rank},
                       bytesOf<uint8_t>(tensor.bytes, tensor.size)});
  }
  return weights;
}

/// A model in memory with the data files that are there, too.
ModelBytes modelOf(const gradus_abi_request &from) {
  const gradus_source &source = from.options->model;
  ModelBytes model{bytesOf<uint8_t>(source.bytes, source.size),
                   from.model_is_text != 0,
                   from.model_has_folder != 0,
                   {}};
  for (size_t i = 0; i < from.data_file_count; ++i) {
    const gradus_source &file = from.data_files[i];
    model.dataFiles[file.path] = bytesOf<uint8_t>(file.bytes, file.size);
  }
  return model;
}

CarriedProgram programOf(const gradus_abi_program &program) {
  return {program.compiler, bytesOf<uint8_t>(program.bytecode, program.size),
          program.recipe, weightsOf(program.values)};
}

RecipeSource recipeOf(const gradus_compile_options &options) {
  RecipeSource recipe;
  if (options.recipe.bytes)
    recipe.text.assign(static_cast<const char *>(options.recipe.bytes),
                       options.recipe.size);
  else
    recipe.file = textOf(options.recipe.path);
  recipe.overrides = listOf(options.overrides);
  recipe.memoryLimit = textOf(options.memory_limit);
  return recipe;
}

PlanOptions planOf(const gradus_compile_options &options) {
  PlanOptions plan;
  plan.targets = listOf(options.targets);
  if (options.libraries)
    plan.libraries = options.libraries;
  plan.threads = options.threads;
  return plan;
}

/// Tells the caller of one compilation.
class Told {
public:
  explicit Told(const gradus_abi_receiver &to) : to_(to) {}

  void tell(gradus_severity severity, const std::string &pass,
            const std::string &place, const std::string &text) {
    gradus_diagnostic diagnostic{severity, pass.c_str(), place.c_str(),
                                 text.c_str()};
    to_.tell(to_.context, &diagnostic);
    hasError_ |= severity == GRADUS_ERROR;
  }

  /// A failure that no diagnostic tells becomes one.
  gradus_status fail(const absl::Status &status) {
    std::string words(status.message());
    if (!hasError_)
      tell(GRADUS_ERROR, "", "", words);
    to_.fail(to_.context, words.c_str());
    switch (status.code()) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return GRADUS_FAILED;
    default:
      return GRADUS_INVALID;
    }
  }

  absl::Status write(uint64_t offset, std::span<const char> bytes) {
    if (to_.write(to_.context, offset, bytes.data(), bytes.size()))
      return absl::OkStatus();
    hasError_ = true; // The receiver tells it.
    return absl::ResourceExhaustedError("the artifact was not taken");
  }

private:
  const gradus_abi_receiver &to_;
  bool hasError_ = false;
};

WantedResult wantedOf(const gradus_compile_options &options, Told &told) {
  WantedResult wanted;
  wanted.stopAfter = textOf(options.stop_after);
  wanted.withProgram = !(options.flags & GRADUS_NO_PROGRAM);
  wanted.nodeOutputs = options.flags & GRADUS_NODE_OUTPUTS;
  wanted.gradientOutputs = options.flags & GRADUS_GRADIENT_OUTPUTS;
  wanted.printWeights = options.flags & GRADUS_PRINT_WEIGHTS;
  wanted.trace = options.flags & GRADUS_REMARKS;
  wanted.tell = [&told](const ModelDiagnostic &each) {
    told.tell(each.isError ? GRADUS_ERROR : GRADUS_WARNING, "", each.place,
              each.text);
  };
  wanted.write = [&told](uint64_t offset, std::span<const char> bytes) {
    return told.write(offset, bytes);
  };
  return wanted;
}

absl::Status statusOf(gradus_status status, const char *words) {
  return status == GRADUS_OK        ? absl::OkStatus()
         : status == GRADUS_INVALID ? absl::InvalidArgumentError(words)
                                    : absl::InternalError(words);
}

/// The basis that libgradus opens, whose bytes it keeps.
absl::StatusOr<BasisFile> openBasis(const gradus_abi_basis &from,
                                    const std::string &path) {
  gradus_abi_tensors parts = {};
  const char *words = "";
  gradus_status opened = from.open(from.context, path.c_str(), &parts, &words);
  GRADUS_RETURN_IF_ERROR(statusOf(opened, words));
  BasisFile basis;
  basis.parts = weightsOf(parts);
  basis.verify = [&from] {
    const char *words = "";
    gradus_status status = from.verify(from.context, &words);
    return statusOf(status, words);
  };
  return basis;
}

Request requestOf(const gradus_abi_request &from, Told &told) {
  const gradus_compile_options &options = *from.options;
  Request request;
  request.model = options.model.path;
  if (options.model.bytes)
    request.bytes = modelOf(from);
  if (from.program)
    request.carried = programOf(*from.program);
  request.recipe = recipeOf(options);
  request.dims = listOf(options.dims);
  request.weights = {weightsOf(from.weights), textOf(options.weights.path),
                     /*rule=*/{}};
  request.openBasis = [&from](const std::string &path) {
    return openBasis(from.basis, path);
  };
  request.givenBasis = textOf(from.basis.given);
  request.plugins = listOf(options.plugins);
  request.plan = planOf(options);
  request.wanted = wantedOf(options, told);
  return request;
}

absl::Status checkFiles(const gradus_compile_options &options) {
  for (const gradus_source &source : {options.model, options.recipe})
    if (!source.bytes && source.path && isNoFile(source.path))
      return invalid(source.path, ": is not a file");
  return absl::OkStatus();
}

gradus_status compile(const gradus_abi_request &from) {
  Told told(from.to);
  if (absl::Status files = checkFiles(*from.options); !files.ok())
    return told.fail(files);
  Request request = requestOf(from, told);
  absl::Status extra = addExtraOptions(listOf(from.options->extra), request);
  if (!extra.ok())
    return told.fail(extra);
  absl::StatusOr<Result> result = compiler().compile(request);
  if (!result.ok())
    return told.fail(result.status());
  for (const PassRemark &remark : result->trace.remarks)
    told.tell(GRADUS_REMARK, remark.pass, remark.place, remark.text);
  from.to.ir(from.to.context, result->ir.c_str());
  return GRADUS_OK;
}

} // namespace
} // namespace gradus::compiler

extern "C" __attribute__((visibility("default"))) gradus_status
gradus_compiler_entry(const gradus_abi_layout *layout,
                      const gradus_abi_request *request) {
  constexpr size_t kSizes[] = GRADUS_ABI_SIZES;
  std::string words;
  if (std::string_view(layout->version) != GRADUS_VERSION)
    words =
        gradus::message("libgradus_compiler.so is of Gradus ", GRADUS_VERSION,
                        ", and this is Gradus ", layout->version);
  else if (!std::equal(std::begin(kSizes), std::end(kSizes), layout->sizes))
    words = gradus::message("libgradus_compiler.so is of another build of "
                            "Gradus ",
                            GRADUS_VERSION,
                            ", whose structs have other sizes; build both "
                            "libraries from the same sources");
  if (words.empty())
    return gradus::compiler::compile(*request);
  layout->fail(layout->context, words.c_str());
  return GRADUS_FAILED;
}
