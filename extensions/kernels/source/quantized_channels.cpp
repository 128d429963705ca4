#include "quantized_channels.hpp"

#include <algorithm>
#include <cmath>

namespace workbench {
namespace {

void check(double scale, std::int64_t zero, const char* which) {
    if (!(scale > 0) || std::isinf(scale))
        refuse(std::string("quantized ") + which + " scale is " + std::to_string(scale) + "; it must be positive");
    if (zero < 0 || zero > 255)
        refuse(std::string("quantized ") + which + " zero point is " + std::to_string(zero) + "; it must be 0 to 255");
}

Requantization way(const std::string& name) {
    if (name == "real") return Requantization::real;
    if (name == "joined") return Requantization::joined;
    if (name == "whole") return Requantization::whole;
    refuse("quantized sums are brought to codes by 'real', 'joined' or 'whole' numbers, not '" + name + "'");
}

// A scale as PyTorch tells it to oneDNN: inverted twice, which may change its last bit.
float twice_inverted(double scale) { return 1.f / static_cast<float>(1.0 / scale); }

bool bounded(const QuantizedPanel& panel) {
    constexpr float most = 1e9f, product = 255 * 128;
    // Of products and of zero points.
    const float sum = 2 * product * 4 * static_cast<float>(panel.steps);
    for (std::int64_t i = 0; i < panel.channels; ++i) {
        const float shift = std::abs(panel.shift[i]), scale = std::abs(panel.scale[i]);
        const float code = panel.how == Requantization::joined ? (sum + shift) * scale : (sum * panel.input_scale * scale + shift) * panel.inverse;
        if (!(code < most)) return false;
    }
    return true;
}

// A multiplier as 31 bits and a shift: scale = multiplier / 2^31 / 2^right.
void split(float scale, std::int32_t& multiplier, std::int32_t& right) {
    int exponent;
    const float fraction = std::frexp(scale, &exponent);  // 24 bits: the product below is exact
    multiplier = static_cast<std::int32_t>(static_cast<double>(fraction) * 2147483648.0);
    right = std::clamp(-exponent, -32, 31);
}

}  // namespace

Quantization::Quantization(double x_scale, std::int64_t x_zero, double out_scale, std::int64_t out_zero, bool relu,
                           std::int64_t highest, const std::string& requantization)
    : input_scale(static_cast<float>(x_scale)), output_scale(static_cast<float>(out_scale)),
      told(twice_inverted(x_scale)), inverse(1.f / twice_inverted(out_scale)),
      input_zero(static_cast<std::int32_t>(x_zero)), output_zero(static_cast<std::int32_t>(out_zero)), relu(relu),
      highest(static_cast<std::int32_t>(highest)), how(way(requantization)) {
    check(x_scale, x_zero, "input");
    check(out_scale, out_zero, "output");
    if (highest < out_zero || highest > 255)
        refuse("quantized output's highest code is " + std::to_string(highest) + "; it must be from the zero point to 255");
}

Channels::Channels(std::int64_t outputs, const Input<float>& weight_scales, const std::optional<Input<float>>& bias_values) {
    const Dims shape = shape_of(weight_scales);
    if (shape != Dims{outputs} && shape != Dims{1})
        refuse("quantized weight scales have shape " + text(shape) + "; expected [1] or [" + std::to_string(outputs) + "]");
    const auto given = row_major(weight_scales);
    for (std::int64_t o = 0; o < outputs; ++o) scales_.push_back(given.data()[shape[0] == 1 ? 0 : o]);
    for (const float scale : scales_)
        if (!(scale > 0) || std::isinf(scale)) refuse("quantized weight scales must be positive and finite");
    bias_.assign(static_cast<std::size_t>(outputs), 0.f);
    if (!bias_values) return;
    if (shape_of(*bias_values) != Dims{outputs})
        refuse("quantized bias has shape " + text(shape_of(*bias_values)) + "; expected [" + std::to_string(outputs) + "]");
    const auto values = row_major(*bias_values);
    std::copy_n(values.data(), outputs, bias_.begin());
}

QuantizedPanel Channels::panel(const PackedWeights& weights, std::int64_t panel, std::int64_t first, const Quantization& q,
                               bool to_float) const {
    QuantizedPanel out{};
    weights.point(panel, out);
    out.how = to_float ? Requantization::real : q.how;
    out.input_scale = q.told;
    for (std::int64_t i = 0; i < out.channels; ++i) {
        const std::size_t c = static_cast<std::size_t>(first + out.first + i);
        out.start[i] = -q.input_zero * weights.sum(out.first + i);
        // Each step is rounded to float in the order in which the library does it: codes then agree to the last one.
        const float product = q.input_scale * scales_[c];
        out.scale[i] = to_float ? product : scales_[c];
        out.shift[i] = bias_[c];
        if (out.how == Requantization::real) continue;
        out.scale[i] = product / q.output_scale;
        out.shift[i] = bias_[c] / product;
        if (out.how == Requantization::joined) continue;
        split(out.scale[i], out.multiplier[i], out.right[i]);
        const double bias = std::nearbyint(static_cast<double>(bias_[c]) / product);
        out.start[i] += static_cast<std::int32_t>(std::clamp(bias, -2147483648.0 / 2, 2147483647.0 / 2));
    }
    out.first += first;
    out.zero_point = q.output_zero;
    out.inverse = q.inverse;
    out.zero = static_cast<float>(q.output_zero);
    out.high = static_cast<float>(q.highest);
    out.low = to_float ? (q.relu ? 0.f : -INFINITY) : q.relu ? out.zero : 0.f;
    out.bounded = bounded(out);
    return out;
}

QuantizedPanel Channels::panel(const PackedWeights& weights, std::int64_t panel, bool relu) const {
    // Not all is filled in: a row by a matrix makes a panel for every few products.
    QuantizedPanel out;
    weights.point(panel, out);
    std::fill(std::begin(out.start), std::end(out.start), 0);
    std::copy_n(weights.sums() + out.first, out.channels, out.sums);
    std::copy_n(scales_.data() + out.first, out.channels, out.scale);
    std::copy_n(bias_.data() + out.first, out.channels, out.shift);
    out.low = relu ? 0.f : -INFINITY;
    return out;
}

}  // namespace workbench
