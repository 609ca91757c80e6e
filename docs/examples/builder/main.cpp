// Prints one of the models as a program that `gradus compile` takes:
//
//   builder_models resnet18 > resnet18.mlir
//   builder_models resnet18 small > small.mlir

#include "docs/examples/builder/models.h"

#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <map>

using namespace gradus;
using namespace gradus::examples;

using Write = std::function<void(ProgramBuilder &)>;

template <typename Options>
static Write with(void model(ProgramBuilder &, const Options &),
                  const Options &options) {
  return [=](ProgramBuilder &net) { model(net, options); };
}

static const std::map<std::string, Write> kModels = {
    {"lenet5", with(lenet5, {32, 28, 10})},
    {"lenet5 small", with(lenet5, {4, 28, 10})},
    {"resnet18", with(resnet18, {32, 32, 10})},
    {"resnet18 small", with(resnet18, {2, 16, 10, {4, 8, 16, 32}})},
    {"resnet50",
     with(resnet50, {8, 224, 1000, {64, 128, 256, 512}, kLargeStem})},
    {"resnet50 small", with(resnet50, {2, 64, 10, {4, 8, 16, 32}, kLargeStem})},
    {"bert", with(bert, {8, 128, 30522, 512, 768, 12, 12})},
    {"bert small", with(bert, {2, 12, 50, 16, 16, 2, 4})},
    {"gpt2", with(gpt2, {4, 64, 50257, 1024, 768, 12, 12})},
    {"gpt2 bytes", with(gpt2, {16, 128, 256, 128, 128, 4, 4})},
    {"gpt2 small", with(gpt2, {2, 12, 50, 16, 16, 2, 4})},
};

int main(int count, char **arguments) {
  std::string name = count > 1 ? arguments[1] : "";
  auto model = kModels.find(count > 2 ? name + " " + arguments[2] : name);
  if (model == kModels.end()) {
    llvm::errs() << "usage: builder_models NAME, one of\n";
    for (const auto &[each, write] : kModels)
      llvm::errs() << "  " << each << "\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  ProgramBuilder net(context, name);
  model->second(net);
  auto module = net.finish();
  if (!module.ok()) {
    llvm::errs() << "builder_models: " << module.status().ToString() << "\n";
    return 1;
  }
  (*module)->print(llvm::outs());
  return 0;
}
