// RUN: gradus-opt %s --select=library=sometimes --verify-diagnostics

// expected-error @below {{select: library is 'sometimes', expected auto, never or always}}
gradus.program @p {
}
