// All ops of the gradus dialect.
include "ir/program_ops.td"
include "ir/tensor_ops.td"
include "ir/nn_ops.td"
include "ir/indexing_ops.td"
include "ir/transformer_ops.td"
include "ir/activation_ops.td"
include "ir/batch_norm_ops.td"
include "ir/attention_ops.td"
