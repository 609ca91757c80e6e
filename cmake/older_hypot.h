// Names the hypot of all versions of glibc in place of the newest, which glibc
// has since 2.35: both give the same number; the older one also sets errno.
#pragma once

__asm__(".symver hypot, hypot@GLIBC_2.2.5");
