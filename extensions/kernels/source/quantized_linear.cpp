// The affine map on codes: weights packed once, sums exact. See quantized.hpp for how results are made of sums.
#include "quantized_linear.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "quantize.hpp"
#define WORKBENCH_LEAVES "leaves/quantized_linear.inl"
#define WORKBENCH_LEAVES_VNNI
#include "dispatch.hpp"
#include "threads.hpp"
#include "tiles.hpp"

namespace workbench {
namespace {

Dims checked(Dims shape) {
    if (shape.size() != 2 || count_of(shape) == 0)
        refuse("quantized linear weight has shape " + text(shape) + "; expected [out, in]");
    if (shape[1] > (1 << 16))
        refuse("quantized linear weight " + text(shape) + " sums more than 2^16 products; 32 bits may not hold them");
    return shape;
}

// Scale and zero point of a range that holds zero, for codes from 0 to `highest`: as FBGEMM chooses them, in double
// precision; the zero point is taken from the end that it is told more precisely by.
void choose(float least, float most, std::int64_t highest, float& scale, std::int32_t& zero) {
    constexpr float smallest = 6.1e-5f;
    const double codes = static_cast<double>(highest);
    double step = (static_cast<double>(most) - least) / codes;
    if (static_cast<float>(step) == 0.f || std::isinf(1.f / static_cast<float>(step)) || !std::isfinite(step)) step = 0.1;
    if (step < smallest) {
        const float before = static_cast<float>(step);
        step = smallest;
        if (least == 0.f) {
            most = smallest * static_cast<float>(highest);
        } else if (most == 0.f) {
            least = -smallest * static_cast<float>(highest);
        } else {
            const float factor = smallest / before;
            least *= factor, most *= factor;
        }
    }
    const double from_least = -least / step, from_most = codes - most / step;
    const double error_least = std::fabs(least / step);
    const double error_most = codes + std::fabs(most / step);
    const double found = error_least < error_most ? from_least : from_most;
    zero = static_cast<std::int32_t>(std::nearbyint(std::clamp(found, 0.0, codes)));
    scale = static_cast<float>(step);
}

}  // namespace

Packing packing_for_this_cpu() { return has_vnni() ? Packing::wide : Packing::narrow; }

PackedQuantizedLinear::PackedQuantizedLinear(const Input<std::int8_t>& weight, const Input<float>& weight_scales,
                                             const std::optional<Input<float>>& bias)
    : shape_(checked(shape_of(weight))), channels_(shape_[0], weight_scales, bias),
      weights_(row_major(weight).data(), shape_[0], 1, shape_[1], packing_for_this_cpu()) {
    std::vector<std::int32_t> offsets;
    for (std::int64_t step = 0; step < weights_.steps(); ++step) offsets.push_back(static_cast<std::int32_t>(step * 4));
    for (std::int64_t p = 0; p < weights_.panels(); ++p) offsets_.push_back(weights_.reorder(p, offsets));
}

nb::object PackedQuantizedLinear::run(const Input<std::uint8_t>& x, double x_scale, std::int64_t x_zero,
                                      std::optional<double> out_scale, std::int64_t out_zero, bool relu,
                                      std::int64_t highest, const std::string& requantization) {
    const Quantization q(x_scale, x_zero, out_scale.value_or(1.0), out_zero, relu, highest, requantization);
    const Dims input = shape_of(x);
    count_of(input);
    if (input.empty() || input.back() != shape_[1])
        refuse("quantized linear input has shape " + text(input) + "; expected [..., " + std::to_string(shape_[1]) + "]");
    Dims result = input;
    result.back() = shape_[0];
    const std::int64_t rows = count_of(input) / shape_[1];
    const auto into = [&](auto out, QuantizedTarget target) {
        if (rows) {
            KernelScope scope;
            multiply(row_major(x).data(), rows, q, 0, target);
        }
        return out->to_python();
    };
    if (out_scale) {
        auto out = Output<std::uint8_t>::row_major(result);
        return into(&out, {out.data(), nullptr, nullptr, nullptr});
    }
    auto out = Output<float>::row_major(result);
    return into(&out, {nullptr, out.data(), nullptr, nullptr});
}

nb::object PackedQuantizedLinear::run_dynamic(const Input<float>& x, bool by_row, std::int64_t highest, bool relu) {
    const Dims input = shape_of(x);
    count_of(input);
    if (input.empty() || input.back() != shape_[1])
        refuse("quantized linear input has shape " + text(input) + "; expected [..., " + std::to_string(shape_[1]) + "]");
    if (highest < 1 || highest > 255)
        refuse("quantized linear: the highest code is " + std::to_string(highest) + "; it must be 1 to 255");
    Dims result = input;
    result.back() = shape_[0];
    auto out = Output<float>::row_major(result);
    if (count_of(input)) {
        KernelScope scope;
        multiply(row_major(x).data(), count_of(input) / shape_[1], by_row, highest, relu, out.data());
    }
    return out.to_python();
}

// Tiles read whole tiles: rows of codes are followed by zeros up to the next 64 bytes, and by rows up to a whole tile.
struct PackedQuantizedLinear::Rows {
    std::int64_t step, held;
    Rows(std::int64_t rows, std::int64_t inputs)
        : step(by_tiles(rows) ? (inputs + tile_bytes - 1) / tile_bytes * tile_bytes : inputs),
          held(by_tiles(rows) ? std::max(rows, (std::min(rows, 2 * tile_rows) + tile_rows - 1) / tile_rows * tile_rows) : rows) {}
    static bool by_tiles(std::int64_t rows) {
        constexpr std::int64_t least = 5;  // with fewer, most of a tile is nobody's
        return rows >= least && has_tiles();
    }
    // Room for them, whose ends are zeros.
    Buffer<std::uint8_t> room(std::int64_t rows, std::int64_t inputs) const {
        Buffer<std::uint8_t> made(held * step + quantized_slack);
        for (std::int64_t row = 0; row < rows && step > inputs; ++row)
            std::memset(made.data() + row * step + inputs, 0, static_cast<std::size_t>(step - inputs));
        std::memset(made.data() + rows * step, 0, static_cast<std::size_t>((held - rows) * step + quantized_slack));
        return made;
    }
};

void PackedQuantizedLinear::multiply(const float* x, std::int64_t rows, bool by_row, std::int64_t highest, bool relu,
                                     float* out) const {
    const std::int64_t inputs = shape_[1];
    const Rows lie(rows, inputs);
    const Buffer<std::uint8_t> codes = lie.room(rows, inputs);
    const Buffer<float> scales(rows);
    const Buffer<std::int32_t> zeros(rows);
    std::atomic<bool> finite{true};
    // Rows from..to by one range.
    const auto quantize = [&](std::int64_t from, std::int64_t to) {
        float least, most;
        if (!LEAF_VNNI(range_with_zero)(x + from * inputs, (to - from) * inputs, &least, &most))
            finite.store(false, std::memory_order_relaxed);
        choose(least, most, highest, scales.data()[from], zeros.data()[from]);
        // At once where they lie together.
        const std::int64_t each = lie.step == inputs ? (to - from) * inputs : inputs;
        for (std::int64_t row = from; row < to; row += each / inputs)
            LEAF_VNNI(quantize_to_codes)(x + row * inputs, 1.f / scales.data()[from], static_cast<float>(zeros.data()[from]),
                                         static_cast<float>(highest), each, codes.data() + row * lie.step);
    };
    if (by_row) {
        parallel_for(rows, grain_for(inputs), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) quantize(row, row + 1);
        });
    } else {
        quantize(0, rows);
        std::fill_n(scales.data(), rows, scales.data()[0]);
        std::fill_n(zeros.data(), rows, zeros.data()[0]);
    }
    multiply(codes.data(), rows, lie.step, [&](std::int64_t p) { return channels_.panel(weights_, p, relu); },
             {nullptr, out, scales.data(), zeros.data()});
    if (finite) return;
    // No code stands for what is not finite: a row with such a value says so, the others are as they would be without it.
    for (std::int64_t row = 0; row < rows; ++row)
        if (!LEAF_VNNI(range_with_zero)(x + row * inputs, inputs, scales.data(), scales.data()))
            std::fill_n(out + row * shape_[0], shape_[0], std::numeric_limits<float>::quiet_NaN());
}

void PackedQuantizedLinear::multiply(const std::uint8_t* x, std::int64_t rows, const Quantization& q, std::int64_t least,
                                     QuantizedTarget to) const {
    const std::int64_t inputs = shape_[1];
    const Rows lie(rows, inputs);
    Buffer<std::uint8_t> copy;
    if (inputs % 4 || lie.step != inputs || lie.held != rows) {  // the last step of the last row reads on
        copy = lie.room(rows, inputs);
        for (std::int64_t row = 0; row < rows; ++row)
            std::memcpy(copy.data() + row * lie.step, x + row * inputs, static_cast<std::size_t>(inputs));
        x = copy.data();
    }
    multiply(x, rows, lie.step, [&](std::int64_t p) {
        QuantizedPanel panel = channels_.panel(weights_, p, 0, q, !to.bytes);
        if (to.bytes) panel.low = std::max(panel.low, static_cast<float>(least));
        return panel;
    }, to);
}

template <typename Make>
void PackedQuantizedLinear::multiply(const std::uint8_t* data, std::int64_t rows, std::int64_t step, Make&& make,
                                     QuantizedTarget target) const {
    const std::int64_t inputs = shape_[1];
    Buffer<std::uint8_t> wide;
    if (!has_vnni()) {
        wide = Buffer<std::uint8_t>(rows);
        for (std::int64_t row = 0; row < rows; ++row) wide.data()[row] = LEAF(any_wide)(data + row * inputs, inputs);
    }
    const bool by_tiles = Rows::by_tiles(rows);
    // Items are some rows by a panel: with tiles as many as a near cache holds.
    const std::int64_t high = by_tiles ? std::clamp<std::int64_t>((1 << 18) / step / 32 * 32, 32, 256) : 32;
    const std::int64_t bands = (rows + high - 1) / high;
    const std::int64_t of_an_item = products_of(std::min(rows, high)) / weights_.panels();
    parallel_for(bands * weights_.panels(), 1 + products_of_a_thread() / of_an_item, [&](std::int64_t begin, std::int64_t end) {
        const Tiles tiles(by_tiles);
        for (std::int64_t item = begin; item < end; ++item) {
            const std::int64_t first = item % bands * high, last = std::min(rows, first + high);
            QuantizedPanel panel = make(item / bands);
            panel.offsets = offsets_[static_cast<std::size_t>(item / bands)].data();
            QuantizedTarget to = target;
            if (to.bytes) to.bytes += panel.first;
            if (to.floats) to.floats += panel.first;
            if (by_tiles)
                LEAF_VNNI(quantized_tiles)(panel, {data, step, panel.offsets, first, last, rows, rows}, shape_[0], to);
            else
                LEAF_VNNI(quantized_outputs)({data, step, 0, rows, 1, wide.data(), shape_[0], weights_.lying(item / bands + 1)}, panel, first, last, to);
        }
    });
}

}  // namespace workbench
