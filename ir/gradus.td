// All ops of the gradus dialect.
include "ir/program_ops.td"
include "ir/tensor_ops.td"
include "ir/nn_ops.td"
include "ir/indexing_ops.td"
include "ir/transformer_ops.td"
