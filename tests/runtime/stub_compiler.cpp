// A compiler for tests of the C API: it answers with what it was given, in
// words, and fails where it is told to.

#include "runtime/compiler_abi.h"

#include <cstdio>
#include <string>
#include <unistd.h>

namespace {

std::string listOf(const char *const *texts) {
  std::string list;
  for (; texts && *texts; ++texts)
    list += std::string(list.empty() ? "" : ", ") + *texts;
  return list;
}

std::string sourceOf(const gradus_source &source) {
  return source.bytes
             ? std::string(static_cast<const char *>(source.bytes), source.size)
         : source.path ? std::string("at ") + source.path
                       : "none";
}

std::string echoOf(const gradus_abi_request &request) {
  const gradus_compile_options &options = *request.options;
  std::string text =
      std::string("path ") + options.model.path + "\nmodel " +
      (request.program ? std::string("program of ") + request.program->recipe
                       : sourceOf(options.model)) +
      (request.model_is_text ? " text" : "") +
      (request.model_has_folder ? " folder" : "") + "\nrecipe " +
      sourceOf(options.recipe) + "\noverrides " + listOf(options.overrides) +
      "\ndims " + listOf(options.dims) + "\ntargets " +
      listOf(options.targets) + "\nthreads " + std::to_string(options.threads) +
      "\nweights";
  for (size_t i = 0; i < request.weights.count; ++i) {
    const gradus_abi_tensor &weight = request.weights.first[i];
    text += std::string(" ") + weight.name + " " + weight.dtype + " " +
            std::to_string(weight.size);
  }
  return text;
}

void tell(const gradus_abi_receiver &to, gradus_severity severity,
          const char *pass, const char *place, const char *text) {
  gradus_diagnostic diagnostic{severity, pass, place, text};
  to.tell(to.context, &diagnostic);
}

} // namespace

extern "C" gradus_status
gradus_compiler_entry(const gradus_abi_layout *layout,
                      const gradus_abi_request *request) {
  const gradus_abi_receiver &to = request->to;
  std::string fails = listOf(request->options->plugins);
  // A compilation that lasts until its caller closes a pipe: the model's path
  // has the numbers of two descriptors.
  if (int says, hears; std::sscanf(request->options->model.path, "wait %d %d",
                                   &says, &hears) == 2) {
    char byte = 0;
    if (::write(says, &byte, 1) != 1 || ::read(hears, &byte, 1) != 0)
      return GRADUS_FAILED;
  }
  if (!fails.empty()) {
    to.write(to.context, 0, "part", 4);
    tell(to, GRADUS_ERROR, "", "node \"a\"", "is wrong");
    to.fail(to.context, fails.c_str());
    return fails == "broken" ? GRADUS_FAILED : GRADUS_INVALID;
  }
  tell(to, GRADUS_WARNING, "", "line 3:5", "is odd");
  tell(to, GRADUS_REMARK, "less-bn", "", layout->version);
  if (request->options->stop_after) {
    to.ir(to.context, echoOf(*request).c_str());
    return GRADUS_OK;
  }
  to.write(to.context, 4, "fact", 4);
  to.write(to.context, 8, "", 0);
  to.write(to.context, 0, "arti", 4);
  return GRADUS_OK;
}
