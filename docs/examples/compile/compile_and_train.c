/* Compiles a model and trains it, all in memory: no tool, and no file but the
 * model and the data.
 *   compile_and_train lenet.onnx train.safetensors test.safetensors */
#include <gradus/gradus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatch = 32, kPixels = 28 * 28, kEpochs = 12 };

static const char kRecipe[] =
    "{\"inputs\": {\"dims\": {\"batch\": 32}},"
    " \"loss\": {\"type\": \"softmax_cross_entropy\", \"output\": \"logits\"},"
    " \"metrics\": [\"accuracy\"],"
    " \"optimizer\": {\"type\": \"adamw\", \"learning_rate\": 0.002}}";

static void fail(const char *message) {
  fprintf(stderr, "compile_and_train: %s\n", message);
  exit(1);
}

/* Prints what the compiler said; `severities` names the numbers we know. */
static void print_diagnostics(const gradus_compiled *compiled) {
  static const char *const severities[] = {"error", "warning", "remark"};
  gradus_diagnostic told;
  for (int i = 0; i < gradus_compiled_diagnostic_count(compiled); ++i)
    if (gradus_compiled_diagnostic(compiled, i, &told) == GRADUS_OK)
      fprintf(stderr, "%s: %s%s%s\n",
              told.severity <= GRADUS_REMARK ? severities[told.severity] : "",
              told.place, *told.place ? ": " : "", told.text);
}

/* A session of the model, compiled for this machine. */
static gradus_session *compile(const char *model) {
  gradus_compile_options options = gradus_default_compile_options();
  options.model.path = model;
  options.recipe.bytes = kRecipe;
  options.recipe.size = strlen(kRecipe);
  gradus_compiled *compiled;
  gradus_status status = gradus_compile(&options, &compiled);
  print_diagnostics(compiled);
  const void *artifact;
  size_t size;
  gradus_session *session;
  if (status != GRADUS_OK ||
      gradus_compiled_artifact(compiled, &artifact, &size) != GRADUS_OK ||
      gradus_load_memory(artifact, size, NULL, &session) != GRADUS_OK)
    fail(gradus_last_error(NULL));
  gradus_compiled_free(compiled);
  return session;
}

typedef struct samples {
  const float *images;
  const int64_t *labels;
  size_t count;
} samples;

/* A .safetensors file is the length of a header, the header (which we know: all
 * images, then all labels) and the tensors. */
static samples read_samples(const char *path) {
  uint64_t header = 0;
  FILE *file = fopen(path, "rb");
  if (!file || !fread(&header, 8, 1, file) || fseek(file, 0, SEEK_END))
    fail("cannot read the data");
  size_t bytes = (size_t)ftell(file) - 8 - (size_t)header;
  char *data = malloc(bytes);
  if (!data || fseek(file, 8 + (long)header, SEEK_SET) ||
      !fread(data, bytes, 1, file) || fclose(file))
    fail("cannot read the data");
  size_t count = bytes / (kPixels * sizeof(float) + sizeof(int64_t));
  samples all = {(float *)data, (int64_t *)(data + count * kPixels * 4), count};
  return all;
}

/* Runs a graph over all whole batches; the mean of its accuracy. */
static double run(gradus_session *session, const char *graph, samples all) {
  int number = gradus_find_graph(session, graph);
  const int64_t counted = kBatch; /* samples of the batch, for `evaluate` */
  float loss, accuracy;
  void *outputs[] = {&loss, &accuracy};
  double sum = 0;
  size_t batches = all.count / kBatch;
  for (size_t i = 0; i < batches; ++i) {
    const void *inputs[] = {all.images + i * kBatch * kPixels,
                            all.labels + i * kBatch, &counted};
    if (gradus_step(session, number, inputs, outputs) != GRADUS_OK)
      fail(gradus_last_error(session));
    sum += accuracy;
  }
  return sum / (double)batches;
}

int main(int count, char **arguments) {
  if (count != 4)
    fail("expected MODEL TRAIN TEST");
  gradus_session *session = compile(arguments[1]);
  samples train = read_samples(arguments[2]), test = read_samples(arguments[3]);
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    if (epoch == kEpochs * 3 / 4 && /* The rate falls at the end. */
        gradus_set_number(session, "optimizer.learning_rate", 5e-4))
      fail(gradus_last_error(session));
    printf("epoch %d: accuracy %.3f\n", epoch, run(session, "train", train));
  }
  printf("test accuracy: %.3f\n", run(session, "evaluate", test));
  gradus_free(session);
}
