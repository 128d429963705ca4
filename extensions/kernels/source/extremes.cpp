// The largest and smallest along one dim, with where they stand: for few values, where a call costs more than the work, and for
// columns side by side.
#include "extremes.hpp"

#include <algorithm>

#define WORKBENCH_LEAVES "leaves/extremes.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

template <bool largest, typename T>
nb::object extremes(const Input<T>& x, std::int64_t dim, bool keepdim) {
    const Dims shape = shape_of(x);
    const std::int64_t ndim = static_cast<std::int64_t>(shape.size());
    if (dim < -ndim || dim >= ndim) refuse("dim " + std::to_string(dim) + " of " + text(shape));
    const std::size_t at = static_cast<std::size_t>(dim < 0 ? dim + ndim : dim);
    const std::int64_t count = shape[at];
    if (count == 0) refuse("dim " + std::to_string(dim) + " of " + text(shape) + " has no largest or smallest value");
    Dims kept = shape;
    if (keepdim)
        kept[at] = 1;
    else
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(at));
    const std::int64_t step = count_of(Dims(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1, shape.end()));
    const std::int64_t outer = count_of(Dims(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(at)));
    auto values = Output<T>::row_major(kept);
    auto indices = Output<std::int64_t>::row_major(kept);
    {
        KernelScope scope(count_of(shape) * 4);
        const auto input = row_major(x);
        T* const to = values.data();
        std::int64_t* const where = indices.data();
        if (step == 1) {
            parallel_for(outer, grain_for(count), [&](std::int64_t begin, std::int64_t end) {
                LEAF_WIDE(extremes_of_rows<largest, T>)(input.data() + begin * count, end - begin, count, to + begin, where + begin);
            });
        } else {
            // As many columns as the first cache holds with their places.
            constexpr std::int64_t most = 1024;
            const std::int64_t parts = (step + most - 1) / most;
            parallel_for(outer * parts, grain_for(count * std::min(step, most)), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                    const std::int64_t first = i % parts * most, out = i / parts * step + first;
                    LEAF_WIDE(extremes_of_columns<largest, T>)(input.data() + i / parts * count * step + first, count, step,
                                                               std::min(most, step - first), to + out, where + out);
                }
            });
        }
    }
    return nb::make_tuple(values.to_python(), indices.to_python());
}

template <typename T>
void bind_for(nb::module_& module) {
    using nb::arg;
    module.def("max_dim", &extremes<true, T>, arg("x").noconvert(), nb::kw_only(), arg("dim"), arg("keepdim"));
    module.def("min_dim", &extremes<false, T>, arg("x").noconvert(), nb::kw_only(), arg("dim"), arg("keepdim"));
}

}  // namespace

void bind_extremes(nb::module_& module) {
    bind_for<float>(module);
    bind_for<double>(module);
    bind_for<std::int64_t>(module);
}

}  // namespace workbench
