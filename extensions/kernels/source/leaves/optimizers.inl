// Optimizer updates in place, for floats and for doubles. Included once per instruction set; see dispatch.hpp.

#define REAL float
#define RULE(name) name##_float
#define ROOT __builtin_sqrtf
#define MAGNITUDE __builtin_fabsf
#define LARGEST __FLT_MAX__
#include "optimizer_rules.inl"
#undef REAL
#undef RULE
#undef ROOT
#undef MAGNITUDE
#undef LARGEST

#define REAL double
#define RULE(name) name##_double
#define ROOT __builtin_sqrt
#define MAGNITUDE __builtin_fabs
#define LARGEST __DBL_MAX__
#include "optimizer_rules.inl"
#undef REAL
#undef RULE
#undef ROOT
#undef MAGNITUDE
#undef LARGEST
