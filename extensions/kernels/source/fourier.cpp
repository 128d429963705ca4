// One long Fourier transform as two sets of short ones, which threads share and whose values stay in the cache.
//
// With n = a·b points and x[j₁b + j₂], X[k₁ + a·k₂] = Σ_j₂ ω_n^(j₂k₁) (Σ_j₁ x[j₁b + j₂] ω_a^(j₁k₁)) ω_b^(j₂k₂)  (Bailey's
// four steps: D. H. Bailey, FFTs in external or hierarchical memory, 1990).
#include "fourier.hpp"

#include <complex>

#define WORKBENCH_LEAVES "leaves/fourier.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

template <typename T>
using Numbers = Operand<std::complex<T>, nb::c_contig>;
template <typename T>
using NumbersOut = nb::ndarray<std::complex<T>, nb::c_contig, nb::device::cpu>;
using Radices = std::vector<std::int64_t>;

template <typename T>
struct Leaves;
template <>
struct Leaves<float> {
    static constexpr auto columns = [](auto... a) { return LEAF_WIDE(columns_float)(a...); };
    static constexpr auto read = [](auto... a) { LEAF_WIDE(read_float)(a...); };
    static constexpr auto write = [](auto... a) { LEAF_WIDE(write_float)(a...); };
    static constexpr auto turn = [](auto... a) { LEAF_WIDE(turn_float)(a...); };
};
template <>
struct Leaves<double> {
    static constexpr auto columns = [](auto... a) { return LEAF_WIDE(columns_double)(a...); };
    static constexpr auto read = [](auto... a) { LEAF_WIDE(read_double)(a...); };
    static constexpr auto write = [](auto... a) { LEAF_WIDE(write_double)(a...); };
    static constexpr auto turn = [](auto... a) { LEAF_WIDE(turn_double)(a...); };
};

// Columns that are transformed together: as many as a register has lanes.
template <typename T>
std::int64_t lane_count() {
    return LEAF_WIDE(column_bytes)() / static_cast<std::int64_t>(sizeof(T));
}

void check_radices(const Radices& radices, std::int64_t n) {
    std::int64_t product = 1;
    for (const std::int64_t radix : radices) {
        if (radix != 2 && radix != 3 && radix != 4 && radix != 5 && radix != 7 && radix != 8)
            refuse("long_fft: " + std::to_string(radix) + " is no radix; these are: 2, 3, 4, 5, 7, 8");
        product *= radix;
        if (product > n) break;
    }
    if (product != n) refuse("long_fft: the radices do not multiply to " + std::to_string(n));
}

template <typename T>
const T* plain(const Numbers<T>& table, std::int64_t count, const char* name) {
    if (static_cast<std::int64_t>(table.size()) != count)
        refuse(std::string("long_fft: ") + name + " has " + std::to_string(table.size()) + " numbers instead of " +
               std::to_string(count));
    return reinterpret_cast<const T*>(table.data());
}

// `coarse` [blocks, a]: ω_n^(first column of a block · k₁); `fine` [a, 2, lanes]: the parts of ω_n^(lane · k₁).
template <typename T>
void long_fft(const Numbers<T>& x, const NumbersOut<T>& out, const Radices& high, const Radices& wide,
              const Numbers<T>& high_roots, const Numbers<T>& wide_roots, const Numbers<T>& coarse,
              const Numbers<T>& fine, bool inverse, double scale) {
    const std::int64_t a = static_cast<std::int64_t>(high_roots.size()), b = static_cast<std::int64_t>(wide_roots.size());
    const std::int64_t lanes = lane_count<T>(), blocks = (b + lanes - 1) / lanes, others = (a + lanes - 1) / lanes;
    check_radices(high, a);
    check_radices(wide, b);
    const T* from = plain(x, a * b, "the input");
    const T* block_roots = plain(coarse, blocks * a, "the coarse table");
    const T* lane_roots = plain(fine, a * lanes, "the fine table");
    if (out.size() != x.size()) refuse("long_fft: the output has another size than the input");
    const T *a_roots = reinterpret_cast<const T*>(high_roots.data()), *b_roots = reinterpret_cast<const T*>(wide_roots.data());
    T* to = reinterpret_cast<T*>(out.data());
    const KernelScope scope;
    // The blocks of the second set of transforms, [others, b rounded up, 2, lanes].
    const std::int64_t one = blocks * lanes * 2 * lanes;
    const Buffer<T> between(others * one);
    parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
        const Buffer<T> block(a * 2 * lanes), other(a * 2 * lanes);
        for (std::int64_t i = begin; i < end; ++i) {
            Leaves<T>::read(from + 2 * i * lanes, b, a, std::min(lanes, b - i * lanes), inverse, block.data());
            const T* done = Leaves<T>::columns(block.data(), other.data(), a, high.data(), a_roots);
            Leaves<T>::turn(done, a, block_roots + 2 * i * a, lane_roots, one, between.data() + i * lanes * 2 * lanes);
        }
    });
    parallel_for(others, 1, [&](std::int64_t begin, std::int64_t end) {
        const Buffer<T> other(b * 2 * lanes);
        for (std::int64_t i = begin; i < end; ++i) {
            const T* done = Leaves<T>::columns(between.data() + i * one, other.data(), b, wide.data(), b_roots);
            Leaves<T>::write(done, a, b, std::min(lanes, a - i * lanes), inverse, static_cast<T>(scale), to + 2 * i * lanes);
        }
    });
}

}  // namespace

void bind_fourier(nb::module_& module) {
    module.def("fourier_lanes", [](bool twice) { return twice ? lane_count<double>() : lane_count<float>(); },
               nb::arg("double_precision"));
    module.def("long_fft", &long_fft<float>, nb::arg("x").noconvert(), nb::arg("out").noconvert(), nb::arg("high"),
               nb::arg("wide"), nb::arg("high_roots").noconvert(), nb::arg("wide_roots").noconvert(),
               nb::arg("coarse").noconvert(), nb::arg("fine").noconvert(), nb::arg("inverse"), nb::arg("scale"));
    module.def("long_fft", &long_fft<double>, nb::arg("x").noconvert(), nb::arg("out").noconvert(), nb::arg("high"),
               nb::arg("wide"), nb::arg("high_roots").noconvert(), nb::arg("wide_roots").noconvert(),
               nb::arg("coarse").noconvert(), nb::arg("fine").noconvert(), nb::arg("inverse"), nb::arg("scale"));
}

}  // namespace workbench
