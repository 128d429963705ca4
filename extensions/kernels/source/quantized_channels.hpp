// What integer layers have besides their packed weights: scales, zero points, bias, and how sums become results.
#pragma once

#include <optional>
#include <vector>

#include "quantized.hpp"
#include "quantized_weights.hpp"

namespace workbench {

// Scales and zero points of one call.
struct Quantization {
    float input_scale, output_scale;
    float told, inverse;  // the input scale and the inverse of the output scale as oneDNN is told them
    std::int32_t input_zero, output_zero;
    bool relu;
    std::int32_t highest;  // largest code that comes out
    Requantization how;

    Quantization(double x_scale, std::int64_t x_zero, double out_scale, std::int64_t out_zero, bool relu,
                 std::int64_t highest, const std::string& requantization);
};

// Scales of the weights and the bias, per output channel.
class Channels {
   public:
    Channels(std::int64_t outputs, const Input<float>& weight_scales, const std::optional<Input<float>>& bias_values);

    // Panel `panel` of a group whose first channel is `first`; floats come out when `to_float`.
    QuantizedPanel panel(const PackedWeights& weights, std::int64_t panel, std::int64_t first, const Quantization& q,
                         bool to_float) const;
    // The same where each output has a scale and a zero point of its own, and floats come out.
    QuantizedPanel panel(const PackedWeights& weights, std::int64_t panel, bool relu) const;

   private:
    std::vector<float> scales_, bias_;
};

}  // namespace workbench
