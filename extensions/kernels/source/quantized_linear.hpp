// The affine map on codes, whose weights are packed once; what recurrent layers multiply with, too.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "quantized_channels.hpp"

namespace workbench {

Packing packing_for_this_cpu();

constexpr std::int64_t quantized_slack = 64;  // bytes that a last step may read beyond its input

class PackedQuantizedLinear {
   public:
    PackedQuantizedLinear(const Input<std::int8_t>& weight, const Input<float>& weight_scales,
                          const std::optional<Input<float>>& bias);

    nb::object run(const Input<std::uint8_t>& x, double x_scale, std::int64_t x_zero, std::optional<double> out_scale,
                   std::int64_t out_zero, bool relu, std::int64_t highest, const std::string& requantization);
    // Of floats, which are quantized to codes up to `highest` first: all of them alike, or each row by its own range.
    nb::object run_dynamic(const Input<float>& x, bool by_row, std::int64_t highest, bool relu);

    // Of `rows` rows of codes that lie together: codes, or floats where `to` has a place for them. Called without Python's lock.
    void multiply(const std::uint8_t* x, std::int64_t rows, const Quantization& q, std::int64_t least, QuantizedTarget to) const;

    // The same on `rows` rows of floats that lie together, into `out`. Called without Python's lock.
    void multiply(const float* x, std::int64_t rows, bool by_row, std::int64_t highest, bool relu, float* out) const;
    // How many products of codes take as long as those of `rows` rows: few rows wait for the weights as long as several.
    std::int64_t products_of(std::int64_t rows) const { return std::max<std::int64_t>(4, rows) * shape_[0] * shape_[1]; }
    std::int64_t inputs() const { return shape_[1]; }
    std::int64_t outputs() const { return shape_[0]; }
    std::int64_t bytes() const { return weights_.bytes(); }

   private:
    struct Rows;
    template <typename Make>
    void multiply(const std::uint8_t* data, std::int64_t rows, std::int64_t step, Make&& make, QuantizedTarget target) const;

    const Dims shape_;
    const Channels channels_;
    const PackedWeights weights_;
    std::vector<std::vector<std::int32_t>> offsets_;  // per panel
};

}  // namespace workbench
