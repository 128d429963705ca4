#include "product.hpp"

#include <algorithm>

#define WORKBENCH_LEAVES "leaves/product.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "memory.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

#define PRODUCT(name) LEAF_WIDE(ProductLeaves<T>::name)

std::int64_t rounded_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// A panel of b and one of a are read from the first cache, all of a's from the second, all of b's from the last.
constexpr std::int64_t deepest = 256, most_rows = 192, most_columns = 1024;

template <typename T>
void part(Lying<T> a, Lying<T> b, std::int64_t m, std::int64_t n, std::int64_t k, T* out, std::int64_t row) {
    const std::int64_t tall = PRODUCT(tall)(), wide = PRODUCT(wide)();
    const std::int64_t depth = std::min(deepest, k), rows = std::min(most_rows, rounded_up(m, tall));
    const std::int64_t columns = std::min(most_columns, rounded_up(n, wide));
    const Buffer<T> a_panels(rows * depth), b_panels(columns * depth);
    for (std::int64_t right = 0; right < n; right += columns)
        for (std::int64_t top = 0; top < k; top += depth) {
            const std::int64_t across = std::min(columns, n - right), deep = std::min(depth, k - top);
            for (std::int64_t j = 0; j < across; j += wide)
                PRODUCT(pack)(b.data + top * b.row + (right + j) * b.column, b.column, b.row, std::min(wide, across - j), wide, deep,
                              b_panels.data() + j * deep);
            for (std::int64_t down = 0; down < m; down += rows) {
                const std::int64_t high = std::min(rows, m - down);
                for (std::int64_t i = 0; i < high; i += tall)
                    PRODUCT(pack)(a.data + (down + i) * a.row + top * a.column, a.row, a.column, std::min(tall, high - i), tall, deep,
                                  a_panels.data() + i * deep);
                PRODUCT(multiply)(a_panels.data(), b_panels.data(), deep, high, across, top > 0, out + down * row + right, row);
            }
        }
}

}  // namespace

template <typename T>
void own_product(Lying<T> a, Lying<T> b, std::int64_t m, std::int64_t n, std::int64_t k, T* out, bool alone) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        std::fill_n(out, m * n, T(0));
        return;
    }
    // A thread takes rows or columns, whichever there are more of, in whole tiles.
    const bool by_rows = m >= n;
    const std::int64_t step = by_rows ? PRODUCT(tall)() : PRODUCT(wide)(), length = by_rows ? m : n;
    constexpr std::int64_t worth_a_thread = 1000000;
    const std::int64_t grain = std::max<std::int64_t>(1, worth_a_thread / std::max<std::int64_t>(1, m * n * k / length * step));
    const std::int64_t steps = (length + step - 1) / step;
    parallel_for(steps, alone ? steps : grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = begin * step, last = std::min(end * step, length);
        if (by_rows)
            part<T>({a.data + first * a.row, a.row, a.column}, b, last - first, n, k, out + first * n, n);
        else
            part<T>(a, {b.data + first * b.column, b.row, b.column}, m, last - first, k, out + first, n);
    });
}

template void own_product<float>(Lying<float>, Lying<float>, std::int64_t, std::int64_t, std::int64_t, float*, bool);
template void own_product<double>(Lying<double>, Lying<double>, std::int64_t, std::int64_t, std::int64_t, double*, bool);

}  // namespace workbench
