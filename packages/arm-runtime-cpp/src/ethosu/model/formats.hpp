// printf's words for numbers of fixed size. Newlib, the C library of bare metal, leaves those of 64
// bits out where the compiler brings its own <stdint.h>.
#pragma once

#include <cinttypes>

#ifndef PRId64
#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"
#endif
