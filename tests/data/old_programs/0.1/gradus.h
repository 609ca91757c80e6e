/* Gradus: runs compiled training steps and, where the compiler is installed,
 * compiles them. The only header that is needed; plain C, link with libgradus.
 *
 *   gradus_session *session;
 *   if (gradus_load("lenet.gradus", NULL, &session) != GRADUS_OK)
 *     die(gradus_last_error(NULL));
 *   int train = gradus_find_graph(session, "train");
 *   const void *inputs[] = {images, labels};
 *   void *outputs[] = {&loss, &accuracy};
 *   gradus_step(session, train, inputs, outputs);
 *   gradus_save_checkpoint(session, "lenet.safetensors");
 *   gradus_free(session);
 *
 * Ownership. A session owns its state, its arena, its threads and every string
 * and shape that a function here returns; they live until gradus_free. Inputs
 * are copied in and outputs copied out before a call returns. All addresses are
 * of the host's memory, but for inputs that gradus_step_options says are of the
 * device's.
 *
 * Threads. A session may be used by any one thread at a time, whichever call it
 * is, and may move from thread to thread between calls; different sessions are
 * independent. The thread that runs steps computes, too, and needs 2 MiB of
 * stack. gradus_cancel alone may be called at any time, from any thread or
 * signal handler. Calls without a session or a result of a compilation may be
 * made by several threads at once.
 *
 * Floating-point errors raise no signals in here, even where the program wants
 * them (feenableexcept); its mode and flags are as before after each call.
 *
 * fork. A child has none of its parent's threads. There, a session that the
 * parent loaded can be freed and asked for its graphs, names, shapes, roles,
 * recipe and metadata; calls that run it, or read or write its state, fail with
 * GRADUS_INVALID. The child may load sessions of its own, on the CPU, and may
 * compile. No other thread may be inside a call of this library while one
 * forks.
 *
 * Files. Once gradus_load returns, the artifact's file may be changed, emptied
 * or removed: sessions run from their own memory. It stays open for
 * gradus_reset alone, which reads the initial weights again and fails, with no
 * state changed, if they are no longer in the file. A file that changes
 * while it is loaded is an error. Checkpoints are read before a call returns.
 *
 * Errors. Functions that can fail return a gradus_status; gradus_last_error
 * says in words what was found, what was expected and where. Nothing aborts on
 * bad input, but see gradus_compile for what LLVM does where it cannot go on,
 * and no exception leaves the library. Every function accepts NULL for the
 * session or the result and fails with GRADUS_INVALID (or returns 0, -1, NULL).
 *
 * Memory. Everything is allocated by gradus_load; a step allocates nothing.
 * Only oneDNN's calls allocate some in the first steps that run them: for
 * machine code, and packed matrices, as on machines without AVX2. They keep it.
 *
 * Trust. The machine code in an artifact runs with the rights of the process,
 * as any program's does: load artifacts only from where you would run programs
 * from. Everything else in the file is verified before anything runs.
 *
 * Stability. A program that was compiled with this header runs with each later
 * library of the same soname, which is libgradus.so.0 until 1.0: functions keep
 * their names, parameters and meaning, enumerators their values, structs what
 * they have. Later versions add functions, under a new version of symbols
 * (those of this header are GRADUS_0.1), and enumerators, so expect numbers of
 * roles and severities that you do not know. Structs that begin with `size` get
 * fields at their end: the library takes those that a program's `size` covers
 * and the defaults of others, refuses a `size` beyond its own if the bytes
 * there are not 0, and one below that of 0.1. Structs without `size` stay as
 * they are. Before 1.0 these may change: the words of errors and diagnostics,
 * keys of recipes and metadata (which JSON they are, not that they are JSON),
 * names of optimizer slots, and which versions of artifacts load: gradus_load
 * refuses others in words. Nothing that this header does not say is promised.
 */
#ifndef GRADUS_RUNTIME_GRADUS_H
#define GRADUS_RUNTIME_GRADUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GRADUS_API __attribute__((visibility("default")))
#else
#define GRADUS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A loaded artifact with its own state. */
typedef struct gradus_session gradus_session;

typedef enum gradus_status {
  GRADUS_OK = 0,
  GRADUS_INVALID = 1,  /* a bad argument, artifact, checkpoint or name */
  GRADUS_FAILED = 2,   /* the machine failed: memory, disk, a library */
  GRADUS_CANCELLED = 3 /* gradus_cancel was called */
} gradus_status;

typedef enum gradus_dtype {
  GRADUS_F32 = 0,
  GRADUS_F64 = 1,
  GRADUS_F16 = 2,
  GRADUS_BF16 = 3,
  GRADUS_I8 = 4,
  GRADUS_U8 = 5,
  GRADUS_I32 = 6,
  GRADUS_I64 = 7,
  GRADUS_BOOL = 8, /* one byte, 0 or 1 */
  GRADUS_I16 = 9,
  GRADUS_U16 = 10,
  GRADUS_U32 = 11,
  GRADUS_U64 = 12
} gradus_dtype;

/* An input, an output or a state. Tensors are dense, the last axis fastest. */
typedef struct gradus_tensor {
  const char *name;
  gradus_dtype dtype;
  int rank;
  const int64_t *shape; /* rank sizes */
  size_t bytes;
} gradus_tensor;

/* Receives one line without a newline; called only from gradus_load. */
typedef void (*gradus_log_function)(void *context, const char *line);

/* How to load. Start from gradus_default_options(), or pass NULL for it. */
typedef struct gradus_options {
  size_t size;        /* sizeof(gradus_options): see "Stability" */
  int threads;        /* 0: one per core that affinity and CPU quota allow;
                         more than these run, but no faster */
  int deterministic;  /* bits do not depend on the number of threads, cores */
  const char *device; /* "cpu", "cuda", "cuda:1", "emulated" */
  gradus_log_function log; /* NULL: silent */
  void *log_context;
  int trust; /* do not check the hashes of weights and constants */
  /* How this process is connected with others that train together: NULL, not
   * at all (a launcher's variables are not looked at); "mpi", as a rank of MPI,
   * which libgradus_mpi.so initializes in a thread of its own. See "Ranks". */
  const char *collectives;
} gradus_options;

/* Writes the defaults into the first `size` bytes of `options`, which are those
 * that the caller's header, or another language's declaration, has: `size` is
 * in its field, and bytes that this version does not know are 0. Does nothing
 * for NULL or a size below that of the field `size`. */
GRADUS_API void gradus_set_default_options(gradus_options *options,
                                           size_t size);

/* Is a part of the program, not of the library, so that what it returns is as
 * large as the program's header says. */
static inline gradus_options gradus_default_options(void) {
  gradus_options options;
  gradus_set_default_options(&options, sizeof(options));
  return options;
}

/* Loads the artifact at `path`, verifies it and initialises its state.
 * On failure `*session` is NULL and gradus_last_error(NULL) says why. */
GRADUS_API gradus_status gradus_load(const char *path,
                                     const gradus_options *options,
                                     gradus_session **session);

/* Loads an artifact from memory, like gradus_load; the bytes are copied. */
GRADUS_API gradus_status gradus_load_memory(const void *bytes, size_t size,
                                            const gradus_options *options,
                                            gradus_session **session);

/* Frees everything; NULL is fine. */
GRADUS_API void gradus_free(gradus_session *session);

/* The error of the last call that failed: of this session, or with NULL of this
 * thread's calls without a session (gradus_load, gradus_compile). Never NULL;
 * valid until the next failure. */
GRADUS_API const char *gradus_last_error(const gradus_session *session);

/* The version of the runtime: "0.1.0". */
GRADUS_API const char *gradus_version(void);

/* -- Graphs, inputs, outputs and states ------------------------------------ */

/* Graphs are numbered from 0. gradus_find_graph returns -1 for an unknown
 * name, gradus_graph_name NULL for a number out of range. */
GRADUS_API int gradus_graph_count(const gradus_session *session);
GRADUS_API const char *gradus_graph_name(const gradus_session *session,
                                         int graph);
GRADUS_API int gradus_find_graph(const gradus_session *session,
                                 const char *name);

GRADUS_API int gradus_input_count(const gradus_session *session, int graph);
GRADUS_API int gradus_output_count(const gradus_session *session, int graph);
GRADUS_API int gradus_state_count(const gradus_session *session);

/* The number of an input, output or state by its name, or -1. */
GRADUS_API int gradus_find_input(const gradus_session *session, int graph,
                                 const char *name);
GRADUS_API int gradus_find_output(const gradus_session *session, int graph,
                                  const char *name);
GRADUS_API int gradus_find_state(const gradus_session *session,
                                 const char *name);

GRADUS_API gradus_status gradus_input(const gradus_session *session, int graph,
                                      int input, gradus_tensor *tensor);
GRADUS_API gradus_status gradus_output(const gradus_session *session, int graph,
                                       int output, gradus_tensor *tensor);
GRADUS_API gradus_status gradus_state(const gradus_session *session, int state,
                                      gradus_tensor *tensor);

/* The use of a state in training. Checkpoints have those up to GRADUS_SEED, and
 * numbers. */
typedef enum gradus_role {
  GRADUS_PARAMETER = 0,
  GRADUS_BUFFER = 1,  /* the model's, and not trained: running statistics */
  GRADUS_SLOT = 2,    /* an optimizer's or a method's, such as a momentum */
  GRADUS_COUNTER = 3, /* of steps, as `step` */
  GRADUS_HYPERPARAMETER = 4, /* a number that steps change: the loss scale */
  GRADUS_SEED = 5,
  GRADUS_COPY = 6,  /* a parameter rounded to 16 bits: made when needed */
  GRADUS_PLACE = 7, /* the rank and the like: set when an artifact is loaded */
  GRADUS_SCRATCH = 8, /* means something only within a step of several turns */
  GRADUS_FIXED = 9,   /* has its initial value for good */
  GRADUS_NUMBER = 10  /* a number of the recipe: gradus_set_number */
} gradus_role;

/* The gradus_role of a state; -1 for a number out of range. */
GRADUS_API int gradus_state_role(const gradus_session *session, int state);

/* The recipe that the artifact was compiled with, with all defaults, as JSON;
 * "{}" if it carries none. */
GRADUS_API const char *gradus_recipe(const gradus_session *session);

/* What the artifact says under a key, as JSON; NULL, which is no error, if it
 * says nothing. A key of the recipe is called by its path: "inputs.normalize"
 * (what the caller has to do to inputs: (x - mean) / std for each channel, of
 * pixels in [0, 1]), "inputs.dims" (the sizes given to the model's symbolic
 * dimensions), "metrics", "loss", "optimizer.type". Beside it there are
 *   "artifact.program"   the program's name
 *   "artifact.producer"  the compiler's: "gradus 0.1.0"
 *   "artifact.target"    of the plan that runs: "cpu:x86-64-v4"
 *   "artifact.classes"   labels lie in [0, classes); null: there are no labels
 *   "artifact.deterministic"  whether bits depend on the number of threads
 *   "artifact.indices"   {"train": {"tokens": 256}}: for each graph those
 *                        inputs whose integers must lie in [-n, n) */
GRADUS_API const char *gradus_metadata(const gradus_session *session,
                                       const char *key);

/* -- Running -------------------------------------------------------------- */

/* Runs a graph once. `inputs[i]` holds the bytes of input i and `outputs[i]`
 * receives those of output i. A NULL array, or a NULL entry, stands for the
 * bound address (gradus_bind_...); an unbound input is read from
 * gradus_input_buffer, where the caller has put it since the last step, and an
 * unbound output can be read at gradus_output_buffer. */
GRADUS_API gradus_status gradus_step(gradus_session *session, int graph,
                                     const void *const *inputs,
                                     void *const *outputs);

/* Runs a graph `count` times over a queue of batches: with n inputs,
 * inputs[k * n + i] is input i of step k, and outputs in the same way (NULL:
 * where they are bound). Stops between steps when cancelled. `*done` (may be
 * NULL) gets the number of steps that are known to be complete: if a device
 * fails while steps without outputs wait in its queue, none of those counts. */
GRADUS_API gradus_status gradus_steps(gradus_session *session, int graph,
                                      int64_t count, const void *const *inputs,
                                      void *const *outputs, int64_t *done);

/* How steps get their inputs. Start from gradus_default_step_options(). */
typedef struct gradus_step_options {
  size_t size; /* sizeof(gradus_step_options): see "Stability" */
  /* For each address of the call's `inputs` whether it is of the memory of the
   * session's device (not 0) or of the host's (0); NULL: all are the host's. */
  const unsigned char *on_device;
  /* Where those of the device are made: a CUstream, which is a cudaStream_t, of
   * the device's primary context; NULL: the legacy default stream. */
  void *stream;
} gradus_step_options;

/* As gradus_set_default_options and gradus_default_options. */
GRADUS_API void gradus_set_default_step_options(gradus_step_options *options,
                                                size_t size);
static inline gradus_step_options gradus_default_step_options(void) {
  gradus_step_options options;
  gradus_set_default_step_options(&options, sizeof(options));
  return options;
}

/* gradus_steps with options (NULL: their defaults), for inputs that lie in the
 * memory of the GPU that the session runs on: they are copied there, and never
 * through the host, behind the work that is in `stream` when the call is made,
 * and have been read when it returns. GRADUS_INVALID on the CPU. An address
 * that is none of the device's is an error of its driver: GRADUS_FAILED, and
 * the session can only be freed. void *gradus_emulated_memory(const void
 * *bytes, size_t size) of libgradus_emulated.so gives the emulated GPU's. */
GRADUS_API gradus_status gradus_steps_with(gradus_session *session, int graph,
                                           int64_t count,
                                           const void *const *inputs,
                                           void *const *outputs, int64_t *done,
                                           const gradus_step_options *options);

/* Binds the address that an input is read from, or an output written to, by
 * steps that give no other; NULL unbinds it. The memory stays the caller's. */
GRADUS_API gradus_status gradus_bind_input(gradus_session *session, int graph,
                                           const char *name, const void *data);
GRADUS_API gradus_status gradus_bind_output(gradus_session *session, int graph,
                                            const char *name, void *data);

/* The input buffer is the memory from which the next step reads an input: write
 * it before each step, since a step may overwrite it. With a schedule, as
 * accumulation makes one, the address changes from step to step: ask for it
 * each time. The output buffer is the memory in which the last step left an
 * output: ask and read after the step, before the next. NULL for a number out
 * of range, for an output of a graph that has not run, where outputs are large,
 * or if the device has failed. */
GRADUS_API void *gradus_input_buffer(gradus_session *session, int graph,
                                     int input);
GRADUS_API const void *gradus_output_buffer(gradus_session *session, int graph,
                                            int output);

/* Asks a running gradus_steps to stop after its current step, or the next
 * gradus_step or gradus_steps to fail at once, with GRADUS_CANCELLED. The state
 * is always that of a whole number of steps: where several calls make one
 * (gradus_turns), the calls that end it still run. */
GRADUS_API void gradus_cancel(gradus_session *session);

/* -- State ---------------------------------------------------------------- */

/* Copies a whole state out or in; `bytes` must be its size. Numbers of the
 * recipe are states, too, of one double each, called by the path of their key:
 * "optimizer.learning_rate". One outside the key's range is GRADUS_INVALID. */
GRADUS_API gradus_status gradus_read_state(gradus_session *session,
                                           const char *name, void *data,
                                           size_t bytes);
GRADUS_API gradus_status gradus_write_state(gradus_session *session,
                                            const char *name, const void *data,
                                            size_t bytes);

/* A pointer to a state's bytes, to read and to write without a copy; by the
 * state's number, so that nothing is looked up. On the CPU it is the memory
 * that steps use, the same address until gradus_free: each step, and each call
 * that writes states, changes what is there. On another device it is a copy in
 * the host's memory, which this call fills anew and which stays as it is until
 * the next one; its address is the same until gradus_free. Only the session's
 * thread may read or write there, and not during a call.
 *
 * A value that was written there counts once gradus_state_changed is called,
 * before any other call with this session: what is made of the state (its
 * 16-bit copy) is then made anew, and other devices get the bytes. Without it
 * steps may compute with the old value, the new one or parts of both.
 *
 * A number of the recipe, whose range would not be checked, a 16-bit copy, a
 * place and a fixed state have no such pointer: the call fails with
 * GRADUS_INVALID. Ranks write the same to a state before the same step. A child
 * of fork must not use pointers of its parent's. */
GRADUS_API gradus_status gradus_state_data(gradus_session *session, int state,
                                           void **data);
GRADUS_API gradus_status gradus_state_changed(gradus_session *session,
                                              int state);

/* Reads or sets a number of the recipe by the path of its key, such as
 * "optimizer.learning_rate", from the next step on. GRADUS_INVALID for a number
 * that the artifact does not have (the words name those that it has) or outside
 * of the key's range. Ranks set the same number before the same step. */
GRADUS_API gradus_status gradus_number(gradus_session *session,
                                       const char *path, double *number);
GRADUS_API gradus_status gradus_set_number(gradus_session *session,
                                           const char *path, double number);

/* Resets every state to its value right after gradus_load. Fails, and changes
 * none, if the artifact's file has other weights by now. A step of which only
 * some turns have run (gradus_turns) begins anew, also where a checkpoint or
 * weights are loaded. */
GRADUS_API gradus_status gradus_reset(gradus_session *session);

/* Writes every state by name to a .safetensors file, except 16-bit copies of
 * weights, which are computed again when needed, and what has no meaning beyond
 * a step or a process. Atomic: the file at `path` is the old or the new one. */
GRADUS_API gradus_status gradus_save_checkpoint(gradus_session *session,
                                                const char *path);

/* Reads every state from a checkpoint. On GRADUS_INVALID no state has changed.
 * Numbers of the recipe are the checkpoint's from then on, also where the
 * artifact was compiled with others; those that it lacks stay as they are. */
GRADUS_API gradus_status gradus_load_checkpoint(gradus_session *session,
                                                const char *path);

/* Reads the parameters and buffers that a .safetensors file has, and leaves the
 * rest as it is: fine-tuning. On GRADUS_INVALID no state has changed. */
GRADUS_API gradus_status gradus_load_weights(gradus_session *session,
                                             const char *path);

/* The same to and from memory. gradus_save_checkpoint_memory gives the bytes
 * that the file would have: the caller's, to be freed by gradus_free_bytes. On
 * failure `*bytes` is NULL and `*size` 0. What is read is copied before a call
 * returns. */
GRADUS_API gradus_status gradus_save_checkpoint_memory(gradus_session *session,
                                                       void **bytes,
                                                       size_t *size);
GRADUS_API gradus_status gradus_load_checkpoint_memory(gradus_session *session,
                                                       const void *bytes,
                                                       size_t size);
GRADUS_API gradus_status gradus_load_weights_memory(gradus_session *session,
                                                    const void *bytes,
                                                    size_t size);

/* Frees bytes that a call gave to the caller; NULL is fine. They may be freed
 * by any thread, and in a child of fork. */
GRADUS_API void gradus_free_bytes(void *bytes);

/* -- Memory --------------------------------------------------------------- */

typedef struct gradus_memory {
  uint64_t state; /* parameters, buffers, optimizer slots */
  uint64_t arena; /* activations, gradients, planned scratch of libraries */
  uint64_t constants;
  uint64_t code;
  uint64_t predicted; /* the sum of these, as compiled */
  uint64_t bound;     /* no order of the same commands needs a smaller arena */
} gradus_memory;

GRADUS_API gradus_status gradus_memory_of(const gradus_session *session,
                                          gradus_memory *memory);

/* The bytes that the device allocated besides when the artifact was loaded:
 * staged inputs, tables of launches, scratch of its libraries; 0 for NULL. */
GRADUS_API uint64_t gradus_bytes_at_load(const gradus_session *session);

/* -- Ranks ----------------------------------------------------------------- */

/* With options.collectives several processes, the ranks, load one artifact that
 * was compiled with the recipe's distribution.mode, and train it together.
 *
 * All ranks call these together, in the same order, with the same arguments but
 * for the data of inputs: gradus_load, gradus_step and gradus_steps of a graph
 * that trains, gradus_free. gradus_load fails on all of them if they have
 * different artifacts, or run different plans of one. Every rank loads the same
 * checkpoint, and one of them saves it. Everything else is a rank's own: graphs
 * that do not train, reading states, memory. gradus_cancel on one rank ends
 * all: the calls of the others return GRADUS_FAILED.
 *
 * A call that waits for a rank which failed, or was killed, returns
 * GRADUS_FAILED on all others, with that rank's words; such a session can only
 * be freed. MPI can be initialized once in a process: after gradus_free of a
 * session of ranks no other one can be loaded. */

/* The number of this process, from 0 on, and how many there are; 0 and 1 where
 * the session is not connected, or NULL. */
GRADUS_API int gradus_rank(const gradus_session *session);
GRADUS_API int gradus_ranks(const gradus_session *session);

/* How many calls of the graph `train` make one step; 1 for NULL. It is more
 * than 1 where the recipe's distribution.logical_ranks is more than the
 * processes: a run of S logical ranks has the same bits on 1, 2, 4, ... S
 * processes, of which each computes S / gradus_ranks() logical ranks, one a
 * call. Call i of a step (from 0 on) is given the batch of the logical rank
 * gradus_rank() * gradus_turns() + i of S = gradus_ranks() * gradus_turns().
 * The last call alone changes the state and has the step's outputs; those of
 * the others are 0. gradus_load fails on another number of processes. */
GRADUS_API int gradus_turns(const gradus_session *session);

/* Tells the others that this rank cannot go on, and why: their calls return
 * `words`. To be called before gradus_free by a rank that leaves early. */
GRADUS_API gradus_status gradus_fail(gradus_session *session,
                                     const char *words);

/* -- Compiling ------------------------------------------------------------- */

/* A file, or bytes that stand in its place; all NULL and 0: nothing is given.
 * With `bytes`, `path` is a name for errors, and may be NULL; a model's data
 * files are looked for in its folder, without it nowhere. */
typedef struct gradus_source {
  const char *path;
  const void *bytes;
  size_t size;
} gradus_source;

/* Bits of gradus_compile_options.flags. */
enum {
  GRADUS_NO_PROGRAM = 1,       /* leave the model's graph out of the artifact */
  GRADUS_NODE_OUTPUTS = 2,     /* `train` also gives each model node's value */
  GRADUS_GRADIENT_OUTPUTS = 4, /* and gradient.<parameter> of each parameter */
  GRADUS_PRINT_WEIGHTS = 8,    /* gradus_compiled_ir also has large weights */
  GRADUS_REMARKS = 16          /* diagnostics also say what each pass did */
};

/* What to compile, and how, in the words of `gradus compile --help` and
 * docs/contracts.md. Start from gradus_default_compile_options(). Lists of
 * strings end with NULL; a NULL list is empty. */
typedef struct gradus_compile_options {
  size_t size; /* sizeof(gradus_compile_options): see "Stability" */
  /* ONNX, a program's text, or an artifact to compile for other targets: as
   * the path ends (.onnx, .mlir, .gradus) or, with bytes, as those begin. */
  gradus_source model;
  gradus_source recipe;         /* JSON; nothing: the defaults */
  gradus_source weights;        /* .safetensors, by name, over the model's */
  const char *const *overrides; /* "optimizer.learning_rate=0.1" */
  const char *const *dims;      /* "batch=32" */
  const char *const *targets;   /* "cpu:x86-64-v3"; none: this machine */
  const char *const *plugins; /* libraries with passes: programs, see "Trust" */
  const char *libraries;      /* "auto", "never", "always"; NULL: "auto" */
  const char *memory_limit;   /* "2GiB"; NULL: none */
  const char *stop_after; /* a stage, to look at the IR; NULL: an artifact */
  int threads;            /* to plan for; 0: one per core */
  uint32_t flags;         /* GRADUS_NO_PROGRAM | ... */
  /* For the recipe's dim_reduce.basis, else opened from the current folder. */
  gradus_source basis;
  /* Options of `gradus compile` that have no field here, by their names there:
   * "initialize=zeros", "kernel-cache=off", "epilogues=bias",
   * "tuning=h200.json", "weights-map=encoder.*=backbone.*". */
  const char *const *extra;
} gradus_compile_options;

/* As gradus_set_default_options and gradus_default_options. */
GRADUS_API void
gradus_set_default_compile_options(gradus_compile_options *options,
                                   size_t size);
static inline gradus_compile_options gradus_default_compile_options(void) {
  gradus_compile_options options;
  gradus_set_default_compile_options(&options, sizeof(options));
  return options;
}

typedef enum gradus_severity {
  GRADUS_ERROR = 0,
  GRADUS_WARNING = 1,
  GRADUS_REMARK = 2 /* what a pass did, or why it did nothing */
} gradus_severity;

/* What the compiler says. Strings may be empty and are never NULL. */
typedef struct gradus_diagnostic {
  gradus_severity severity;
  const char *pass;  /* of a remark: "clip-gradients" */
  const char *place; /* `node "/conv1/Conv"`, "line 3:5" */
  const char *text;
} gradus_diagnostic;

/* The result of a compilation. One thread at a time may use it; a child of fork
 * may use its parent's. */
typedef struct gradus_compiled gradus_compiled;

/* Compiles a model and a recipe into an artifact, in memory: gradus_load_memory
 * takes the bytes, and a .gradus file is those bytes. The model may come from
 * anybody. What the options point to may go when the call returns.
 *
 * On failure gradus_last_error(NULL) has the words, and `*result` has the
 * diagnostics, or is NULL if the compiler was not reached. In either case it
 * ends with gradus_compiled_free.
 *
 * The compiler is libgradus_compiler.so. The first call opens it: the file that
 * the environment's GRADUS_COMPILER_LIBRARY names, else that beside libgradus,
 * or beside a program that libgradus.a is linked into, else one that the
 * system's loader finds. It stays open. GRADUS_FAILED if there is none, or it
 * is of another version.
 *
 * Any thread may call it, with 8 MiB of stack, as main threads have; calls at
 * the same time run one after the other. It starts no threads that outlive it.
 * The program of an artifact is read by a child of fork first. A process that
 * has no more memory, or in which LLVM meets a fault of its own, ends there by
 * abort(): compile in a process of its own what must not end yours. A child
 * that was forked while another thread compiled cannot compile: GRADUS_INVALID.
 */
GRADUS_API gradus_status gradus_compile(const gradus_compile_options *options,
                                        gradus_compiled **result);

/* gradus_compile of an ONNX model's bytes with its data files' bytes: the
 * `path` of each is the location by which the model names it. With `artifact`,
 * which stop_after excludes, the artifact is written piece by piece to a new
 * file, so that memory never has all of it. Once whole, that takes the place of
 * the file at this path, which stays as it is after any failure. GRADUS_FAILED
 * if it cannot be written, as where a device, a folder or a pipe is. */
GRADUS_API gradus_status gradus_compile_with(
    const gradus_compile_options *options, const gradus_source *data_files,
    size_t count, const char *artifact, gradus_compiled **result);

/* What decides, beside the options and the files that they name, which bytes
 * gradus_compile makes here, as a text for those who keep artifacts: builds of
 * the compiler (but not of an LLVM beside it), of oneDNN and of the CUDA
 * toolkit, the processor, the cores to run on, what the environment tells
 * oneDNN. It is read anew by each call, and lives until the thread's next one.
 * NULL if there is no compiler; gradus_last_error(NULL) says why. */
GRADUS_API const char *gradus_compiler_identity(void);

/* The artifact, `result`'s own; NULL, 0 and GRADUS_INVALID if it has none. */
GRADUS_API gradus_status gradus_compiled_artifact(const gradus_compiled *result,
                                                  const void **bytes,
                                                  size_t *size);

/* The program at `stop_after`, as text: "" if not asked for, NULL for NULL. */
GRADUS_API const char *gradus_compiled_ir(const gradus_compiled *result);

/* Diagnostics, numbered from 0 as they were made; remarks come last. */
GRADUS_API int gradus_compiled_diagnostic_count(const gradus_compiled *result);
GRADUS_API gradus_status gradus_compiled_diagnostic(
    const gradus_compiled *result, int number, gradus_diagnostic *diagnostic);

/* Frees it with all that it owns; NULL is fine. */
GRADUS_API void gradus_compiled_free(gradus_compiled *result);

#ifdef __cplusplus
}
#endif

#endif /* GRADUS_RUNTIME_GRADUS_H */
