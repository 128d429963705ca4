// From float32 to bfloat16 and back. What comes out lies in memory as what went in.
#include "casts.hpp"

#define WORKBENCH_LEAVES "leaves/casts.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

template <typename From, typename To>
void cast_dense(const From* from, std::int64_t count, To* to) {
    const bool streamed = outgrows_caches(2 * count);
    // A thread that sleeps takes as long to wake as a quarter of a million of these take here.
    parallel_for(count, 1 << 18, [&](std::int64_t begin, std::int64_t end) {
        LEAF_WIDE(cast_run<From, To>)(from + begin, end - begin, to + begin, streamed);
    });
}

template <typename From, typename To>
nb::object cast_to(const Input<From>& x) {
    const Dims shape = shape_of(x);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(x));
    Output<To> out(shape, order);
    {
        KernelScope scope;
        const Dense<From> input(x, order);
        cast_dense(input.data(), count, out.data());
    }
    return out.to_python();
}

}  // namespace

void cast_values(const float* from, std::int64_t count, bfloat16* to) { cast_dense(from, count, to); }
void cast_values(const bfloat16* from, std::int64_t count, float* to) { cast_dense(from, count, to); }

void bind_casts(nb::module_& module) {
    using nb::arg;
    module.def("to_bfloat16", &cast_to<float, bfloat16>, arg("x").noconvert());
    module.def("to_float32", &cast_to<bfloat16, float>, arg("x").noconvert());
}

}  // namespace workbench
