#include "layout.hpp"

#include <algorithm>
#include <numeric>

#include "threads.hpp"

namespace workbench {

void refuse(const std::string& reason) { throw std::invalid_argument(reason); }

std::string text(const Dims& dims) {
    std::string out = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + std::to_string(dims[i]);
    return out + "]";
}

std::int64_t count_of(const Dims& shape) {
    if (shape.size() > 8) refuse("an array with " + std::to_string(shape.size()) + " dimensions; kernels take at most 8");
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

template <typename T>
void copy_strided(T* to, const Dims& target, const T* from, const Dims& shape, const Dims& strides) {
    const std::int64_t total = count_of(shape);
    if (total == 0) return;
    // Walk in the order of the target's memory: the slowest dimensions are split over threads, and within the two
    // fastest ones the loop runs along the source's denser dimension.
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    order.erase(std::remove_if(order.begin(), order.end(), [&](std::size_t i) { return shape[i] == 1; }), order.end());
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return target[a] > target[b]; });
    while (order.size() < 2) order.insert(order.begin(), shape.size());  // stands for a dimension of size 1
    const auto size_at = [&](std::size_t i) { return i < shape.size() ? shape[i] : 1; };
    const auto step_at = [&](const Dims& steps, std::size_t i) { return i < shape.size() ? steps[i] : 0; };
    std::size_t outer = order[order.size() - 2], inner = order[order.size() - 1];
    if (std::abs(step_at(strides, outer)) < std::abs(step_at(strides, inner)) && step_at(strides, outer) != 0)
        std::swap(outer, inner);
    order.resize(order.size() - 2);
    const std::int64_t rows = size_at(outer), columns = size_at(inner), planes = total / (rows * columns);
    const std::int64_t from_row = step_at(strides, outer), from_column = step_at(strides, inner);
    const std::int64_t to_row = step_at(target, outer), to_column = step_at(target, inner);
    parallel_for(planes, grain_for(rows * columns), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t plane = begin; plane < end; ++plane) {
            const T* source = from;
            T* sink = to;
            std::int64_t rest = plane;
            for (std::size_t i = order.size(); i-- > 0;) {
                source += rest % shape[order[i]] * strides[order[i]];
                sink += rest % shape[order[i]] * target[order[i]];
                rest /= shape[order[i]];
            }
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < columns; ++c)
                    sink[r * to_row + c * to_column] = source[r * from_row + c * from_column];
        }
    });
}

template void copy_strided(float*, const Dims&, const float*, const Dims&, const Dims&);
template void copy_strided(double*, const Dims&, const double*, const Dims&, const Dims&);
template void copy_strided(std::int64_t*, const Dims&, const std::int64_t*, const Dims&, const Dims&);
template void copy_strided(std::int32_t*, const Dims&, const std::int32_t*, const Dims&, const Dims&);
template void copy_strided(std::uint8_t*, const Dims&, const std::uint8_t*, const Dims&, const Dims&);
template void copy_strided(std::int8_t*, const Dims&, const std::int8_t*, const Dims&, const Dims&);

}  // namespace workbench
