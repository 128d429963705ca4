// Normalisation over groups of channels. Included once per instruction set; see dispatch.hpp.
#include "layer_norm.inl"
#include "normalization.inl"

// Mean, and the mean of squared distances from it.
template <typename T>
static void group_moments(const T* x, std::int64_t count, double* mean, double* variance) {
    const double average =
        total_of(count, [&](std::int64_t i, std::int64_t n) { return load_up_to(x + i, n); }) / static_cast<double>(count);
    const float centre = static_cast<float>(average);
    const double squares = total_of(count, [&](std::int64_t i, std::int64_t n) {
        const floats distance = load_up_to(x + i, n) - centre;
        return distance * distance;
    });
    const double off = average - static_cast<double>(centre);
    *mean = average, *variance = squares / static_cast<double>(count) - off * off;
}

// y = (x - centre) scale + shift along one channel, and optionally max(y, 0) with NaN kept.
template <typename T>
static void scale_shift_run(const T* x, std::int64_t count, float centre, float scale, float shift, bool relu, T* y) {
    const auto scaled = [&](floats value) { return (value - centre) * scale + shift; };
    const auto kept = [&](floats value) { return larger(all(0.f), scaled(value)); };
    if (relu)
        along(
            count, [&](std::int64_t i) { store_floats(y + i, kept(load_floats(x + i))); },
            [&](std::int64_t i, std::int64_t n) { store_some(y + i, kept(load_some(x + i, n)), n); });
    else
        along(
            count, [&](std::int64_t i) { store_floats(y + i, scaled(load_floats(x + i))); },
            [&](std::int64_t i, std::int64_t n) { store_some(y + i, scaled(load_some(x + i, n)), n); });
}

// Sums of g and of g (x - centre) along one channel.
template <typename T>
static void gradient_sums_run(const T* g, const T* x, std::int64_t count, float centre, double* sum, double* product) {
    *sum = total_of(count, [&](std::int64_t i, std::int64_t n) { return load_up_to(g + i, n); });
    *product = total_of(count, [&](std::int64_t i, std::int64_t n) {
        return load_up_to(g + i, n) * (load_up_to(x + i, n) - centre);
    });
}

// gx = a g + b (x - centre) + d along one channel.
template <typename T>
static void combine_run(const T* g, const T* x, std::int64_t count, float centre, float a, float b, float d, T* gx) {
    along(
        count,
        [&](std::int64_t i) { store_floats(gx + i, load_floats(g + i) * a + (load_floats(x + i) - centre) * b + d); },
        [&](std::int64_t i, std::int64_t n) {
            store_some(gx + i, load_some(g + i, n) * a + (load_some(x + i, n) - centre) * b + d, n);
        });
}
