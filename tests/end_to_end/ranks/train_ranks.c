// A rank of a training, as a program that knows only gradus.h has it.
//
//   train_ranks ARTIFACT BATCHES STEPS CHECKPOINT [FAILING]
//
// BATCHES holds the bytes of `image` and then of `label` of each batch: those
// of all logical ranks of a step, in order, then those of the next one. Rank 0
// writes the checkpoint. Rank FAILING gives up before its last step. Exit code
// 1 after an error, which rank 0 prints, and 3 of the rank that gave up.
#include "runtime/gradus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  gradus_session *session;
  int graph;
  FILE *batches;
  gradus_tensor tensors[2]; // image, label
  int inputs[2];
} training;

static int has_failed(const training *run) {
  if (gradus_rank(run->session) == 0)
    fprintf(stderr, "train_ranks: %s\n", gradus_last_error(run->session));
  gradus_free(run->session);
  return 1;
}

static int die(const char *what) {
  fprintf(stderr, "train_ranks: %s\n", what);
  exit(1);
}

static void open_run(training *run, char **words) {
  const char *const names[2] = {"image", "label"};
  gradus_options options = gradus_default_options();
  options.threads = 1;
  options.collectives = "mpi";
  if (gradus_load(words[1], &options, &run->session))
    die(gradus_last_error(NULL));
  run->graph = gradus_find_graph(run->session, "train");
  for (int i = 0; i < 2; ++i) {
    run->inputs[i] = gradus_find_input(run->session, run->graph, names[i]);
    if (gradus_input(run->session, run->graph, run->inputs[i],
                     &run->tensors[i]))
      die(gradus_last_error(run->session));
  }
  run->batches = fopen(words[2], "rb");
  if (!run->batches)
    die(words[2]);
}

// Puts batch `number` of all where the next step reads it.
static void read_batch(training *run, long number) {
  size_t each = run->tensors[0].bytes + run->tensors[1].bytes;
  if (fseek(run->batches, number * (long)each, SEEK_SET))
    die("the batches end too early");
  for (int i = 0; i < 2; ++i) {
    void *to = gradus_input_buffer(run->session, run->graph, run->inputs[i]);
    if (fread(to, 1, run->tensors[i].bytes, run->batches) !=
        run->tensors[i].bytes)
      die("the batches end too early");
  }
}

// A step of all ranks: as many calls as this one has logical ranks.
static gradus_status step(training *run, long number) {
  int turns = gradus_turns(run->session);
  long all = (long)gradus_ranks(run->session) * turns;
  for (int turn = 0; turn < turns; ++turn) {
    read_batch(run, number * all + gradus_rank(run->session) * turns + turn);
    gradus_status status = gradus_step(run->session, run->graph, NULL, NULL);
    if (status)
      return status;
  }
  return GRADUS_OK;
}

int main(int count, char **words) {
  training run = {NULL, -1, NULL, {{0}}, {-1, -1}};
  if (count < 5)
    die("usage: train_ranks ARTIFACT BATCHES STEPS CHECKPOINT [FAILING]");
  open_run(&run, words);
  long steps = atol(words[3]);
  int failing = count > 5 ? atoi(words[5]) : -1;
  for (long i = 0; i < steps; ++i) {
    if (i + 1 == steps && gradus_rank(run.session) == failing) {
      gradus_fail(run.session, "the batch is too hard");
      gradus_free(run.session);
      return 3;
    }
    if (step(&run, i))
      return has_failed(&run);
  }
  if (gradus_rank(run.session) == 0) {
    printf("rank 0 of %d, %d turns\n", gradus_ranks(run.session),
           gradus_turns(run.session));
    if (gradus_save_checkpoint(run.session, words[4]))
      return has_failed(&run);
  }
  gradus_free(run.session);
  return fclose(run.batches) ? 1 : 0;
}
