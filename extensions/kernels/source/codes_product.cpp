// Products of matrices of codes, each of which has a zero point: bytes of the first by bytes of the second less 128, and what the
// zero points make of the sums of rows and of columns.
#include "codes_product.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

namespace workbench {

// Where sixteen columns of a result go.
struct CodesTile {
    const RowsOut& out;
    std::int64_t step, columns;
};

}  // namespace workbench

#define WORKBENCH_LEAVES "leaves/codes_product.inl"
#define WORKBENCH_LEAVES_VNNI
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

// One matrix as the loops read it, and for each column what its sum takes away.
void pack(const std::uint8_t* b, const ProductOfCodes& of, std::int64_t steps, std::int8_t* packed, std::int32_t* sums) {
    const std::int64_t blocks = (of.columns + 15) / 16;
    std::memset(packed, 0, static_cast<std::size_t>(blocks * steps * 64));
    std::memset(sums, 0, static_cast<std::size_t>(blocks * 16) * sizeof(std::int32_t));
    for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t many = std::min<std::int64_t>(16, of.columns - 16 * block);
        std::int8_t* to = packed + block * steps * 64;
        std::int32_t* sum = sums + 16 * block;
        for (std::int64_t k = 0; k < of.inner; ++k) {
            const std::uint8_t* from = b + k * of.b_inner + 16 * block * of.b_columns;
            std::int8_t* at = to + k / 4 * 64 + k % 4;
            for (std::int64_t c = 0; c < many; ++c) {
                const std::uint8_t code = from[c * of.b_columns];
                at[4 * c] = static_cast<std::int8_t>(code ^ 128);
                sum[c] += code;
            }
        }
        // Σ(a - za)(b - zb) = Σ a·(b - 128) - za·(Σ b - k·zb) - (zb - 128)·Σ a
        for (std::int64_t c = 0; c < 16; ++c)
            sum[c] = of.a_zero * (sum[c] - static_cast<std::int32_t>(c < many ? of.inner : 0) * of.b_zero);
    }
}

// Scale, zero point, and the least and the greatest code.
using ToldOut = std::tuple<double, std::int64_t, std::int64_t, std::int64_t>;

nb::object product(const Input<std::uint8_t>& a, double a_scale, std::int64_t a_zero, const Input<std::uint8_t>& b, double b_scale,
                   std::int64_t b_zero, const ToldOut& out) {
    const Dims left = shape_of(a), right = shape_of(b), steps = strides_of(b);
    if (left.size() != 3 || right.size() != 3 || left[2] != right[1] || (right[0] != 1 && right[0] != left[0]))
        refuse("matrices of codes of " + text(left) + " and of " + text(right) + " are multiplied; expected [B, M, K] and [B, K, N]");
    if (left[2] > longest_product_of_codes) refuse("more than 2^15 products of codes are summed; 32 bits may not hold them");
    const auto [scale, zero, low, high] = out;
    if (low < 0 || high > 255 || low > high)
        refuse("codes from " + std::to_string(low) + " to " + std::to_string(high) + " do not fit; give a range within 0 to 255");
    const float factor = static_cast<float>(a_scale) * static_cast<float>(b_scale) * (1.f / static_cast<float>(scale));
    const Dims result{left[0], left[1], right[2]};
    auto made = Output<std::uint8_t>::row_major(result);
    if (count_of(result)) {
        KernelScope scope;
        const auto from = row_major(a);
        const ProductOfCodes of{left[0], left[1], left[2], right[2], left[1] * left[2], right[0] == 1 ? 0 : steps[0], steps[1], steps[2],
                                static_cast<std::int32_t>(a_zero), static_cast<std::int32_t>(b_zero),
                                {factor, static_cast<float>(zero), static_cast<float>(low), static_cast<float>(high)}};
        multiply_matrices_of_codes(from.data(), b.data(), of, made.data());
    }
    return made.to_python();
}

}  // namespace

void multiply_matrices_of_codes(const std::uint8_t* a, const std::uint8_t* b, const ProductOfCodes& of, std::uint8_t* out) {
    const std::int64_t steps = (of.inner + 3) / 4, blocks = (of.columns + 15) / 16, matrices = of.b_step ? of.batch : 1;
    const Buffer<std::int8_t> packed(matrices * blocks * steps * 64);
    const Buffer<std::int32_t> sums(matrices * blocks * 16);
    parallel_for(matrices, grain_for(of.inner * of.columns / 4), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            pack(b + i * of.b_step, of, steps, packed.data() + i * blocks * steps * 64, sums.data() + i * blocks * 16);
    });
    // Items are some rows of one matrix.
    constexpr std::int64_t high = 64;
    const std::int64_t bands = (of.rows + high - 1) / high;
    const std::int64_t products = std::min(of.rows, high) * of.inner * of.columns;
    parallel_for(of.batch * bands, 1 + products_of_a_thread() / (products + 1), [&](std::int64_t begin, std::int64_t end) {
        const Buffer<std::uint8_t> rows(high * steps * 4);
        std::uint32_t rest[high];
        for (std::int64_t item = begin; item < end; ++item) {
            const std::int64_t matrix = item / bands, first = item % bands * high, many = std::min(high, of.rows - first);
            const std::uint8_t* from = a + matrix * of.a_step + first * of.inner;
            for (std::int64_t r = 0; r < many; ++r) {
                std::uint8_t* to = rows.data() + r * steps * 4;
                std::memcpy(to, from + r * of.inner, static_cast<std::size_t>(of.inner));
                std::memset(to + of.inner, 0, static_cast<std::size_t>(steps * 4 - of.inner));
                rest[r] = static_cast<std::uint32_t>(of.b_zero - 128) * LEAF_VNNI(sum_of_codes_run)(to, of.inner);
            }
            const std::int64_t of_matrix = of.b_step ? matrix : 0;
            LEAF_VNNI(product_rows)(rows.data(), many, steps, packed.data() + of_matrix * blocks * steps * 64,
                                    sums.data() + of_matrix * blocks * 16, rest, of.columns, of.out,
                                    out + (matrix * of.rows + first) * of.columns);
        }
    });
}

void bind_codes_product(nb::module_& module) {
    using nb::arg;
    module.def("multiply_matrices_of_codes", &product, arg("a").noconvert(), arg("a_scale"), arg("a_zero"), arg("b").noconvert(), arg("b_scale"),
               arg("b_zero"), arg("out"));
}

}  // namespace workbench
