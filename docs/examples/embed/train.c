/* Trains a compiled step from C: loads the artifact, makes some steps on the
 * digits and saves a checkpoint. Needs libgradus and nothing else of Gradus.
 *
 *   train lenet.gradus train.safetensors 200 lenet.safetensors
 */
#include <gradus/gradus.h>
#include <stdio.h>
#include <stdlib.h>

static void check(gradus_status status, const gradus_session *session) {
  if (status != GRADUS_OK) {
    fprintf(stderr, "train: %s\n", gradus_last_error(session));
    exit(1);
  }
}

/* The samples' bytes: a .safetensors file is the length of a header, the header
 * (which we know: all images, then all labels) and the tensors. */
static char *read_tensors(const char *path, size_t *bytes) {
  unsigned long long header = 0;
  FILE *file = fopen(path, "rb");
  if (file && fread(&header, sizeof header, 1, file) == 1 && fseek(file, 0, SEEK_END) == 0) {
    *bytes = (size_t)ftell(file) - sizeof header - header;
    char *data = malloc(*bytes);
    fseek(file, (long)(sizeof header + header), SEEK_SET);
    if (data && fread(data, 1, *bytes, file) == *bytes && fclose(file) == 0)
      return data;
  }
  fprintf(stderr, "train: %s: cannot read\n", path);
  exit(1);
}

int main(int count, char **arguments) {
  if (count != 5)
    return fprintf(stderr, "usage: train ARTIFACT DATA STEPS CHECKPOINT\n"), 2;
  gradus_session *session;
  check(gradus_load(arguments[1], NULL, &session), NULL);
  int train = gradus_find_graph(session, "train");
  gradus_tensor image, label;
  check(gradus_input(session, train, gradus_find_input(session, train, "image"), &image), session);
  check(gradus_input(session, train, gradus_find_input(session, train, "label"), &label), session);

  size_t bytes, batch = (size_t)label.shape[0];
  char *images = read_tensors(arguments[2], &bytes);
  size_t samples = bytes / ((image.bytes + label.bytes) / batch);
  char *labels = images + samples * (image.bytes / batch);

  float loss = 0, accuracy;
  for (long step = 0; step < atol(arguments[3]); ++step) {
    size_t at = (size_t)step % (samples / batch);
    const void *inputs[] = {images + at * image.bytes, labels + at * label.bytes};
    void *outputs[] = {&loss, &accuracy};
    check(gradus_step(session, train, inputs, outputs), session);
    if (step % 50 == 0)
      printf("step %ld: loss %.4f\n", step, loss);
  }
  printf("last loss: %.4f\n", loss);
  check(gradus_save_checkpoint(session, arguments[4]), session);
  gradus_free(session);
}
