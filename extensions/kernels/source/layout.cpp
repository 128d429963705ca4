#include "layout.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#define WORKBENCH_LEAVES "leaves/layout.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {

void refuse(const std::string& reason) { throw std::invalid_argument(reason); }

std::string text(const Dims& dims) {
    std::string out = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + std::to_string(dims[i]);
    return out + "]";
}

bool steps_between_values(nb::handle array) noexcept {
    if (!nb::ndarray_check(array)) return false;
    try {
        const auto itemsize = nb::cast<std::int64_t>(array.attr("itemsize"));
        for (nb::handle stride : array.attr("strides"))
            if (itemsize > 0 && nb::cast<std::int64_t>(stride) % itemsize != 0) return true;
    } catch (const std::exception&) {  // another library's array, without NumPy's words
    }
    return false;
}

nb::handle bfloat16_type() {
    // Kept until the process ends, as everything that the interpreter may outlive.
    static const nb::handle type = [] {
        return nb::module_::import_("numpy").attr("dtype")(nb::module_::import_("ml_dtypes").attr("bfloat16")).release();
    }();
    return type;
}

nb::module_ bfloat16_module(nb::module_& module) {
    if (nb::hasattr(module, "bfloat16")) return nb::cast<nb::module_>(module.attr("bfloat16"));
    return module.def_submodule("bfloat16", "Kernels on bfloat16: computed in floats, rounded once.");
}

nb::object bits_of_bfloat16(nb::handle array) noexcept {
    if (!nb::ndarray_check(array)) return nb::object();
    try {
        const nb::object type = array.attr("dtype");
        if (!type.is(bfloat16_type()) && !type.equal(bfloat16_type())) return nb::object();
        return array.attr("view")("uint16");
    } catch (const std::exception&) {  // another library's array, without NumPy's words
        return nb::object();
    }
}

std::int64_t count_of(const Dims& shape) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
        if (size < 0) refuse("negative size in shape " + text(shape));
        if (__builtin_mul_overflow(count, size, &count) || count > (std::int64_t{1} << 40))
            refuse("shape " + text(shape) + " has too many elements");
    }
    return count;
}

Dims row_major_strides(const Dims& shape) {
    Dims strides(shape.size());
    std::int64_t step = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        strides[i] = step;
        step *= std::max<std::int64_t>(1, shape[i]);
    }
    return strides;
}

Dims channels_last_strides(const Dims& shape) {
    if (shape.size() < 3) return row_major_strides(shape);
    Dims strides(shape.size());
    strides[1] = 1;
    std::int64_t step = std::max<std::int64_t>(1, shape[1]);
    for (std::size_t i = shape.size(); i-- > 2;) {
        strides[i] = step;
        step *= std::max<std::int64_t>(1, shape[i]);
    }
    strides[0] = step;
    return strides;
}

Dims dense_strides_like(const Dims& shape, const Dims& strides) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return std::abs(strides[a]) > std::abs(strides[b]); });
    Dims dense(shape.size());
    std::int64_t step = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        dense[order[i]] = step;
        step *= std::max<std::int64_t>(1, shape[order[i]]);
    }
    return dense;
}

bool lies_as(const Dims& shape, const Dims& strides, const Dims& expected) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 0) return true;
        if (shape[i] != 1 && strides[i] != expected[i]) return false;
    }
    return true;
}

namespace {

struct Walked {
    std::int64_t size, from, to;  // steps of both arrays
};

// Dimensions from slow to fast in the target's memory, merged where both arrays walk them evenly.
std::vector<Walked> walked(const Dims& target, const Dims& shape, const Dims& strides) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    order.erase(std::remove_if(order.begin(), order.end(), [&](std::size_t i) { return shape[i] == 1; }), order.end());
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return target[a] > target[b]; });
    std::vector<Walked> dims;
    for (const std::size_t i : order) {
        const Walked next{shape[i], strides[i], target[i]};
        if (!dims.empty() && dims.back().from == next.from * next.size && dims.back().to == next.to * next.size)
            dims.back() = {dims.back().size * next.size, next.from, next.to};
        else
            dims.push_back(next);
    }
    return dims;
}

// One plane: rows and columns, of which the source is the denser along the columns.
template <typename T>
void copy_plane(const T* from, T* to, const Walked& rows, const Walked& columns) {
    if constexpr (std::is_same_v<T, float>)
        if (columns.from == 1 && rows.to == 1) return LEAF(transpose)(from, rows.from, rows.size, columns.size, to, columns.to);
    for (std::int64_t r = 0; r < rows.size; ++r)
        for (std::int64_t c = 0; c < columns.size; ++c) to[r * rows.to + c * columns.to] = from[r * rows.from + c * columns.from];
}

}  // namespace

template <typename T>
void copy_strided(T* to, const Dims& target, const T* from, const Dims& shape, const Dims& strides) {
    const std::int64_t total = count_of(shape);
    if (total == 0) return;
    std::vector<Walked> dims = walked(target, shape, strides);
    while (dims.size() < 2) dims.insert(dims.begin(), Walked{1, 0, 0});
    // Planes of the target's fastest dimension and that along which the source is densest, or the next fastest.
    const auto density = [](const Walked& one) { return one.from == 0 ? INT64_MAX : std::abs(one.from); };
    const Walked fastest = dims.back();
    dims.pop_back();
    auto found = std::min_element(dims.begin(), dims.end(), [&](const Walked& a, const Walked& b) { return density(a) < density(b); });
    if (density(*found) >= density(fastest)) found = dims.end() - 1;
    Walked rows = *found, columns = fastest;
    dims.erase(found);
    if (density(rows) < density(columns)) std::swap(rows, columns);
    // Bands of a plane are shared out too: there may be one plane only.
    constexpr std::int64_t band = 64;
    Walked& longer = rows.size > columns.size ? rows : columns;
    const std::int64_t whole = longer.size, bands = (whole + band - 1) / band;
    const Walked other = &longer == &rows ? columns : rows;
    const bool by_rows = &longer == &rows;
    const std::int64_t tasks = total / (rows.size * columns.size) * bands;
    parallel_for(tasks, grain_for(std::min(band, whole) * other.size), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end;) {
            const std::int64_t first = task % bands, many = std::min(bands - first, end - task);
            std::int64_t rest = task / bands, source = first * band * longer.from, sink = first * band * longer.to;
            for (std::size_t i = dims.size(); i-- > 0; rest /= dims[i].size) {
                source += rest % dims[i].size * dims[i].from;
                sink += rest % dims[i].size * dims[i].to;
            }
            const Walked part{std::min(many * band, whole - first * band), longer.from, longer.to};
            copy_plane(from + source, to + sink, by_rows ? part : other, by_rows ? other : part);
            task += many;
        }
    });
}

template void copy_strided(float*, const Dims&, const float*, const Dims&, const Dims&);
template void copy_strided(bfloat16*, const Dims&, const bfloat16*, const Dims&, const Dims&);
template void copy_strided(double*, const Dims&, const double*, const Dims&, const Dims&);
template void copy_strided(std::int64_t*, const Dims&, const std::int64_t*, const Dims&, const Dims&);
template void copy_strided(std::int32_t*, const Dims&, const std::int32_t*, const Dims&, const Dims&);
template void copy_strided(std::uint8_t*, const Dims&, const std::uint8_t*, const Dims&, const Dims&);
template void copy_strided(std::int8_t*, const Dims&, const std::int8_t*, const Dims&, const Dims&);

}  // namespace workbench
