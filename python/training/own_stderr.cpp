// The archives of libpng and libjpeg are made for programs, which alone may
// reach `stderr` of the C library directly. The linker leads them to this one
// (--wrap=stderr), through which they may say what nobody else takes.

#include <cstdio>

extern "C" {
extern FILE *__real_stderr;
FILE *__wrap_stderr = __real_stderr;
}
