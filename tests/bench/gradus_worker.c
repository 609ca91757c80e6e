// Gradus's side of the bench: runs one artifact through the C API when told to.
//
//   gradus_worker ARTIFACT THREADS QUEUE BOUNDS [INPUTS]
//
// QUEUE 0 makes each step with a call of its own, otherwise QUEUE steps with
// one call. Integer inputs are below BOUNDS: a number, and `,INPUT=NUMBER` for
// inputs that have their own. INPUTS is a file with the bytes of all inputs of
// a step, one behind the other, in place of random ones. Protocol: see
// worker.py.
#include "runtime/gradus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST_INPUTS = 8, MOST_OUTPUTS = 8, MOST_QUEUE = 1024 };

typedef struct {
  gradus_session *session;
  int graph, inputs, outputs, queue;
  const void *batches[MOST_QUEUE * MOST_INPUTS];
  void *results[MOST_QUEUE * MOST_OUTPUTS];
} bench;

static void die(const char *what, const char *why) {
  fprintf(stderr, "gradus_worker: %s: %s\n", what, why);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

// What an integer input is below.
static int bound_of(const char *name, const char *bounds) {
  size_t length = strlen(name);
  for (const char *at = bounds; (at = strchr(at, ',')) != NULL;)
    if (!strncmp(++at, name, length) && at[length] == '=')
      return atoi(at + length + 1);
  return atoi(bounds);
}

// Uniform floats in -1..1, or integers.
static void *fill(const gradus_tensor *tensor, const char *bounds) {
  static unsigned seed = 1;
  int bound = bound_of(tensor->name, bounds);
  char *data = calloc(1, tensor->bytes + 64);
  if (!data)
    die(tensor->name, "out of memory");
  for (size_t i = 0; tensor->dtype == GRADUS_F32 && i < tensor->bytes / 4; ++i)
    ((float *)data)[i] = (float)(rand_r(&seed) / (RAND_MAX / 2.0) - 1.0);
  for (size_t i = 0; tensor->dtype == GRADUS_I64 && i < tensor->bytes / 8; ++i)
    ((int64_t *)data)[i] = rand_r(&seed) % bound;
  for (size_t i = 0; tensor->dtype == GRADUS_I32 && i < tensor->bytes / 4; ++i)
    ((int32_t *)data)[i] = rand_r(&seed) % bound;
  return data;
}

// The next bytes of the file.
static void *next_of(FILE *file, const gradus_tensor *tensor) {
  char *data = calloc(1, tensor->bytes + 64);
  if (!data)
    die(tensor->name, "out of memory");
  if (fread(data, 1, tensor->bytes, file) != tensor->bytes)
    die(tensor->name, "the file of inputs ends in it");
  return data;
}

// Every step gets the file's batch.
static void read_inputs(bench *b, const char *path) {
  gradus_tensor tensor;
  FILE *file = fopen(path, "rb");
  if (!file)
    die(path, "cannot be opened");
  for (int i = 0; i < b->inputs; ++i) {
    if (gradus_input(b->session, b->graph, i, &tensor) != GRADUS_OK)
      die("input", gradus_last_error(b->session));
    b->batches[i] = next_of(file, &tensor);
  }
  if (fgetc(file) != EOF)
    die(path, "has more bytes than the inputs");
  fclose(file);
  for (int i = b->inputs; i < b->queue * b->inputs; ++i)
    b->batches[i] = b->batches[i - b->inputs];
}

static void make_inputs(bench *b, const char *bounds) {
  gradus_tensor tensor;
  for (int step = 0; step < (b->queue ? b->queue : 1); ++step)
    for (int i = 0; i < b->inputs; ++i) {
      if (gradus_input(b->session, b->graph, i, &tensor) != GRADUS_OK)
        die("input", gradus_last_error(b->session));
      b->batches[step * b->inputs + i] = fill(&tensor, bounds);
    }
}

static void make_outputs(bench *b) {
  gradus_tensor tensor;
  for (int step = 0; step < (b->queue ? b->queue : 1); ++step)
    for (int i = 0; i < b->outputs; ++i) {
      if (gradus_output(b->session, b->graph, i, &tensor) != GRADUS_OK)
        die("output", gradus_last_error(b->session));
      b->results[step * b->outputs + i] = malloc(tensor.bytes + 64);
    }
}

static void load(bench *b, char **arguments) {
  gradus_options options = gradus_default_options();
  options.threads = atoi(arguments[2]);
  if (gradus_load(arguments[1], &options, &b->session) != GRADUS_OK)
    die(arguments[1], gradus_last_error(NULL));
  b->graph = gradus_find_graph(b->session, "train");
  if (b->graph < 0)
    die(arguments[1], "has no graph 'train'");
  b->inputs = gradus_input_count(b->session, b->graph);
  b->outputs = gradus_output_count(b->session, b->graph);
  b->queue = atoi(arguments[3]);
  if (b->inputs > MOST_INPUTS || b->outputs > MOST_OUTPUTS ||
      b->queue > MOST_QUEUE)
    die(arguments[1],
        "more inputs, outputs or queued steps than the bench has places for");
  if (arguments[5])
    read_inputs(b, arguments[5]);
  else
    make_inputs(b, arguments[4]);
  make_outputs(b);
}

static void run(bench *b, long steps) {
  gradus_status status = GRADUS_OK;
  if (b->queue)
    for (long k = 0; status == GRADUS_OK && k < steps / b->queue; ++k)
      status = gradus_steps(b->session, b->graph, b->queue, b->batches,
                            b->results, NULL);
  else
    for (long k = 0; status == GRADUS_OK && k < steps; ++k)
      status = gradus_step(b->session, b->graph, b->batches, b->results);
  if (status != GRADUS_OK)
    die("step", gradus_last_error(b->session));
}

// Makes steps, and says the loss of each.
static void say_losses(bench *b, long steps) {
  int loss = gradus_find_output(b->session, b->graph, "loss");
  if (loss < 0 || b->queue)
    die("losses", "the step has no output 'loss', or is one of a queue");
  printf("losses");
  for (long k = 0; k < steps; ++k) {
    run(b, 1);
    printf(" %.7g", *(const float *)b->results[loss]);
  }
  printf("\n");
}

static void answer(bench *b, const char *line) {
  if (!strncmp(line, "run ", 4)) {
    double start = now();
    run(b, atol(line + 4));
    printf("done %.0f\n", now() - start);
  } else if (!strncmp(line, "losses ", 7)) {
    say_losses(b, atol(line + 7));
  } else if (!strncmp(line, "memory", 6)) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("memory %ld\n", usage.ru_maxrss * 1024);
  } else {
    exit(0);
  }
}

int main(int count, char **arguments) {
  static bench b;
  char line[64];
  if (count != 5 && count != 6)
    die("usage", "gradus_worker ARTIFACT THREADS QUEUE BOUNDS [INPUTS]");
  double start = now();
  load(&b, arguments);
  run(&b, b.queue ? b.queue : 1);
  printf("ready %.4f\n", (now() - start) / 1e9);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    answer(&b, line);
    fflush(stdout);
  }
  gradus_free(b.session);
  return 0;
}
