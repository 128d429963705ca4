// Quantized convolution and linear layers: weights packed once, sums exact, results rounded half to even.
//
//     out = clamp(rne((sum (x - zero) w) · sx · sw / so + bias / so) + zero_out)
//
// Both are one kernel over "planes" (see quantized.hpp): a convolution reads a padded image in place, without im2col,
// because for each kernel row the bytes under a window lie together in channels-last memory.
#include "quantized.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "convolution.hpp"
#define WORKBENCH_LEAVES "leaves/quantized.inl"
#define WORKBENCH_LEAVES_VNNI
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

constexpr std::int64_t lanes = 16;
constexpr std::int64_t slack = 64;  // bytes that a last step may read beyond an image
constexpr std::int64_t worth_a_thread = 4000000;  // products that take as long as waking another thread

// The weights of one group: output channels by runs of input bytes. A run is a stretch of input bytes that lie together;
// each is cut into steps of four bytes, with zero weights in what is left over.
//
// Steps are taken in groups. A 16-bit lane then holds two products a step, of weights with bytes up to 127, which fits
// while neither the positive nor the negative weights that it meets add up to more than 32767 / 127 = 258. Large weights
// are few, so steps can be grouped that way; where none is left that fits, zeros fill the group. Each block of sixteen
// channels has groups of its own.
class PackedWeights {
   public:
    PackedWeights(const std::int8_t* weight, std::int64_t outputs, std::int64_t runs, std::int64_t run)
        : outputs_(outputs), run_steps_((run + 3) / 4), steps_(runs * run_steps_), sums_(static_cast<std::size_t>(outputs)) {
        std::vector<std::int8_t> plain(static_cast<std::size_t>(steps_ * step_bytes));
        for (std::int64_t first = 0; first < outputs; first += lanes) {
            std::fill(plain.begin(), plain.end(), std::int8_t{0});
            for (std::int64_t o = first; o < std::min(first + lanes, outputs); ++o)
                for (std::int64_t i = 0; i < runs * run; ++i) {
                    const std::int64_t step = i / run * run_steps_ + i % run / 4;
                    const std::int8_t value = weight[o * runs * run + i];
                    plain[static_cast<std::size_t>(step * step_bytes + (o - first) * 4 + i % run % 4)] = value;
                    sums_[static_cast<std::size_t>(o)] += value;
                }
            add_block(plain.data());
        }
    }

    std::int64_t blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
    std::int64_t steps() const { return steps_; }
    std::int64_t run_steps() const { return run_steps_; }
    std::int32_t sum(std::int64_t output) const { return sums_[static_cast<std::size_t>(output)]; }

    void point(std::int64_t block, QuantizedBlock& to) const {
        const Block& from = blocks_[static_cast<std::size_t>(block)];
        to.weights = from.weights.data();
        to.groups = static_cast<std::int64_t>(from.order.size()) / steps_together;
        to.channels = std::min(lanes, outputs_ - block * lanes);
    }

    // The offsets of a block's steps in the order in which it takes them, given those of the steps as they lie.
    std::vector<std::int32_t> reorder(std::int64_t block, const std::vector<std::int32_t>& offsets) const {
        std::vector<std::int32_t> ordered;
        for (const std::int64_t step : blocks_[static_cast<std::size_t>(block)].order)
            ordered.push_back(step < 0 ? 0 : offsets[static_cast<std::size_t>(step)]);
        return ordered;
    }

   private:
    static constexpr std::int64_t step_bytes = 64;
    struct Block {
        std::vector<std::int64_t> order;  // of steps, group by group; -1 stands for zeros
        std::vector<std::int8_t> weights;
    };

    // What the lanes of a group hold at most, as sums of its positive and of its negative weights.
    struct Load {
        int up[step_bytes / 2] = {}, down[step_bytes / 2] = {};

        bool add(const std::int8_t* step) {
            constexpr int most = 32767 / 127;
            Load next = *this;
            for (int lane = 0; lane < step_bytes / 2; ++lane) {
                for (const int weight : {step[2 * lane], step[2 * lane + 1]})
                    (weight > 0 ? next.up : next.down)[lane] += std::abs(weight);
                if (next.up[lane] > most || next.down[lane] > most) return false;
            }
            *this = next;
            return true;
        }
    };

    void add_block(const std::int8_t* plain) {
        Block block;
        std::vector<std::int64_t> left(static_cast<std::size_t>(steps_));
        std::iota(left.begin(), left.end(), std::int64_t{0});
        while (!left.empty()) {
            Load load;
            int taken = 0;
            for (auto step = left.begin(); step != left.end() && taken < steps_together;) {
                if (load.add(plain + *step * step_bytes)) {
                    block.order.push_back(*step);
                    step = left.erase(step);
                    ++taken;
                } else {
                    ++step;
                }
            }
            for (; taken < steps_together; ++taken) block.order.push_back(-1);
        }
        block.weights.resize(block.order.size() * step_bytes, 0);
        for (std::size_t i = 0; i < block.order.size(); ++i)
            if (block.order[i] >= 0)
                std::copy_n(plain + block.order[i] * step_bytes, step_bytes, block.weights.data() + i * step_bytes);
        blocks_.push_back(std::move(block));
    }

    std::int64_t outputs_, run_steps_, steps_;
    std::vector<std::int32_t> sums_;
    std::vector<Block> blocks_;
};

// Scales and zero points of one call.
struct Quantization {
    float input_scale, output_scale;
    std::int32_t input_zero, output_zero;
    bool relu;
    std::int32_t highest;  // largest code that comes out

    Quantization(double x_scale, std::int64_t x_zero, double out_scale, std::int64_t out_zero, bool relu,
                 std::int64_t highest)
        : input_scale(static_cast<float>(x_scale)), output_scale(static_cast<float>(out_scale)),
          input_zero(static_cast<std::int32_t>(x_zero)), output_zero(static_cast<std::int32_t>(out_zero)), relu(relu),
          highest(static_cast<std::int32_t>(highest)) {
        check(x_scale, x_zero, "input");
        check(out_scale, out_zero, "output");
        if (highest < out_zero || highest > 255)
            refuse("quantized output's highest code is " + std::to_string(highest) + "; it must be from the zero point to 255");
    }
    static void check(double scale, std::int64_t zero, const char* which) {
        if (!(scale > 0) || std::isinf(scale))
            refuse(std::string("quantized ") + which + " scale is " + std::to_string(scale) + "; it must be positive");
        if (zero < 0 || zero > 255)
            refuse(std::string("quantized ") + which + " zero point is " + std::to_string(zero) + "; it must be 0 to 255");
    }
};

// What a quantized layer has besides its packed weights: scales of the weights and the bias, per output channel.
struct Channels {
    std::vector<float> scales, bias;

    Channels(std::int64_t outputs, const Input<float>& weight_scales, const std::optional<Input<float>>& bias_values) {
        const Dims shape = shape_of(weight_scales);
        if (shape != Dims{outputs} && shape != Dims{1})
            refuse("quantized weight scales have shape " + text(shape) + "; expected [1] or [" + std::to_string(outputs) +
                   "]");
        const auto given = row_major(weight_scales);
        for (std::int64_t o = 0; o < outputs; ++o) scales.push_back(given.data()[shape[0] == 1 ? 0 : o]);
        for (const float scale : scales)
            if (!(scale > 0) || std::isinf(scale)) refuse("quantized weight scales must be positive and finite");
        bias.assign(static_cast<std::size_t>(outputs), 0.f);
        if (bias_values) {
            if (shape_of(*bias_values) != Dims{outputs})
                refuse("quantized bias has shape " + text(shape_of(*bias_values)) + "; expected [" +
                       std::to_string(outputs) + "]");
            const auto values = row_major(*bias_values);
            std::copy_n(values.data(), outputs, bias.begin());
        }
    }

    // Block `block` of a group whose first channel is `first`; floats come out when `to_float`.
    QuantizedBlock block(const PackedWeights& weights, std::int64_t block, std::int64_t first, const Quantization& q,
                         bool to_float) const {
        QuantizedBlock out{};
        weights.point(block, out);
        for (std::int64_t i = 0; i < out.channels; ++i) {
            const std::size_t c = static_cast<std::size_t>(first + block * lanes + i);
            const float divisor = to_float ? 1.f : q.output_scale;
            out.start[i] = -q.input_zero * weights.sum(block * lanes + i);
            out.scale[i] = q.input_scale * scales[c] / divisor;
            out.shift[i] = bias[c] / divisor;
        }
        out.zero_point = q.output_zero;
        out.high = static_cast<float>(q.highest - q.output_zero);
        out.low = q.relu ? 0.f : to_float ? -INFINITY : static_cast<float>(-q.output_zero);
        return out;
    }
};

class PackedQuantizedConv2d {
   public:
    PackedQuantizedConv2d(const Input<std::int8_t>& weight, const Input<float>& weight_scales,
                          const std::optional<Input<float>>& bias, Pair stride, Pair padding, Pair dilation,
                          std::int64_t groups)
        : shape_(checked(shape_of(weight), groups)), stride_(stride), padding_(padding), dilation_(dilation),
          groups_(groups), channels_(shape_[0], weight_scales, bias) {
        const std::int64_t inputs = shape_[1], outputs = shape_[0] / groups, taps = shape_[2] * shape_[3];
        // [O, KH, KW, C], so that a run of input bytes meets a run of weights.
        Buffer<std::int8_t> last(count_of(shape_));
        copy_strided(last.data(), channels_last_strides(shape_), weight.data(), shape_, strides_of(weight));
        joined_ = groups == 1 && dilation.second == 1;
        const std::int64_t runs = joined_ ? shape_[2] : taps, run = joined_ ? shape_[3] * inputs : inputs;
        for (std::int64_t g = 0; g < groups; ++g)
            weights_.emplace_back(last.data() + g * outputs * taps * inputs, outputs, runs, run);
    }

    nb::object run(const Input<std::uint8_t>& x, double x_scale, std::int64_t x_zero, double out_scale,
                   std::int64_t out_zero, bool relu, bool pool, std::int64_t highest) {
        const Quantization q(x_scale, x_zero, out_scale, out_zero, relu, highest);
        const Dims input = shape_of(x);
        if (input.size() != 4 || input[1] != shape_[1] * groups_)
            refuse("quantized conv2d input has shape " + text(input) + "; expected [N, " +
                   std::to_string(shape_[1] * groups_) + ", H, W]");
        const Dims output = {input[0], shape_[0], extent(input[2], shape_[2], stride_.first, padding_.first, dilation_.first),
                             extent(input[3], shape_[3], stride_.second, padding_.second, dilation_.second)};
        count_of(input);
        Dims result = output;
        if (pool) result[2] /= 2, result[3] /= 2;
        auto out = Output<std::uint8_t>::channels_last(result);
        if (count_of(result)) {
            KernelScope scope;
            const auto dense = channels_last(x);
            convolve(dense.data(), input, output, q, pool, out.data());
        }
        return out.to_python();
    }

   private:
    static Dims checked(Dims shape, std::int64_t groups) {
        if (shape.size() != 4 || count_of(shape) == 0)
            refuse("quantized conv2d weight has shape " + text(shape) + "; expected [O, C/groups, KH, KW]");
        if (count_of(shape) / shape[0] > (1 << 16))
            refuse("quantized conv2d weight " + text(shape) + " sums more than 2^16 products; 32 bits may not hold them");
        if (groups < 1 || shape[0] % groups)
            refuse("quantized conv2d groups is " + std::to_string(groups) + "; it must divide " +
                   std::to_string(shape[0]) + " output channels");
        return shape;
    }

    static std::int64_t extent(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                               std::int64_t dilation) {
        constexpr std::int64_t most = 1 << 20;
        const std::int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
        if (stride < 1 || dilation < 1 || padding < 0 || std::max({stride, dilation, padding}) > most || span < 0)
            refuse("quantized conv2d: a kernel of " + std::to_string(kernel) + " with stride " + std::to_string(stride) +
                   ", padding " + std::to_string(padding) + ", dilation " + std::to_string(dilation) +
                   " does not fit an input of " + std::to_string(size));
        return span / stride + 1;
    }

    void convolve(const std::uint8_t* x, const Dims& input, const Dims& output, const Quantization& q, bool pool,
                  std::uint8_t* out) const {
        const std::int64_t channels = input[1], height = input[2] + 2 * padding_.first;
        const std::int64_t row = (input[3] + 2 * padding_.second) * channels;
        const std::vector<std::int32_t> offsets = step_offsets(channels, row);
        std::vector<std::vector<std::int32_t>> ordered;  // for each block of each group
        for (const PackedWeights& weights : weights_)
            for (std::int64_t b = 0; b < weights.blocks(); ++b) ordered.push_back(weights.reorder(b, offsets));
        const Buffer<std::uint8_t> padded(input[0] * height * row + slack);
        const Buffer<std::uint8_t> wide_rows(input[0] * output[2]);
        std::memset(padded.data() + input[0] * height * row, 0, slack);
        parallel_for(input[0], 1 + 65536 / std::max<std::int64_t>(1, height * row), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t n = begin; n < end; ++n)
                pad(x + n * input[2] * input[3] * channels, input, q, padded.data() + n * height * row,
                    wide_rows.data() + n * output[2], output[2]);
        });

        const std::int64_t blocks = weights_[0].blocks(), per_group = blocks * groups_;
        const std::int64_t out_image = (pool ? (output[2] / 2) * (output[3] / 2) : output[2] * output[3]) * shape_[0];
        const std::int64_t products = output[2] * output[3] * weights_[0].steps() * 4 * lanes;
        parallel_for(input[0] * per_group, 1 + worth_a_thread / products, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t item = begin; item < end; ++item) {
                const std::int64_t n = item / per_group, group = item % per_group / blocks, b = item % blocks;
                const std::int64_t first = group * (shape_[0] / groups_);
                const QuantizedPlane plane{padded.data() + n * height * row + group * shape_[1],
                                           row * stride_.first,
                                           channels * stride_.second,
                                           output[2],
                                           output[3],
                                           pool,
                                           wide_rows.data() + n * output[2],
                                           shape_[0]};
                QuantizedBlock block = channels_.block(weights_[static_cast<std::size_t>(group)], b, first, q, false);
                block.offsets = ordered[static_cast<std::size_t>(group * blocks + b)].data();
                std::uint8_t* to = out + n * out_image + first + b * lanes;
                if (pool)
                    LEAF_VNNI(quantized_pooled)(plane, block, to);
                else
                    LEAF_VNNI(quantized_outputs)(plane, block, 0, output[2] * output[3], to, nullptr);
            }
        });
    }

    // Where each step of four bytes lies, seen from the first byte under the window.
    std::vector<std::int32_t> step_offsets(std::int64_t channels, std::int64_t row) const {
        std::vector<std::int32_t> offsets;
        const std::int64_t columns = joined_ ? 1 : shape_[3];
        for (std::int64_t y = 0; y < shape_[2]; ++y)
            for (std::int64_t x = 0; x < columns; ++x)
                for (std::int64_t step = 0; step < weights_[0].run_steps(); ++step) {
                    const std::int64_t at = y * dilation_.first * row + x * dilation_.second * channels + step * 4;
                    if (at > INT32_MAX) refuse("quantized conv2d: one input row is too large");
                    offsets.push_back(static_cast<std::int32_t>(at));
                }
        return offsets;
    }

    // Copies one image into its padded place, and notes which output rows read bytes above 127.
    void pad(const std::uint8_t* image, const Dims& input, const Quantization& q, std::uint8_t* to,
             std::uint8_t* wide_rows, std::int64_t out_rows) const {
        const std::int64_t channels = input[1], side = padding_.second * channels, inner = input[3] * channels;
        const std::int64_t row = inner + 2 * side, height = input[2] + 2 * padding_.first;
        const int zero = q.input_zero;
        std::vector<char> wide(static_cast<std::size_t>(height), q.input_zero > 127);
        for (std::int64_t y = 0; y < height; ++y, to += row) {
            const std::int64_t from = y - padding_.first;
            if (from < 0 || from >= input[2]) {
                std::memset(to, zero, static_cast<std::size_t>(row));
                continue;
            }
            std::memset(to, zero, static_cast<std::size_t>(side));
            std::memcpy(to + side, image + from * inner, static_cast<std::size_t>(inner));
            std::memset(to + side + inner, zero, static_cast<std::size_t>(side));
            wide[static_cast<std::size_t>(y)] |= LEAF_VNNI(any_wide)(to, row);
        }
        for (std::int64_t y = 0; y < out_rows; ++y) {
            bool any = false;
            for (std::int64_t k = 0; k < shape_[2]; ++k)
                any = any || wide[static_cast<std::size_t>(y * stride_.first + k * dilation_.first)];
            // A last step may read a few bytes of the next row; its weights are zero there.
            wide_rows[y] = any;
        }
    }

    const Dims shape_;
    const Pair stride_, padding_, dilation_;
    const std::int64_t groups_;
    const Channels channels_;
    bool joined_;  // kernel columns lie together in memory
    std::vector<PackedWeights> weights_;
};

class PackedQuantizedLinear {
   public:
    PackedQuantizedLinear(const Input<std::int8_t>& weight, const Input<float>& weight_scales,
                          const std::optional<Input<float>>& bias)
        : shape_(checked(shape_of(weight))), channels_(shape_[0], weight_scales, bias),
          weights_(row_major(weight).data(), shape_[0], 1, shape_[1]) {
        std::vector<std::int32_t> offsets;
        for (std::int64_t step = 0; step < weights_.steps(); ++step) offsets.push_back(static_cast<std::int32_t>(step * 4));
        for (std::int64_t b = 0; b < weights_.blocks(); ++b) offsets_.push_back(weights_.reorder(b, offsets));
    }

    nb::object run(const Input<std::uint8_t>& x, double x_scale, std::int64_t x_zero, std::optional<double> out_scale,
                   std::int64_t out_zero, bool relu, std::int64_t highest) {
        const Quantization q(x_scale, x_zero, out_scale.value_or(1.0), out_zero, relu, highest);
        const Dims input = shape_of(x);
        count_of(input);
        if (input.empty() || input.back() != shape_[1])
            refuse("quantized linear input has shape " + text(input) + "; expected [..., " + std::to_string(shape_[1]) + "]");
        Dims result = input;
        result.back() = shape_[0];
        if (out_scale) {
            auto out = Output<std::uint8_t>::row_major(result);
            multiply(x, count_of(input) / shape_[1], q, out.data(), nullptr);
            return out.to_python();
        }
        auto out = Output<float>::row_major(result);
        multiply(x, count_of(input) / shape_[1], q, nullptr, out.data());
        return out.to_python();
    }

   private:
    static Dims checked(Dims shape) {
        if (shape.size() != 2 || count_of(shape) == 0)
            refuse("quantized linear weight has shape " + text(shape) + "; expected [out, in]");
        if (shape[1] > (1 << 16))
            refuse("quantized linear weight " + text(shape) + " sums more than 2^16 products; 32 bits may not hold them");
        return shape;
    }

    void multiply(const Input<std::uint8_t>& x, std::int64_t rows, const Quantization& q, std::uint8_t* bytes,
                  float* floats) const {
        if (rows == 0) return;
        KernelScope scope;
        const std::int64_t inputs = shape_[1];
        const auto dense = row_major(x);
        const std::uint8_t* data = dense.data();
        Buffer<std::uint8_t> copy;
        if (inputs % 4) {  // the last step of the last row reads on
            copy = Buffer<std::uint8_t>(rows * inputs + slack);
            std::memcpy(copy.data(), data, static_cast<std::size_t>(rows * inputs));
            std::memset(copy.data() + rows * inputs, 0, slack);
            data = copy.data();
        }
        const Buffer<std::uint8_t> wide(rows);
        for (std::int64_t row = 0; row < rows; ++row) wide.data()[row] = LEAF_VNNI(any_wide)(data + row * inputs, inputs);
        const QuantizedPlane plane{data, inputs, 0, rows, 1, false, wide.data(), shape_[0]};
        // Items are 32 rows by 16 channels.
        constexpr std::int64_t band = 32;
        const std::int64_t bands = (rows + band - 1) / band, blocks = weights_.blocks();
        const std::int64_t products = std::min(rows, band) * inputs * lanes;
        parallel_for(bands * blocks, 1 + worth_a_thread / products, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t item = begin; item < end; ++item) {
                const std::int64_t b = item / bands, first = item % bands * band;
                QuantizedBlock block = channels_.block(weights_, b, 0, q, bytes == nullptr);
                block.offsets = offsets_[static_cast<std::size_t>(b)].data();
                LEAF_VNNI(quantized_outputs)(plane, block, first, std::min(rows, first + band),
                                        bytes ? bytes + b * lanes : nullptr, floats ? floats + b * lanes : nullptr);
            }
        });
    }

    const Dims shape_;
    const Channels channels_;
    const PackedWeights weights_;
    std::vector<std::vector<std::int32_t>> offsets_;  // per block
};

}  // namespace

void bind_quantized(nb::module_& module) {
    using nb::arg;
    nb::class_<PackedQuantizedConv2d>(module, "PackedQuantizedConv2d")
        .def(nb::init<const Input<std::int8_t>&, const Input<float>&, const std::optional<Input<float>>&, Pair, Pair, Pair,
                      std::int64_t>(),
             arg("weight").noconvert(), arg("weight_scales").noconvert(), arg("bias").noconvert().none(), nb::kw_only(),
             arg("stride"), arg("padding"), arg("dilation"), arg("groups"))
        .def("run", &PackedQuantizedConv2d::run, arg("x").noconvert(), nb::kw_only(), arg("x_scale"),
             arg("x_zero_point"), arg("scale"), arg("zero_point"), arg("relu") = false, arg("pool") = false,
             arg("highest") = 255);
    nb::class_<PackedQuantizedLinear>(module, "PackedQuantizedLinear")
        .def(nb::init<const Input<std::int8_t>&, const Input<float>&, const std::optional<Input<float>>&>(),
             arg("weight").noconvert(), arg("weight_scales").noconvert(), arg("bias").noconvert().none())
        .def("run", &PackedQuantizedLinear::run, arg("x").noconvert(), nb::kw_only(), arg("x_scale"),
             arg("x_zero_point"), arg("scale").none(), arg("zero_point"), arg("relu") = false, arg("highest") = 255);
}

}  // namespace workbench
