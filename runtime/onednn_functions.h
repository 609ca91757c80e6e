// The functions of oneDNN that Gradus calls, for the executor, which runs
// primitives, and for the compiler, which only asks for their layouts.
//
// The library is searched for as libdnnl.so.3 in the places of
// runtime/library_places.h, unless GRADUS_ONEDNN_LIBRARY names it.
#pragma once

#include "runtime/shared_library.h"

#include <limits>
#include <oneapi/dnnl/dnnl.h>

namespace gradus::runtime::onednn {

constexpr const char *kVariable = "GRADUS_ONEDNN_LIBRARY",
                     *kName = "libdnnl.so.3";

inline WantedLibrary wanted() { return {kVariable, {kName}}; }

#define GRADUS_ONEDNN_FUNCTIONS(X)                                             \
  X(dnnl_version)                                                              \
  X(dnnl_engine_create)                                                        \
  X(dnnl_stream_create)                                                        \
  X(dnnl_memory_desc_create_with_strides)                                      \
  X(dnnl_memory_desc_create_with_tag)                                          \
  X(dnnl_memory_desc_query)                                                    \
  X(dnnl_memory_desc_get_size)                                                 \
  X(dnnl_memory_desc_destroy)                                                  \
  X(dnnl_memory_create)                                                        \
  X(dnnl_memory_set_data_handle)                                               \
  X(dnnl_memory_destroy)                                                       \
  X(dnnl_primitive_attr_create)                                                \
  X(dnnl_primitive_attr_set_scratchpad_mode)                                   \
  X(dnnl_primitive_attr_set_post_ops)                                          \
  X(dnnl_primitive_attr_destroy)                                               \
  X(dnnl_post_ops_create)                                                      \
  X(dnnl_post_ops_append_eltwise)                                              \
  X(dnnl_post_ops_destroy)                                                     \
  X(dnnl_matmul_primitive_desc_create)                                         \
  X(dnnl_convolution_forward_primitive_desc_create)                            \
  X(dnnl_convolution_backward_data_primitive_desc_create)                      \
  X(dnnl_convolution_backward_weights_primitive_desc_create)                   \
  X(dnnl_reorder_primitive_desc_create)                                        \
  X(dnnl_primitive_desc_query)                                                 \
  X(dnnl_primitive_desc_query_md)                                              \
  X(dnnl_primitive_desc_destroy)                                               \
  X(dnnl_primitive_create)                                                     \
  X(dnnl_primitive_execute)                                                    \
  X(dnnl_primitive_destroy)

/// The functions under their own names.
struct Functions {
#define GRADUS_ONEDNN_MEMBER(name) decltype(&::name) name = nullptr;
  GRADUS_ONEDNN_FUNCTIONS(GRADUS_ONEDNN_MEMBER)
#undef GRADUS_ONEDNN_MEMBER

  /// Takes all from a library. Returns the first that it lacks, or null.
  const char *take(const SharedLibrary &library) {
#define GRADUS_ONEDNN_TAKE(name)                                               \
  this->name =                                                                 \
      library.function<std::remove_pointer_t<decltype(&::name)>>(#name);       \
  if (!this->name)                                                             \
    return #name;
    GRADUS_ONEDNN_FUNCTIONS(GRADUS_ONEDNN_TAKE)
#undef GRADUS_ONEDNN_TAKE
    return nullptr;
  }
};
#undef GRADUS_ONEDNN_FUNCTIONS

/// An elementwise function of oneDNN with its first parameter; the second is 0.
struct Eltwise {
  dnnl_alg_kind_t kind;
  float alpha = 0;
};

/// max(x, 0). The library's own makes 0 of what is not a number, so that a
/// step that went wrong would look like a good one. x * clip(largest * x, 0, 1)
/// keeps it, and is x or 0 for all but numbers below 3e-39, which become
/// smaller yet, and -infinity, which becomes NaN, too.
constexpr Eltwise kRelu = {dnnl_eltwise_hardswish,
                           std::numeric_limits<float>::max()};

} // namespace gradus::runtime::onednn
