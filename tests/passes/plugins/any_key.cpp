// A plug-in whose key is what the environment says, "KEY STAGE DEFAULT", so
// that pass_plugin.test has many in one library. The key has another pass, at
// the end of stage gradients.

#include "passes/pass_plugin.h"

#include <cstdlib>

namespace {
using namespace mlir;
using namespace gradus;

struct Settings {
  double size = 0;
};

StringRef word(int number) {
  const char *text = std::getenv("GRADUS_TEST_KEY");
  SmallVector<StringRef> words;
  StringRef(text ? text : "any_key methods 1").split(words, ' ');
  return words[number];
}

struct AnyKey : PassWrapper<AnyKey, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AnyKey)
  StringRef getArgument() const override { return "any-key"; }

  static PluginMethod<Settings> method() {
    using enum recipe::Kind;
    const recipe::Keys<Settings> keys = {
        recipe::Field{"size", number, word(2), "of its attribute"}.into(
            &Settings::size)};
    return {recipe::Field{word(0), object, "null", "sets an attribute"}
                .of(keys)
                .switched()
                .flagged(),
            word(1)};
  }

  void runOnOperation() override {
    auto settings = method().of(getOperation());
    if (!settings || settings->size < 0)
      return signalPassFailure();
    Builder builder(&getContext());
    getOperation()->setAttr("test.size",
                            builder.getF64FloatAttr(settings->size));
  }
};

struct AnyKeyFirst : PassWrapper<AnyKeyFirst, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AnyKeyFirst)
  StringRef getArgument() const override { return "any-key-first"; }

  static PluginMethod<Settings> method() {
    return {AnyKey::method().field, "gradients"};
  }

  void runOnOperation() override {
    if (auto settings = method().of(getOperation()))
      getOperation()->setAttr(
          "test.first", Builder(&getContext()).getF64FloatAttr(settings->size));
  }
};

} // namespace

GRADUS_PASS_PLUGIN(AnyKeyFirst, AnyKey)
