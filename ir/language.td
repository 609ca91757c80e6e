// The whole dialect, for its page of reference.
include "ir/gradus.td"
include "ir/gradient_ops.td"
include "ir/scan_ops.td"
