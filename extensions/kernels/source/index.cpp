// Picking and adding by index. Values are moved as bits, so one loop serves every type of its width; what does not lie
// densely in row-major order is left to NumPy.
#include "index.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#define WORKBENCH_LEAVES "leaves/index.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using BytesOut = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = Operand<std::int64_t, nb::ndim<1>, nb::c_contig>;

// The first index outside [lowest, size), once a loop has noticed one.
[[noreturn]] void out_of_bounds(const std::int64_t* index, std::int64_t count, std::int64_t lowest, std::int64_t size) {
    const std::int64_t* wrong = std::find_if(index, index + count, [&](std::int64_t i) { return i < lowest || i >= size; });
    throw nb::index_error(std::to_string(wrong == index + count ? size : *wrong).c_str());
}

void check_bytes(std::size_t have, std::int64_t count, std::int64_t width, const char* name) {
    if (count < 0 || width < 0 || static_cast<std::int64_t>(have) != count * width)
        refuse(std::string(name) + " has " + std::to_string(have) + " bytes; expected " + std::to_string(count * width));
}

// Runs body(range of columns) for each of `outer`: over threads by what there is more of.
template <typename Body>
void over_planes(std::int64_t outer, std::int64_t inner, std::int64_t work, Body&& body) {
    if (outer >= thread_count() || inner < 64) {
        parallel_for(outer, grain_for(work), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t o = begin; o < end; ++o) body(o, std::int64_t{0}, inner);
        });
    } else {
        parallel_for(inner / 16, grain_for(outer * work / std::max<std::int64_t>(1, inner / 16)),
                     [&](std::int64_t begin, std::int64_t end) {
                         const std::int64_t last = end == inner / 16 ? inner : end * 16;
                         for (std::int64_t o = 0; o < outer; ++o) body(o, begin * 16, last);
                     });
    }
}

constexpr std::int64_t block = 512;  // indices that are looked at before they are used, while they are in the cache

// out[o, m, i] = x[o, index[o, m, i], i]
template <typename T>
bool gather_bits(const T* x, const std::int64_t* index, T* out, std::int64_t outer, std::int64_t size, std::int64_t many,
                 std::int64_t inner) {
    std::atomic<bool> wrong{false};
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
        bool outside = false;
        for (std::int64_t row = begin; row < end; ++row) {
            const T* from = x + row / many * size * inner;
            const std::int64_t at = row * inner;
            for (std::int64_t i = 0; i < inner; ++i) {
                const auto place = static_cast<std::uint64_t>(index[at + i]);
                const bool inside = place < static_cast<std::uint64_t>(size);
                outside |= !inside;
                out[at + i] = from[inside ? static_cast<std::int64_t>(place) * inner + i : 0];
            }
        }
        if (outside) wrong = true;
    };
    if (inner == 1) {  // rows of one value: whole runs instead
        parallel_for(outer * many, 8192, [&](std::int64_t begin, std::int64_t end) {
            bool outside = false;
            while (begin < end) {
                const std::int64_t o = begin / many, stop = std::min(end, (o + 1) * many);
                const T* from = x + o * size;
                for (; begin < stop; begin += block) {
                    const std::int64_t last = std::min(stop, begin + block);
                    if (!LEAF_WIDE(all_inside)(index + begin, last - begin, size)) {
                        outside = true;
                        continue;
                    }
#pragma GCC unroll 8
                    for (std::int64_t i = begin; i < last; ++i) out[i] = from[index[i]];
                }
                begin = stop;
            }
            if (outside) wrong = true;
        });
    } else {
        parallel_for(outer * many, grain_for(2 * inner), rows);
    }
    return !wrong;
}

void gather(const Bytes& x, const Places& index, const BytesOut& out, std::int64_t outer, std::int64_t size,
            std::int64_t many, std::int64_t inner, int width) {
    const std::int64_t count = outer * many * inner;
    check_bytes(x.shape(0), outer * size * inner, width, "gather input");
    check_bytes(out.shape(0), count, width, "gather output");
    check_bytes(index.shape(0) * 8, count, 8, "gather index");
    bool right = size > 0 || count == 0;
    if (right && count) {
        KernelScope scope;
        const auto run = [&](auto zero) {
            using T = decltype(zero);
            return gather_bits(reinterpret_cast<const T*>(x.data()), index.data(), reinterpret_cast<T*>(out.data()), outer, size,
                               many, inner);
        };
        right = width == 1 ? run(std::uint8_t{}) : width == 2 ? run(std::uint16_t{}) : width == 4 ? run(std::uint32_t{}) : run(std::uint64_t{});
    }
    if (!right) out_of_bounds(index.data(), count, 0, size);
}

// out[o, m, :] = x[o, index[m], :] for rows of `width` bytes; negative indices count from the end.
void take(const Bytes& x, const Places& index, const BytesOut& out, std::int64_t outer, std::int64_t size, std::int64_t width) {
    const std::int64_t many = static_cast<std::int64_t>(index.shape(0));
    check_bytes(x.shape(0), outer * size, width, "index input");
    check_bytes(out.shape(0), outer * many, width, "index output");
    const std::int64_t* places = index.data();
    std::atomic<bool> wrong{false};
    const auto run = [&](auto&& copy) {
        KernelScope scope;
        parallel_for(outer * many, std::max<std::int64_t>(1, 65536 / (width + 8)), [&](std::int64_t begin, std::int64_t end) {
            bool outside = false;
            while (begin < end) {
                const std::int64_t o = begin / many, stop = std::min(end, (o + 1) * many);
                const std::uint8_t* from = x.data() + o * size * width;
                for (; begin < stop; begin += block) {
                    const std::int64_t* at = places + (begin - o * many);
                    const std::int64_t count = std::min(stop - begin, block);
                    std::uint8_t* to = out.data() + begin * width;
                    // As a rule no index of a block is negative: the loop then asks nothing.
                    if (LEAF_WIDE(all_inside)(at, count, size)) {
#pragma GCC unroll 8
                        for (std::int64_t i = 0; i < count; ++i) copy(to + i * width, from + at[i] * width);
                        continue;
                    }
                    for (std::int64_t i = 0; i < count; ++i) {
                        const std::int64_t place = at[i] + (at[i] < 0 ? size : 0);
                        if (static_cast<std::uint64_t>(place) < static_cast<std::uint64_t>(size))
                            copy(to + i * width, from + place * width);
                        else
                            outside = true;
                    }
                }
                begin = stop;
            }
            if (outside) wrong = true;
        });
    };
    if (width == 4)
        run([](std::uint8_t* to, const std::uint8_t* from) { std::memcpy(to, from, 4); });
    else if (width == 8)
        run([](std::uint8_t* to, const std::uint8_t* from) { std::memcpy(to, from, 8); });
    else
        run([width](std::uint8_t* to, const std::uint8_t* from) { std::memcpy(to, from, static_cast<std::size_t>(width)); });
    if (wrong) out_of_bounds(places, many, -size, size);
}

// out[o, index[o, m, i], i] += x[o, m, i], into zeros, or into a copy of `base`.
template <typename T>
nb::object scatter_add(const Input<T>& x, const Input<std::int64_t>& index, std::int64_t dim, const Dims& sizes,
                       const std::optional<Input<T>>& base) {
    const Dims shape = shape_of(x);
    bool fits = shape_of(index) == shape && sizes.size() == shape.size() && dim >= 0 && dim < static_cast<std::int64_t>(sizes.size());
    std::int64_t outer = 1, inner = 1;
    for (std::int64_t i = 0; fits && i < static_cast<std::int64_t>(shape.size()); ++i) {
        if (i == dim) continue;
        (i < dim ? outer : inner) *= shape[static_cast<std::size_t>(i)];
        fits = shape[static_cast<std::size_t>(i)] == sizes[static_cast<std::size_t>(i)];
    }
    if (!fits)
        refuse("scatter_add of values " + text(shape) + " at " + text(shape_of(index)) + " into " + text(sizes) + " along dim " +
               std::to_string(dim));
    if (base && shape_of(*base) != sizes) refuse("scatter_add into " + text(shape_of(*base)) + " with sizes " + text(sizes));
    const std::int64_t many = shape[static_cast<std::size_t>(dim)], size = sizes[static_cast<std::size_t>(dim)];
    const std::int64_t total = count_of(sizes), count = count_of(shape);
    auto out = Output<T>::row_major(sizes);
    std::atomic<bool> wrong{false};
    const auto places = row_major(index);
    {
        KernelScope scope;
        const auto values = row_major(x);
        if (base) {
            const auto from = row_major(*base);
            parallel_for(total, 65536, [&](std::int64_t begin, std::int64_t end) {
                std::copy(from.data() + begin, from.data() + end, out.data() + begin);
            });
        } else {
            parallel_for(total, 65536, [&](std::int64_t begin, std::int64_t end) { std::fill(out.data() + begin, out.data() + end, T{0}); });
        }
        over_planes(outer, inner, many * inner, [&](std::int64_t o, std::int64_t first, std::int64_t last) {
            T* to = out.data() + o * size * inner;
            bool outside = false;
            if (inner == 1) {
                const std::int64_t* places_here = places.data() + o * many;
                const T* from = values.data() + o * many;
                constexpr std::int64_t ahead = 16;
                for (std::int64_t first_of = 0; first_of < many; first_of += block) {
                    const std::int64_t last_of = std::min(many, first_of + block);
                    if (!LEAF_WIDE(all_inside)(places_here + first_of, last_of - first_of, size)) {
                        outside = true;
                        continue;
                    }
                    const std::int64_t fetched = size > 4096 ? std::min(last_of, many - ahead) : first_of;
                    std::int64_t m = first_of;
                    for (; m < fetched; ++m) {
                        __builtin_prefetch(to + places_here[m + ahead], 1);  // of an index not looked at yet: harmless
                        to[places_here[m]] += from[m];
                    }
                    for (; m < last_of; ++m) to[places_here[m]] += from[m];
                }
                if (outside) wrong = true;
                return;
            }
            for (std::int64_t m = 0; m < many; ++m) {
                const std::int64_t at = (o * many + m) * inner;
                for (std::int64_t i = first; i < last; ++i) {
                    const std::int64_t place = places.data()[at + i];
                    if (static_cast<std::uint64_t>(place) >= static_cast<std::uint64_t>(size))
                        outside = true;
                    else
                        to[place * inner + i] += values.data()[at + i];
                }
            }
            if (outside) wrong = true;
        });
    }
    if (wrong) out_of_bounds(places.data(), count, 0, size);
    return out.to_python();
}

// out[o, index[m], :] += x[o, m, :], into zeros of `sizes`; negative indices count from the end.
template <typename T>
nb::object index_add(const Input<T>& x, const Places& index, std::int64_t dim, const Dims& sizes) {
    if (dim < 0 || dim >= static_cast<std::int64_t>(sizes.size())) refuse("index_add along dim " + std::to_string(dim) + " of " + text(sizes));
    const std::int64_t many = static_cast<std::int64_t>(index.shape(0)), size = sizes[static_cast<std::size_t>(dim)];
    std::int64_t outer = 1, inner = 1;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(sizes.size()); ++i)
        if (i != dim) (i < dim ? outer : inner) *= sizes[static_cast<std::size_t>(i)];
    if (count_of(shape_of(x)) != outer * many * inner)
        refuse("index_add of values " + text(shape_of(x)) + " at " + std::to_string(many) + " places of " + text(sizes));
    const std::int64_t total = count_of(sizes);
    auto out = Output<T>::row_major(sizes);
    std::atomic<bool> wrong{false};
    {
        KernelScope scope;
        const auto values = row_major(x);
        parallel_for(total, 65536, [&](std::int64_t begin, std::int64_t end) { std::fill(out.data() + begin, out.data() + end, T{0}); });
        over_planes(outer, inner, many * inner, [&](std::int64_t o, std::int64_t first, std::int64_t last) {
            bool outside = false;
            for (std::int64_t m = 0; m < many; ++m) {
                std::int64_t place = index.data()[m];
                place += place < 0 ? size : 0;
                if (static_cast<std::uint64_t>(place) >= static_cast<std::uint64_t>(size)) {
                    outside = true;
                    continue;
                }
                T* to = out.data() + (o * size + place) * inner;
                const T* from = values.data() + (o * many + m) * inner;
                for (std::int64_t i = first; i < last; ++i) to[i] += from[i];
            }
            if (outside) wrong = true;
        });
    }
    if (wrong) out_of_bounds(index.data(), many, -size, size);
    return out.to_python();
}

// The same values row by row, however they lie.
template <typename T>
nb::object dense_copy(const Input<T>& x) {
    const Dims shape = shape_of(x);
    auto out = Output<T>::row_major(shape);
    {
        KernelScope scope;
        copy_strided(out.data(), row_major_strides(shape), x.data(), shape, strides_of(x));
    }
    return out.to_python();
}

template <typename T>
void bind_for(nb::module_& module) {
    using nb::arg;
    module.def("scatter_add", &scatter_add<T>, arg("x").noconvert(), arg("index").noconvert(), nb::kw_only(), arg("dim"), arg("sizes"),
               arg("base").noconvert() = nb::none());
    module.def("dense_copy", &dense_copy<T>, arg("x").noconvert());
    module.def("index_add", &index_add<T>, arg("x").noconvert(), arg("index").noconvert(), nb::kw_only(), arg("dim"), arg("sizes"));
}

}  // namespace

void bind_index(nb::module_& module) {
    using nb::arg;
    module.def("gather", &gather, arg("x").noconvert(), arg("index").noconvert(), arg("out").noconvert(), arg("outer"), arg("size"),
               arg("many"), arg("inner"), arg("width"));
    module.def("take", &take, arg("x").noconvert(), arg("index").noconvert(), arg("out").noconvert(), arg("outer"), arg("size"),
               arg("width"));
    bind_for<float>(module), bind_for<double>(module), bind_for<std::int64_t>(module);
}

}  // namespace workbench
