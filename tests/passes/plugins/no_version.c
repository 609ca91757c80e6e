/* A plug-in of MLIR that knows nothing of Gradus. */

void mlirGetPassPluginInfo(void) {}
