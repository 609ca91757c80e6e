/* Trains a compiled step from C: loads the artifact, makes some steps on the
 * digits and saves a checkpoint. Needs libgradus and nothing else of Gradus.
 * The step takes f32 `image` and i64 `label`, and gives loss and accuracy.
 *   train lenet.gradus train.safetensors 200 lenet.safetensors */
#include <gradus/gradus.h>
#include <stdio.h>
#include <stdlib.h>

static gradus_session *session;

static void fail(const char *message) {
  fprintf(stderr, "train: %s\n", message);
  exit(1);
}

static void check(gradus_status status) {
  if (status != GRADUS_OK)
    fail(gradus_last_error(session));
}

/* The first two inputs of a step that takes and gives what we do. */
static void get_inputs(int graph, gradus_tensor *image, gradus_tensor *label) {
  if (gradus_find_input(session, graph, "image") != 0 ||
      gradus_find_input(session, graph, "label") != 1 ||
      gradus_input_count(session, graph) != 2 ||
      gradus_output_count(session, graph) != 2)
    fail("expected a graph train of image and label that gives loss and "
         "accuracy; `gradus inspect ARTIFACT` says what this one has");
  check(gradus_input(session, graph, 0, image));
  check(gradus_input(session, graph, 1, label));
}

/* The samples' bytes: a .safetensors file is the length of a header, the header
 * (which we know: all images, then all labels) and the tensors. */
static char *read_tensors(const char *path, size_t *bytes) {
  unsigned long long header = 0;
  FILE *file = fopen(path, "rb");
  if (!file || !fread(&header, 8, 1, file) || fseek(file, 0, SEEK_END))
    fail("cannot read the data");
  *bytes = (size_t)ftell(file) - 8 - header;
  char *data = malloc(*bytes);
  if (!data || fseek(file, 8 + (long)header, SEEK_SET) ||
      !fread(data, *bytes, 1, file) || fclose(file))
    fail("cannot read the data");
  return data;
}

int main(int count, char **arguments) {
  if (count != 5)
    fail("expected ARTIFACT DATA STEPS CHECKPOINT");
  check(gradus_load(arguments[1], NULL, &session));
  int train = gradus_find_graph(session, "train");
  gradus_tensor image, label;
  get_inputs(train, &image, &label);

  size_t bytes, batch = (size_t)label.shape[0];
  char *images = read_tensors(arguments[2], &bytes);
  size_t samples = bytes / ((image.bytes + label.bytes) / batch);
  char *labels = images + samples * (image.bytes / batch);

  float loss = 0, accuracy;
  void *outputs[] = {&loss, &accuracy};
  for (long step = 0; step < atol(arguments[3]); ++step) {
    size_t at = (size_t)step % (samples / batch);
    char *x = images + at * image.bytes, *y = labels + at * label.bytes;
    const void *inputs[] = {x, y};
    check(gradus_step(session, train, inputs, outputs));
    if (step % 50 == 0)
      printf("step %ld: loss %.4f\n", step, loss);
  }
  check(gradus_save_checkpoint(session, arguments[4]));
  gradus_free(session);
}
