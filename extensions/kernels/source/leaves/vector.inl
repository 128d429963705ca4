// Eight floats at a time. Included once per instruction set; see dispatch.hpp.

static WORKBENCH_INLINE floats8 load(const float* p) { return *reinterpret_cast<const floats8_unaligned*>(p); }
static WORKBENCH_INLINE ints8 load(const std::int32_t* p) { return *reinterpret_cast<const ints8_unaligned*>(p); }
static WORKBENCH_INLINE void store(float* p, floats8 v) { *reinterpret_cast<floats8_unaligned*>(p) = v; }
static WORKBENCH_INLINE void store(std::int32_t* p, ints8 v) { *reinterpret_cast<ints8_unaligned*>(p) = v; }
static WORKBENCH_INLINE floats8 spread(float v) { return floats8{v, v, v, v, v, v, v, v}; }
static WORKBENCH_INLINE ints8 spread(std::int32_t v) { return ints8{v, v, v, v, v, v, v, v}; }
