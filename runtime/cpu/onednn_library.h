// oneDNN, loaded when the first plan needs it.
//
// libgradus does not link it: small artifacts start without its 55 MB. It is
// searched for as libdnnl.so.3 in the places of runtime/library_places.h,
// unless GRADUS_ONEDNN_LIBRARY names it. Its calls to OpenMP are served by our
// pool (cpu/openmp.h).

#pragma once

#include "runtime/status.h"

#include <oneapi/dnnl/dnnl.h>

namespace gradus::runtime {

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
  X(dnnl_primitive_desc_query_md)                                              \
  X(dnnl_primitive_desc_destroy)                                               \
  X(dnnl_primitive_create)                                                     \
  X(dnnl_primitive_execute)                                                    \
  X(dnnl_primitive_destroy)

/// The functions of the library, under their own names.
struct OneDnn {
#define GRADUS_ONEDNN_MEMBER(name) decltype(&::name) name;
  GRADUS_ONEDNN_FUNCTIONS(GRADUS_ONEDNN_MEMBER)
#undef GRADUS_ONEDNN_MEMBER
  dnnl_engine_t engine;
  dnnl_stream_t stream; // executes in the calling thread, so it can be shared
};

/// Loads the library at the first call; later calls return the same result.
/// Also fails if the system does not let it write machine code.
StatusOr<const OneDnn *> oneDnn();

} // namespace gradus::runtime
