/* A program of Gradus 0.1, which later libraries must run as it is: it calls
 * each function of the header beside it, but for those on ranks that need
 * others. */
#include "gradus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kModel[] =
    "gradus.program @squares {\n"
    "  gradus.state @w : tensor<3xf32> {role = #gradus.role<parameter>, value "
    "= "
    "dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}\n"
    "  gradus.graph @train(%coefficient: tensor<3xf32>) -> (loss: tensor<f32>) "
    "{\n"
    "    %w = gradus.read @w : tensor<3xf32>\n"
    "    %square = arith.mulf %w, %w : tensor<3xf32>\n"
    "    %part = arith.mulf %coefficient, %square : tensor<3xf32>\n"
    "    %loss = gradus.reduce sum %part axes [0] : tensor<3xf32> -> "
    "tensor<f32>\n"
    "    gradus.return %loss : tensor<f32>\n"
    "  }\n"
    "}\n";
static const char kRecipe[] =
    "{\"optimizer\": {\"type\": \"sgd\", \"learning_rate\": 0.5}}";
static const float kOnes[] = {1, 1, 1};
static gradus_session *session;

static void check(int is_right, const char *what, int line) {
  if (is_right)
    return;
  fprintf(stderr, "line %d: %s: %s %s\n", line, what,
          gradus_last_error(session), gradus_last_error(NULL));
  exit(1);
}
#define CHECK(what) check((what), #what, __LINE__)
#define OK(call) CHECK((call) == GRADUS_OK)

static void count_lines(void *context, const char *line) {
  *(int *)context += line[0] != 0;
}

static void compile_and_load(void) {
  gradus_compile_options options;
  gradus_set_default_compile_options(&options, sizeof(options));
  CHECK(options.size == sizeof(options) && !options.model.path);
  options = gradus_default_compile_options();
  options.model.bytes = kModel;
  options.model.size = strlen(kModel);
  options.recipe.bytes = kRecipe;
  options.recipe.size = strlen(kRecipe);
  options.flags = GRADUS_REMARKS;
  gradus_compiled *compiled;
  gradus_diagnostic told;
  OK(gradus_compile_with(&options, NULL, 0, NULL, &compiled));
  gradus_compiled_free(compiled);
  OK(gradus_compile(&options, &compiled));
  CHECK(*gradus_compiler_identity());
  CHECK(gradus_compiled_diagnostic_count(compiled) > 0);
  OK(gradus_compiled_diagnostic(compiled, 0, &told));
  CHECK(told.severity <= GRADUS_REMARK && told.pass && told.place && told.text);
  CHECK(!*gradus_compiled_ir(compiled));
  const void *bytes;
  size_t size;
  OK(gradus_compiled_artifact(compiled, &bytes, &size));
  int lines = 0;
  gradus_options loading;
  gradus_set_default_options(&loading, sizeof(loading));
  CHECK(loading.size == sizeof(loading) && !strcmp(loading.device, "cpu"));
  loading = gradus_default_options();
  loading.threads = 1;
  loading.log = count_lines;
  loading.log_context = &lines;
  OK(gradus_load_memory(bytes, size, &loading, &session));
  CHECK(lines == 1);
  gradus_compiled_free(compiled);
}

static void ask(int train, int w) {
  gradus_tensor tensor;
  CHECK(gradus_graph_count(session) >= 1);
  CHECK(!strcmp(gradus_graph_name(session, train), "train"));
  CHECK(gradus_input_count(session, train) == 1);
  CHECK(gradus_output_count(session, train) == 1);
  CHECK(gradus_state_count(session) >= 2);
  CHECK(gradus_find_input(session, train, "coefficient") == 0);
  CHECK(gradus_find_output(session, train, "loss") == 0);
  OK(gradus_input(session, train, 0, &tensor));
  CHECK(tensor.dtype == GRADUS_F32 && tensor.rank == 1 && tensor.shape[0] == 3);
  OK(gradus_output(session, train, 0, &tensor));
  CHECK(tensor.rank == 0 && tensor.bytes == 4);
  OK(gradus_state(session, w, &tensor));
  CHECK(!strcmp(tensor.name, "w") && tensor.bytes == 12);
  CHECK(gradus_state_role(session, w) == GRADUS_PARAMETER);
  CHECK(strstr(gradus_recipe(session), "\"sgd\"") != NULL);
  CHECK(!strcmp(gradus_metadata(session, "artifact.program"), "\"squares\""));
  gradus_memory memory;
  OK(gradus_memory_of(session, &memory));
  CHECK(memory.state > 0 && memory.predicted >= memory.state);
  CHECK(gradus_bytes_at_load(session) == 0);
  CHECK(gradus_rank(session) == 0 && gradus_ranks(session) == 1);
  CHECK(gradus_turns(session) == 1);
  OK(gradus_fail(session, "nobody hears it"));
}

static void run(int train) {
  float loss = 0;
  int64_t done = 0;
  const void *inputs[] = {kOnes, kOnes};
  void *outputs[] = {&loss, &loss};
  OK(gradus_set_number(session, "optimizer.learning_rate", 0.25));
  OK(gradus_step(session, train, inputs, outputs));
  CHECK(loss == 14); /* 1 + 4 + 9; then w is half of what it was */
  OK(gradus_steps(session, train, 2, inputs, outputs, &done));
  CHECK(done == 2 && loss == 14.f / 16);
  gradus_step_options how;
  gradus_set_default_step_options(&how, sizeof(how));
  CHECK(how.size == sizeof(how) && !how.on_device);
  how = gradus_default_step_options();
  OK(gradus_steps_with(session, train, 0, inputs, outputs, &done, &how));
  OK(gradus_bind_input(session, train, "coefficient", kOnes));
  OK(gradus_bind_output(session, train, "loss", &loss));
  OK(gradus_step(session, train, NULL, NULL));
  CHECK(loss == 14.f / 64);
  CHECK(gradus_input_buffer(session, train, 0) != NULL);
  CHECK(gradus_output_buffer(session, train, 0) != NULL);
  gradus_cancel(session);
  CHECK(gradus_step(session, train, NULL, NULL) == GRADUS_CANCELLED);
}

static void change(int train, int w) {
  float values[3] = {0, 0, 0}, loss = -1;
  void *data, *bytes;
  size_t size;
  double rate = 0;
  void *outputs[] = {&loss};
  OK(gradus_number(session, "optimizer.learning_rate", &rate));
  CHECK(rate == 0.25);
  OK(gradus_reset(session));
  OK(gradus_read_state(session, "w", values, sizeof(values)));
  CHECK(values[2] == 3);
  OK(gradus_save_checkpoint_memory(session, &bytes, &size));
  values[2] = 7;
  OK(gradus_write_state(session, "w", values, sizeof(values)));
  OK(gradus_state_data(session, w, &data));
  CHECK(((float *)data)[2] == 7);
  memset(data, 0, sizeof(values));
  OK(gradus_state_changed(session, w));
  OK(gradus_step(session, train, NULL, outputs));
  CHECK(loss == 0);
  OK(gradus_load_weights_memory(session, bytes, size));
  OK(gradus_load_checkpoint_memory(session, bytes, size));
  gradus_free_bytes(bytes);
  OK(gradus_step(session, train, NULL, outputs));
  CHECK(loss == 14);
}

static void keep(const char *file, const char *artifact) {
  OK(gradus_save_checkpoint(session, file));
  OK(gradus_load_checkpoint(session, file));
  OK(gradus_load_weights(session, file));
  gradus_free(session);
  session = NULL;
  CHECK(gradus_load(artifact, NULL, &session) == GRADUS_INVALID);
  CHECK(session == NULL && *gradus_last_error(NULL));
}

int main(int count, char **arguments) {
  CHECK(count == 2 && *gradus_version());
  compile_and_load();
  int train = gradus_find_graph(session, "train");
  int w = gradus_find_state(session, "w");
  ask(train, w);
  run(train);
  change(train, w);
  keep(arguments[1], "nowhere.gradus");
  printf("all as in 0.1\n");
  return 0;
}
