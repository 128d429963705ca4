// Softmax and normalisation of rows of codes: sums are whole, and what they become is rounded as NumPy rounds it.
#include "codes_rows.hpp"

#include <optional>
#include <tuple>

#define WORKBENCH_LEAVES "leaves/codes_rows.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

// Scale, zero point, and the least and the greatest code.
using ToldOut = std::tuple<double, std::int64_t, std::int64_t, std::int64_t>;

RowsOut told(const ToldOut& out) {
    const auto [scale, zero, low, high] = out;
    if (low < 0 || high > 255 || low > high)
        refuse("codes from " + std::to_string(low) + " to " + std::to_string(high) + " do not fit; give a range within 0 to 255");
    return {1.f / static_cast<float>(scale), static_cast<float>(zero), static_cast<float>(low), static_cast<float>(high)};
}

std::int64_t rows_of(const Dims& shape) {
    if (shape.size() != 2) refuse("rows of codes are [rows, values], not " + text(shape));
    if (shape[1] > longest_row_of_codes) refuse("a row of codes has more than 2^22 of them; 64 bits may not hold what is made of it");
    return shape[0];
}

nb::object softmax(const Input<std::uint8_t>& codes, const Plain<std::int32_t>& powers, const ToldOut& out) {
    const Dims shape = shape_of(codes);
    const std::int64_t rows = rows_of(shape);
    if (shape_of(powers) != Dims{256}) refuse("powers of e are one for each distance of codes, [256], not " + text(shape_of(powers)));
    auto made = Output<std::uint8_t>::row_major(shape);
    const SoftmaxOfCodes of{powers.data(), std::get<0>(out), told(out)};
    if (count_of(shape)) {
        KernelScope scope;
        const auto from = row_major(codes);
        softmax_of_codes(from.data(), rows, shape[1], of, made.data());
    }
    return made.to_python();
}

const float* given(const std::optional<Plain<float>>& factors, std::int64_t count, const char* what) {
    if (!factors) return nullptr;
    if (shape_of(*factors) != Dims{count})
        refuse(std::string(what) + " has shape " + text(shape_of(*factors)) + "; expected [" + std::to_string(count) + "]");
    return factors->data();
}

nb::object normalise(const Input<std::uint8_t>& codes, const std::optional<Plain<float>>& weight, const std::optional<Plain<float>>& bias,
                     std::int64_t run, std::int64_t factors, bool centred, double eps, double scale, std::int64_t zero, const ToldOut& out) {
    const Dims shape = shape_of(codes);
    const std::int64_t rows = rows_of(shape);
    if (run < 1 || factors < 1 || (shape[1] && (shape[1] % run || factors % (shape[1] / run))))
        refuse("rows of " + std::to_string(shape[1]) + " codes are not normalised by " + std::to_string(factors) + " factors for " +
               std::to_string(run) + " neighbours each");
    const NormOfCodes of{scale, eps, zero, centred, given(weight, factors, "weight"), given(bias, factors, "bias"), run, factors, told(out)};
    if (of.bias && !of.weight) refuse("a bias comes with a weight");
    auto made = Output<std::uint8_t>::row_major(shape);
    if (count_of(shape)) {
        KernelScope scope;
        const auto from = row_major(codes);
        normalise_codes(from.data(), rows, shape[1], of, made.data());
    }
    return made.to_python();
}

}  // namespace

void softmax_of_codes(const std::uint8_t* codes, std::int64_t rows, std::int64_t count, const SoftmaxOfCodes& of, std::uint8_t* out) {
    parallel_for(rows, grain_for(count), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) LEAF_WIDE(softmax_row)(codes + row * count, count, of, out + row * count);
    });
}

void normalise_codes(const std::uint8_t* codes, std::int64_t rows, std::int64_t count, const NormOfCodes& of, std::uint8_t* out) {
    const std::int64_t each = count / of.run;
    parallel_for(rows, grain_for(count), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            LEAF_WIDE(normalise_row)(codes + row * count, count, row * each % of.factors, of, out + row * count);
    });
}

void bind_codes_rows(nb::module_& module) {
    using nb::arg;
    module.def("softmax_codes", &softmax, arg("codes").noconvert(), arg("powers").noconvert(), arg("out"));
    module.def("normalise_codes", &normalise, arg("codes").noconvert(), arg("weight").noconvert().none(), arg("bias").noconvert().none(),
               arg("run"), arg("factors"), arg("centred"), arg("eps"), arg("scale"), arg("zero"), arg("out"));
}

}  // namespace workbench
