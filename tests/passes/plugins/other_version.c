/* A plug-in that says it was made for another Gradus. */

struct info {
  const char *version, *headers, *llvm, *passes;
};

const struct info *gradusPassPlugin(void) {
  static const struct info info = {"0.0.9", "0123456789ab", "21.1.0", "old"};
  return &info;
}

void mlirGetPassPluginInfo(void) {}
