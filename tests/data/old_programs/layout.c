/* Prints how a compiler lays out what gradus.h declares: that of a program, or,
 * with another include path, that of the library. */
#include "gradus.h"

#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("size of " #type ": %zu\n", sizeof(type))
#define FIELD(type, field)                                                     \
  printf(#type "." #field ": %zu at %zu\n", sizeof(((type *)0)->field),        \
         offsetof(type, field))
#define NUMBER(name) printf(#name ": %d\n", (int)name)

static void print_structs(void) {
  SIZE(gradus_tensor);
  FIELD(gradus_tensor, name);
  FIELD(gradus_tensor, dtype);
  FIELD(gradus_tensor, rank);
  FIELD(gradus_tensor, shape);
  FIELD(gradus_tensor, bytes);
  SIZE(gradus_memory);
  FIELD(gradus_memory, state);
  FIELD(gradus_memory, bound);
  SIZE(gradus_source);
  FIELD(gradus_source, path);
  FIELD(gradus_source, bytes);
  FIELD(gradus_source, size);
  SIZE(gradus_diagnostic);
  FIELD(gradus_diagnostic, severity);
  FIELD(gradus_diagnostic, pass);
  FIELD(gradus_diagnostic, place);
  FIELD(gradus_diagnostic, text);
}

static void print_options(void) {
  FIELD(gradus_options, size);
  FIELD(gradus_options, threads);
  FIELD(gradus_options, deterministic);
  FIELD(gradus_options, device);
  FIELD(gradus_options, log);
  FIELD(gradus_options, log_context);
  FIELD(gradus_options, trust);
  FIELD(gradus_options, collectives);
  FIELD(gradus_compile_options, size);
  FIELD(gradus_compile_options, model);
  FIELD(gradus_compile_options, recipe);
  FIELD(gradus_compile_options, weights);
  FIELD(gradus_compile_options, overrides);
  FIELD(gradus_compile_options, dims);
  FIELD(gradus_compile_options, targets);
  FIELD(gradus_compile_options, plugins);
  FIELD(gradus_compile_options, libraries);
  FIELD(gradus_compile_options, memory_limit);
  FIELD(gradus_compile_options, stop_after);
  FIELD(gradus_compile_options, threads);
  FIELD(gradus_compile_options, flags);
  FIELD(gradus_compile_options, basis);
  FIELD(gradus_compile_options, extra);
  FIELD(gradus_step_options, size);
  FIELD(gradus_step_options, on_device);
  FIELD(gradus_step_options, stream);
}

static void print_types(void) {
  NUMBER(GRADUS_F32);
  NUMBER(GRADUS_F64);
  NUMBER(GRADUS_F16);
  NUMBER(GRADUS_BF16);
  NUMBER(GRADUS_I8);
  NUMBER(GRADUS_U8);
  NUMBER(GRADUS_I32);
  NUMBER(GRADUS_I64);
  NUMBER(GRADUS_BOOL);
  NUMBER(GRADUS_I16);
  NUMBER(GRADUS_U16);
  NUMBER(GRADUS_U32);
  NUMBER(GRADUS_U64);
}

static void print_numbers(void) {
  NUMBER(GRADUS_OK);
  NUMBER(GRADUS_INVALID);
  NUMBER(GRADUS_FAILED);
  NUMBER(GRADUS_CANCELLED);
  NUMBER(GRADUS_PARAMETER);
  NUMBER(GRADUS_BUFFER);
  NUMBER(GRADUS_SLOT);
  NUMBER(GRADUS_COUNTER);
  NUMBER(GRADUS_HYPERPARAMETER);
  NUMBER(GRADUS_SEED);
  NUMBER(GRADUS_COPY);
  NUMBER(GRADUS_PLACE);
  NUMBER(GRADUS_SCRATCH);
  NUMBER(GRADUS_FIXED);
  NUMBER(GRADUS_NUMBER);
  NUMBER(GRADUS_NO_PROGRAM);
  NUMBER(GRADUS_NODE_OUTPUTS);
  NUMBER(GRADUS_GRADIENT_OUTPUTS);
  NUMBER(GRADUS_PRINT_WEIGHTS);
  NUMBER(GRADUS_REMARKS);
  NUMBER(GRADUS_ERROR);
  NUMBER(GRADUS_WARNING);
  NUMBER(GRADUS_REMARK);
}

int main(void) {
  print_structs();
  print_options();
  print_types();
  print_numbers();
  return 0;
}
