// Fourier transforms whose lengths come apart into small primes: many at once, or one long one.
//
// Many: as many as a register has lanes stand side by side, a lane each, in a block that stays in the cache. One long one is
// made of two sets of short ones, which threads share: with n = a·b points and x[j₁b + j₂],
// X[k₁ + a·k₂] = Σ_j₂ ω_n^(j₂k₁) (Σ_j₁ x[j₁b + j₂] ω_a^(j₁k₁)) ω_b^(j₂k₂)  (Bailey's four steps: D. H. Bailey, FFTs in
// external or hierarchical memory, 1990). Those of n real values are complex ones of n/2 points and one pass more.
#include "fourier.hpp"

#include <cmath>
#include <complex>

#define WORKBENCH_LEAVES "leaves/fourier.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "engine.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

template <typename T>
using Numbers = Operand<std::complex<T>, nb::c_contig>;
template <typename T>
using NumbersOut = nb::ndarray<std::complex<T>, nb::c_contig, nb::device::cpu>;

#define FOURIER(name) LEAF_WIDE(FourierLeaves<T>::name)

constexpr std::int64_t longest_short = 4096;
// A transform of more points than a block has room for: the larger of its two factors is at most `longest_short`.
constexpr std::int64_t longest = std::int64_t{1} << 24;
// Fewer points than this are not worth two sets of transforms.
constexpr std::int64_t shortest_long = 1024;

// Columns that are transformed together: as many as a register has lanes.
template <typename T>
std::int64_t lane_count() {
    return LEAF_WIDE(column_bytes)() / static_cast<std::int64_t>(sizeof(T));
}

// Factors of n that there is a butterfly for, or none if another prime is left. Powers of two go in eights, and fours for the
// rest: fewer passes.
Dims radices_of(std::int64_t n) {
    int twos = 0;
    for (; n > 0 && n % 2 == 0; n /= 2) ++twos;
    Dims found;
    for (; twos >= 5 || twos == 3; twos -= 3) found.push_back(8);
    for (; twos >= 2; twos -= 2) found.push_back(4);
    if (twos) found.push_back(2);
    for (const std::int64_t radix : {13, 11, 7, 5, 3})
        for (; n > 0 && n % radix == 0; n /= radix) found.push_back(radix);
    return n == 1 ? found : Dims();
}

bool comes_apart(std::int64_t n) { return n == 1 || !radices_of(n).empty(); }

// n = a·b with a ≤ b as near to each other as they come.
std::int64_t lower_factor(std::int64_t n) {
    std::int64_t a = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
    while (a * a > n) --a;
    while (n % a) --a;
    return a;
}

// e^(-2πi·k/n), of an angle of at most an eighth of a turn: each root to its last digit.
std::complex<double> root_of_unity(std::int64_t k, std::int64_t n) {
    constexpr double pi = 3.14159265358979323846;
    k %= n;
    const bool upper = 2 * k > n;
    if (upper) k = n - k;
    const bool left = 4 * k > n;
    const std::int64_t part = left ? n - 2 * k : 2 * k;  // of a half turn, at most n/2
    const bool steep = 4 * part > n;
    const double angle = pi * static_cast<double>(steep ? n - 2 * part : part) / static_cast<double>(steep ? 2 * n : n);
    const double cosine = steep ? std::sin(angle) : std::cos(angle), sine = steep ? std::cos(angle) : std::sin(angle);
    return {left ? -cosine : cosine, upper ? sine : -sine};
}

template <typename T>
void put(std::vector<T>& table, std::complex<double> root) {
    table.push_back(static_cast<T>(root.real())), table.push_back(static_cast<T>(root.imag()));
}

// What a short transform needs to know; the same for both directions.
template <typename T>
struct ShortPlan {
    std::int64_t points;
    std::vector<FourierLevel<T>> levels;
    std::vector<T> roots;
    std::vector<std::int32_t> order;  // the row of a block in which a frequency comes out

    explicit ShortPlan(std::int64_t n) : points(n), order(static_cast<std::size_t>(n)) {
        const Dims radices = radices_of(n);
        std::vector<std::size_t> begins;
        std::int64_t length = n;
        for (const std::int64_t radix : radices) {
            const std::int64_t apart = length / radix;
            begins.push_back(roots.size());
            for (std::int64_t p = 0; p < apart; ++p)
                for (std::int64_t k = 1; k < radix; ++k) put(roots, root_of_unity(p * k, length));
            levels.push_back({radix, apart, nullptr});
            length = apart;
        }
        for (std::size_t i = 0; i < levels.size(); ++i) levels[i].roots = roots.data() + begins[i];
        for (std::int64_t k = 0; k < n; ++k) {
            std::int64_t row = 0, digits = k;
            for (const auto& level : levels) row += digits % level.radix * level.apart, digits /= level.radix;
            order[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(row);
        }
    }
    void run(T* block) const { FOURIER(columns)(block, levels.data(), levels.data() + levels.size()); }

    static std::shared_ptr<const ShortPlan> of(std::int64_t n) {
        static auto* kept = new RecentlyUsed<ShortPlan>(64);
        return kept->get({n}, [&] { return std::make_shared<ShortPlan>(n); });
    }
};

// `coarse` [blocks, a]: ω_n^(first column of a block · k₁); `fine` [a, 2, lanes]: the parts of ω_n^(lane · k₁).
template <typename T>
struct LongPlan {
    std::shared_ptr<const ShortPlan<T>> high, wide;
    std::vector<T> coarse, fine;

    explicit LongPlan(std::int64_t n) : high(ShortPlan<T>::of(lower_factor(n))), wide(ShortPlan<T>::of(n / lower_factor(n))) {
        const std::int64_t a = high->points, b = wide->points, lanes = lane_count<T>();
        for (std::int64_t column = 0; column < b; column += lanes)
            for (std::int64_t k = 0; k < a; ++k) put(coarse, root_of_unity(column * k, n));
        for (std::int64_t k = 0; k < a; ++k) {
            for (std::int64_t lane = 0; lane < lanes; ++lane) fine.push_back(static_cast<T>(root_of_unity(lane * k, n).real()));
            for (std::int64_t lane = 0; lane < lanes; ++lane) fine.push_back(static_cast<T>(root_of_unity(lane * k, n).imag()));
        }
    }
    static std::shared_ptr<const LongPlan> of(std::int64_t n) {
        static auto* kept = new RecentlyUsed<LongPlan>(4);  // few: `coarse` has a value for each `lanes` of the n points
        return kept->get({n}, [&] { return std::make_shared<LongPlan>(n); });
    }
};

// ω_n^k for k up to n/4, which is what turns the halves of the transform of n real values.
template <typename T>
struct HalfRoots {
    std::vector<T> roots;
    explicit HalfRoots(std::int64_t n) {
        for (std::int64_t k = 0; 4 * k <= n; ++k) put(roots, root_of_unity(k, n));
    }
    static std::shared_ptr<const HalfRoots> of(std::int64_t n) {
        static auto* kept = new RecentlyUsed<HalfRoots>(16);
        return kept->get({n}, [&] { return std::make_shared<HalfRoots>(n); });
    }
};

// One transform of many points, in four steps.
template <typename T>
void long_transform(const LongPlan<T>& plan, const T* from, T* to, bool inverse, T scale) {
    const std::int64_t a = plan.high->points, b = plan.wide->points;
    const std::int64_t lanes = lane_count<T>(), blocks = (b + lanes - 1) / lanes, others = (a + lanes - 1) / lanes;
    // The blocks of the second set of transforms, [others, b rounded up, 2, lanes].
    const std::int64_t one = blocks * lanes * 2 * lanes;
    const Buffer<T> between(others * one);
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (a * lanes));
    parallel_for(blocks, grain, [&](std::int64_t begin, std::int64_t end) {
        const Buffer<T> block(a * 2 * lanes);
        for (std::int64_t i = begin; i < end; ++i) {
            FOURIER(read)(from + 2 * i * lanes, b, a, std::min(lanes, b - i * lanes), inverse, block.data());
            plan.high->run(block.data());
            FOURIER(turn)(block.data(), plan.high->order.data(), a, plan.coarse.data() + 2 * i * a, plan.fine.data(), one,
                          between.data() + i * lanes * 2 * lanes);
        }
    });
    parallel_for(others, std::max<std::int64_t>(1, 16384 / (b * lanes)), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            plan.wide->run(between.data() + i * one);
            FOURIER(write)(between.data() + i * one, plan.wide->order.data(), a, b, std::min(lanes, a - i * lanes), inverse,
                           scale, to + 2 * i * lanes);
        }
    });
}

// How the transforms of `rows` rows of n points are made: a lane each, or each in four steps. Few rows leave most lanes idle.
template <typename T>
bool in_four_steps(std::int64_t rows, std::int64_t n) {
    return n > longest_short || (n >= shortest_long && 2 * rows < lane_count<T>());
}

// Calls at(first row, rows) for as many rows as there are lanes.
template <typename T, typename At>
void by_lanes(std::int64_t rows, std::int64_t n, At&& at) {
    const std::int64_t lanes = lane_count<T>();
    parallel_for((rows + lanes - 1) / lanes, std::max<std::int64_t>(1, 16384 / (n * lanes)), [&](std::int64_t begin, std::int64_t end) {
        const Buffer<T> block((n + 1) * 2 * lanes), other((n + 1) * 2 * lanes);
        for (std::int64_t i = begin; i < end; ++i) at(i * lanes, std::min(lanes, rows - i * lanes), block.data(), other.data());
    });
}

// Calls at(row) for each: on all threads if there are fewer rows than threads, else a thread takes whole ones.
template <typename At>
void row_by_row(std::int64_t rows, At&& at) {
    if (rows < thread_count()) {
        for (std::int64_t row = 0; row < rows; ++row) at(row);
    } else {
        parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) at(row);
        });
    }
}

template <typename In, typename Out>
void check_sizes(const In& x, const Dims& of_x, const Out& out, const Dims& of_out) {
    const auto check = [](std::size_t found, const Dims& expected, const char* what) {
        if (static_cast<std::int64_t>(found) != count_of(expected))
            refuse(std::string("fft: ") + what + " has " + std::to_string(found) + " values instead of " +
                   std::to_string(count_of(expected)));
    };
    check(x.size(), of_x, "the input"), check(out.size(), of_out, "the output");
}

// A short one fits a block; a longer one comes apart into two that do.
bool takes(std::int64_t rows, std::int64_t n) {
    if (n < 1 || rows < 1 || n > longest || !comes_apart(n)) return false;
    return n <= longest_short || n / lower_factor(n) <= longest_short;
}

void check_points(std::int64_t rows, std::int64_t n) {
    if (rows < 1 || !takes(rows, n))
        refuse("fft: " + std::to_string(rows) + " transforms of " + std::to_string(n) +
               " points; expected one or more, of up to 2^24 points that come apart into primes up to 13");
}

// Along the middle of [outer, n, inner]; `x` and `out` may be the same memory.
template <typename T>
void complex_fft(const Numbers<T>& x, const NumbersOut<T>& out, std::int64_t outer, std::int64_t n, std::int64_t inner,
                 bool inverse, double factor) {
    check_points(outer, n);
    if (inner < 1 || (inner > 1 && n > longest_short)) refuse("fft: " + std::to_string(inner) + " columns of " + std::to_string(n));
    check_sizes(x, {outer, n, inner}, out, {outer, n, inner});
    const T *from = reinterpret_cast<const T*>(x.data()), scale = static_cast<T>(factor);
    T* to = reinterpret_cast<T*>(out.data());
    const KernelScope scope;
    if (inner == 1 && in_four_steps<T>(outer, n)) {
        const auto plan = LongPlan<T>::of(n);
        return row_by_row(outer, [&](std::int64_t row) {
            long_transform<T>(*plan, from + 2 * n * row, to + 2 * n * row, inverse, scale);
        });
    }
    const auto plan = ShortPlan<T>::of(n);
    const std::int32_t* order = plan->order.data();
    if (inner == 1)
        return by_lanes<T>(outer, n, [&](std::int64_t row, std::int64_t across, T* block, T*) {
            FOURIER(read_rows)(from + 2 * n * row, n, n, across, inverse, block);
            plan->run(block);
            FOURIER(write_rows)(block, order, n, n, across, inverse, scale, to + 2 * n * row);
        });
    const std::int64_t lanes = lane_count<T>(), groups = (inner + lanes - 1) / lanes;
    by_lanes<T>(outer * groups * lanes, n, [&](std::int64_t at, std::int64_t, T* block, T*) {
        const std::int64_t group = at / lanes % groups, start = 2 * (at / lanes / groups * n * inner + group * lanes);
        const std::int64_t across = std::min(lanes, inner - group * lanes);
        FOURIER(read)(from + start, inner, n, across, inverse, block);
        plan->run(block);
        FOURIER(write)(block, order, inner, n, across, inverse, scale, to + start);
    });
}

// Between rows of 2m real values and of their m + 1 frequencies, by transforms of m numbers. Calls long_row(plan, roots, row, half),
// with room for those m, for each row, or short_rows(plan, roots, first row, rows, block, other) for as many as there are lanes.
template <typename T, typename LongRow, typename ShortRows>
void by_halves(std::int64_t outer, std::int64_t m, LongRow&& long_row, ShortRows&& short_rows) {
    const KernelScope scope;
    const auto turns = HalfRoots<T>::of(2 * m);
    const T* roots = turns->roots.data();
    if (in_four_steps<T>(outer, m)) {
        const auto plan = LongPlan<T>::of(m);
        return row_by_row(outer, [&](std::int64_t row) {
            const Buffer<T> half(2 * m);
            long_row(*plan, roots, row, half.data());
        });
    }
    const auto plan = ShortPlan<T>::of(m);
    by_lanes<T>(outer, m, [&](std::int64_t row, std::int64_t across, T* block, T* other) {
        short_rows(*plan, roots, row, across, block, other);
    });
}

// Calls at(begin, end) for the pairs of frequencies k and m - k of one long row.
template <typename At>
void over_pairs(std::int64_t m, At&& at) {
    parallel_for(m / 2 + 1, 16384, at);
}

template <typename T>
void real_fft(const Operand<T, nb::c_contig>& x, const NumbersOut<T>& out, std::int64_t outer, std::int64_t m, double factor) {
    check_points(outer, m);
    check_sizes(x, {outer, m, 2}, out, {outer, m + 1});
    const T *from = x.data(), scale = static_cast<T>(factor / 2);  // unpacking doubles
    T* to = reinterpret_cast<T*>(out.data());
    by_halves<T>(
        outer, m,
        [&](const LongPlan<T>& plan, const T* roots, std::int64_t row, T* half) {
            long_transform<T>(plan, from + 2 * m * row, half, false, T(1));
            over_pairs(m, [&](std::int64_t begin, std::int64_t end) {
                FOURIER(unpack_flat)(half, m, roots, begin, end, scale, to + 2 * (m + 1) * row);
            });
        },
        [&](const ShortPlan<T>& plan, const T* roots, std::int64_t row, std::int64_t across, T* block, T* other) {
            FOURIER(read_rows)(from + 2 * m * row, m, m, across, false, block);
            plan.run(block);
            FOURIER(unpack)(block, plan.order.data(), m, roots, other);
            FOURIER(write_rows)(other, nullptr, m + 1, m + 1, across, false, scale, to + 2 * (m + 1) * row);
        });
}

template <typename T>
void inverse_real_fft(const Numbers<T>& x, const nb::ndarray<T, nb::c_contig, nb::device::cpu>& out, std::int64_t outer,
                      std::int64_t m, double factor) {
    check_points(outer, m);
    check_sizes(x, {outer, m + 1}, out, {outer, m, 2});
    const T *from = reinterpret_cast<const T*>(x.data()), scale = static_cast<T>(factor);
    T* to = out.data();
    by_halves<T>(
        outer, m,
        [&](const LongPlan<T>& plan, const T* roots, std::int64_t row, T* half) {
            over_pairs(m, [&](std::int64_t begin, std::int64_t end) {
                FOURIER(pack_flat)(from + 2 * (m + 1) * row, m, roots, begin, end, half);
            });
            long_transform<T>(plan, half, to + 2 * m * row, true, scale);
        },
        [&](const ShortPlan<T>& plan, const T* roots, std::int64_t row, std::int64_t across, T* block, T*) {
            FOURIER(read_rows)(from + 2 * (m + 1) * row, m + 1, m + 1, across, false, block);
            FOURIER(pack)(block, m, roots);
            plan.run(block);
            FOURIER(write_rows)(block, plan.order.data(), m, m, across, true, scale, to + 2 * m * row);
        });
}

template <typename T>
void bind_transforms(nb::module_& module) {
    using nb::arg;
    module.def("complex_fft", &complex_fft<T>, arg("x").noconvert(), arg("out").noconvert(), arg("outer"), arg("points"),
               arg("inner"), arg("inverse"), arg("scale"));
    module.def("real_fft", &real_fft<T>, arg("x").noconvert(), arg("out").noconvert(), arg("outer"), arg("half"), arg("scale"));
    module.def("inverse_real_fft", &inverse_real_fft<T>, arg("x").noconvert(), arg("out").noconvert(), arg("outer"),
               arg("half"), arg("scale"));
}

}  // namespace

void bind_fourier(nb::module_& module) {
    // Whether rows of so many points have butterflies and fit.
    module.def("fft_comes_apart", [](std::int64_t points) { return takes(1, points); }, nb::arg("points"));
    bind_transforms<float>(module);
    bind_transforms<double>(module);
}

}  // namespace workbench
