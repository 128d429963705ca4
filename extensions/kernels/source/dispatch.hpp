// Which machine code runs on this CPU.
//
// The module is compiled for plain x86-64. Inner loops live in leaves/*.inl, plain functions over raw pointers, and each
// such file is compiled twice into the file that uses it:
//
//     #define WORKBENCH_LEAVES "leaves/pooling.inl"
//     #include "dispatch.hpp"
//     ...
//     LEAF(max_pool_row)(image, ...);
//
// once in namespace `baseline` and once, for AVX2 and FMA, in namespace `avx2`; LEAF picks at run time. A file that
// defines WORKBENCH_LEAVES_WIDE has its leaves compiled a third time, for AVX-512, and calls them by LEAF_WIDE; such leaves
// are written in `floats`, which has as many lanes as the registers. A leaf uses nothing of the standard library: an
// inline function instantiated there could be shared with code for older CPUs.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "bfloat16.hpp"

#if defined(__x86_64__)
#define WORKBENCH_X86 1
#include <immintrin.h>
#define LEAF(...) (::workbench::has_avx2() ? avx2::__VA_ARGS__ : baseline::__VA_ARGS__)
#define LEAF_VNNI(...) (::workbench::has_vnni() ? vnni::__VA_ARGS__ : LEAF(__VA_ARGS__))
#define LEAF_WIDE(...) (::workbench::has_avx512() ? avx512::__VA_ARGS__ : LEAF(__VA_ARGS__))
#else
#define WORKBENCH_X86 0
#define LEAF(...) baseline::__VA_ARGS__
#define LEAF_VNNI(...) baseline::__VA_ARGS__
#define LEAF_WIDE(...) baseline::__VA_ARGS__
#endif

#define WORKBENCH_INLINE inline __attribute__((always_inline))

namespace workbench {

// What the user allows: WORKBENCH_KERNELS_ISA=baseline, avx2 or vnni leaves newer instructions unused, to compare and to test.
inline bool allows_avx2() {
    const char* most = std::getenv("WORKBENCH_KERNELS_ISA");
    return !most || std::string(most) != "baseline";
}
inline bool allows_avx512() {
    const char* most = std::getenv("WORKBENCH_KERNELS_ISA");
    return allows_avx2() && (!most || std::string(most) != "avx2");
}
inline bool allows_tiles() {
    const char* most = std::getenv("WORKBENCH_KERNELS_ISA");
    return allows_avx512() && (!most || std::string(most) != "vnni");
}

inline bool has_avx2() {
#if WORKBENCH_X86
    static const bool has = allows_avx2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has;
#else
    return false;
#endif
}

// The instructions that multiply and add four bytes at once; asked for by files that define WORKBENCH_LEAVES_VNNI, which
// are compiled a third time, in namespace `vnni`.
inline bool has_vnni() {
#if WORKBENCH_X86
    static const bool has = has_avx2() && allows_avx512() && __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
    return has;
#else
    return false;
#endif
}

// Registers of sixteen floats, and masks.
inline bool has_avx512() {
#if WORKBENCH_X86
    static const bool has = has_avx2() && allows_avx512() && __builtin_cpu_supports("avx512f") &&
                            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("avx512bw");
    return has;
#else
    return false;
#endif
}

// Eight lanes; without AVX2 the compiler uses pairs of SSE registers.
typedef float floats8 __attribute__((vector_size(32)));
typedef float floats8_unaligned __attribute__((vector_size(32), aligned(4), may_alias));
typedef std::int32_t ints8 __attribute__((vector_size(32)));
typedef std::int32_t ints8_unaligned __attribute__((vector_size(32), aligned(4), may_alias));
typedef float floats16 __attribute__((vector_size(64)));
typedef float floats16_unaligned __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::int32_t ints16 __attribute__((vector_size(64)));
typedef std::int32_t ints16_unaligned __attribute__((vector_size(64), aligned(4), may_alias));
typedef std::uint16_t halves8 __attribute__((vector_size(16)));
typedef std::uint16_t halves8_unaligned __attribute__((vector_size(16), aligned(2), may_alias));
typedef std::uint16_t halves16 __attribute__((vector_size(32)));
typedef std::uint16_t halves16_unaligned __attribute__((vector_size(32), aligned(2), may_alias));
typedef std::int64_t longs8 __attribute__((vector_size(64)));
typedef std::int64_t longs8_unaligned __attribute__((vector_size(64), aligned(8), may_alias));

// Leaf files are written inside a namespace of their own instruction set.
namespace baseline {
#include "leaves/vector.inl"
#ifdef WORKBENCH_LEAVES
#include WORKBENCH_LEAVES
#endif
}  // namespace baseline

#if WORKBENCH_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define WORKBENCH_AVX2 1
namespace avx2 {
#include "leaves/vector.inl"
#ifdef WORKBENCH_LEAVES
#include WORKBENCH_LEAVES
#endif
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#ifdef WORKBENCH_LEAVES_VNNI
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,avx512f,avx512vl,avx512bw,avx512vnni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512vnni")
#endif
#define WORKBENCH_VNNI 1
namespace vnni {
#include "leaves/vector.inl"
#include WORKBENCH_LEAVES
}  // namespace vnni
#undef WORKBENCH_VNNI
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#ifdef WORKBENCH_LEAVES_WIDE
#define WORKBENCH_AVX512_TARGET "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target(WORKBENCH_AVX512_TARGET))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")
#endif
#define WORKBENCH_AVX512 1
namespace avx512 {
#include "leaves/vector.inl"
#include WORKBENCH_LEAVES
}  // namespace avx512
#undef WORKBENCH_AVX512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#undef WORKBENCH_AVX2
#endif

}  // namespace workbench
