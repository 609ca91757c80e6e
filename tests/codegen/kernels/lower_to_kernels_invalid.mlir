// RUN: gradus-opt %s --lower-to-kernels=threads=0 --verify-diagnostics

// expected-error @below {{lower-to-kernels: threads is 0, expected at least 1}}
gradus.program @p {
}
