/* What crosses between libgradus and libgradus_compiler when a program compiles
 * through gradus.h: plain C, so that the two need no types in common but these.
 * Both sides are of one version of Gradus and were built from the same of these
 * structs, which the entry checks by the version and the sizes. */

#ifndef GRADUS_RUNTIME_COMPILER_ABI_H
#define GRADUS_RUNTIME_COMPILER_ABI_H

#include "runtime/gradus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A named tensor; `dtype` as in "f32". */
typedef struct gradus_abi_tensor {
  const char *name, *dtype;
  const int64_t *shape;
  size_t rank;
  const void *bytes;
  size_t size;
} gradus_abi_tensor;

typedef struct gradus_abi_tensors {
  const gradus_abi_tensor *first;
  size_t count;
} gradus_abi_tensors;

/* A program that an artifact carries. */
typedef struct gradus_abi_program {
  const char *compiler; /* which wrote it */
  const void *bytecode;
  size_t size; /* 0: it carries none */
  const char *recipe;
  gradus_abi_tensors values; /* of states */
} gradus_abi_program;

/* The receivers of what a compilation makes, with the context of each. What
 * they are given is valid during the call. */
typedef struct gradus_abi_receiver {
  void *context;
  /* A piece of the artifact at its offset, the header last; 0: it was not
   * taken, for a reason that the receiver tells, and the compilation ends. */
  int (*write)(void *context, uint64_t offset, const void *bytes, size_t size);
  void (*ir)(void *context, const char *text);
  void (*tell)(void *context, const gradus_diagnostic *diagnostic);
  void (*fail)(void *context, const char *words);
} gradus_abi_receiver;

/* The basis of dim_reduce, which the compiler does not read itself: whoever
 * asks for it has what is given until the compilation ends. Both return
 * GRADUS_OK or the code of a failure, and say it in `*words`. */
typedef struct gradus_abi_basis {
  void *context;
  const char *given; /* names what is opened in place of that file; or NULL */
  /* Opens the file that the recipe names, and checks its header. */
  gradus_status (*open)(void *context, const char *path,
                        gradus_abi_tensors *parts, const char **words);
  /* Reads all values of the open one and checks them. */
  gradus_status (*verify)(void *context, const char **words);
} gradus_abi_basis;

typedef struct gradus_abi_request {
  /* Of this version's size. Their weights are in `weights`, and their model is
   * `program` if that is not NULL. The model's path is never NULL. */
  const gradus_compile_options *options;
  /* Of a model in memory: whether it is text, and whether data files lie beside
   * its path, because that was the caller's. */
  int model_is_text, model_has_folder;
  /* The data files of a model in memory, by the names that it has for them. */
  const gradus_source *data_files;
  size_t data_file_count;
  gradus_abi_tensors weights;
  const gradus_abi_program *program;
  gradus_abi_basis basis;
  gradus_abi_receiver to;
} gradus_abi_request;

/* What the two sides compare before one reads what the other wrote. It comes
 * first and grows nowhere, so that builds of different headers can say so. */
typedef struct gradus_abi_layout {
  const char *version; /* of Gradus */
  /* The bytes of the structs: tensor, program, basis, receiver, request,
   * options. */
  size_t sizes[6];
  /* Receives the words with which another layout is refused. */
  void *context;
  void (*fail)(void *context, const char *words);
} gradus_abi_layout;

#define GRADUS_ABI_SIZES                                                       \
  {sizeof(gradus_abi_tensor),  sizeof(gradus_abi_program),                     \
   sizeof(gradus_abi_basis),   sizeof(gradus_abi_receiver),                    \
   sizeof(gradus_abi_request), sizeof(gradus_compile_options)}

/* Compiles. `layout` is that of libgradus; another than the compiler's is
 * refused. */
typedef gradus_status gradus_abi_compile(const gradus_abi_layout *layout,
                                         const gradus_abi_request *request);

#define GRADUS_ABI_COMPILE "gradus_compiler_entry"

#ifdef __cplusplus
}
#endif

#endif /* GRADUS_RUNTIME_COMPILER_ABI_H */
