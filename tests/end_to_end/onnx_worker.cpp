// Compiles and runs ONNX models for tests/onnx_backend.py, many in one process:
// each line of stdin is "MODEL INPUTS OUTPUTS", three paths, and each answer a
// line of stdout: "ok", "refused WHY" where the importer lacks something, or
// "failed WHY". Its argument is the device, or there is none: cpu.

#include "codegen/compile.h"
#include "codegen/plan/plan.h"
#include "frontends/onnx/import.h"
#include "messages/message.h"
#include "runtime/safetensors.h"
#include "runtime/session/devices.h"
#include "runtime/session/session.h"

#include "mlir/IR/Diagnostics.h"

#include <iostream>

using namespace gradus;

namespace {

/// A problem in words; empty where there is none.
using Words = std::string;

mlir::DialectRegistry dialects() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  registry.insert<plan::PlanDialect>();
  return registry;
}

/// Compiles what the file holds; `refused` where it cannot be imported.
absl::StatusOr<std::vector<char>>
compile(const std::string &path, const runtime::Device &device, bool &refused) {
  mlir::MLIRContext context(dialects(), mlir::MLIRContext::Threading::DISABLED);
  Words errors;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          errors += diagnostic.str() + "; ";
                                          return mlir::success();
                                        });
  auto module = importOnnx(path, {}, context);
  refused = !module.ok();
  if (!module.ok())
    return module.status();
  CompileOptions options;
  options.threads = 1;
  options.targets = {device.target()};
  auto artifact = compileProgram(**module, options);
  if (!artifact)
    return invalid(errors, llvm::toString(artifact.takeError()));
  return *std::move(artifact);
}

Words step(runtime::Session &session, int graph, const std::string &path) {
  auto file = runtime::Safetensors::open(path);
  if (!file.ok())
    return file.status().message();
  std::vector<const void *> inputs;
  for (const runtime::TensorInfo &input : session.graphs()[graph].inputs) {
    const runtime::NamedTensor *tensor = file->find(input.name);
    if (!tensor || tensor->type != input.type)
      return message("input ", input.name, " is ", toString(input.type),
                     ", the case's is ",
                     tensor ? toString(tensor->type) : "not there");
    inputs.push_back(tensor->data.data());
  }
  return session.step(graph, inputs).message();
}

Words run(const std::vector<char> &bytes,
          const std::shared_ptr<runtime::Device> &device,
          const std::string &inputs, const std::string &outputs) {
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, "case");
  if (!artifact.ok())
    return artifact.status().message();
  auto session = runtime::Session::create(*artifact, device, {.threads = 1});
  if (!session.ok())
    return session.status().message();
  int graph = (*session)->findGraph("predict");
  if (Words words = step(**session, graph, inputs); !words.empty())
    return words;
  std::vector<runtime::NamedTensor> tensors;
  int i = 0;
  for (const runtime::TensorInfo &output : (*session)->graphs()[graph].outputs)
    tensors.push_back(
        {output.name,
         output.type,
         {static_cast<const uint8_t *>((*session)->outputBuffer(graph, i++)),
          output.bytes}});
  return runtime::writeSafetensors(outputs, tensors).message();
}

Words answer(const std::shared_ptr<runtime::Device> &device,
             const std::string &model, const std::string &inputs,
             const std::string &outputs) {
  bool refused = false;
  auto artifact = compile(model, *device, refused);
  if (!artifact.ok())
    return (refused ? "refused " : "failed ") +
           std::string(artifact.status().message());
  Words words = run(*artifact, device, inputs, outputs);
  return words.empty() ? "ok" : "failed " + words;
}

} // namespace

int main(int argc, char **argv) {
  auto device = runtime::openDevice(argc > 1 ? argv[1] : "cpu");
  if (!device.ok()) {
    std::cerr << device.status().message() << "\n";
    return 2;
  }
  std::string model, inputs, outputs;
  while (std::cin >> model >> inputs >> outputs) {
    Words words = answer(*device, model, inputs, outputs);
    std::replace(words.begin(), words.end(), '\n', ' ');
    std::cout << words << std::endl;
  }
}
