// An affine map with weights of four bits in groups: y = sum over groups of scale · (sum x·code - zero · sum x) + bias.
// Weights are read from memory as they are, an eighth of floats', and become floats in registers. Two layouts: see the header.
#include "packed_nibbles.hpp"

#include <algorithm>
#include <optional>

#define WORKBENCH_LEAVES "leaves/packed_nibbles.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

class PackedNibbleLinear {
   public:
    PackedNibbleLinear(const Input<std::uint8_t>& codes, const Input<float>& scales, const Input<float>& zeros,
                       const std::optional<Input<float>>& bias)
        : shape_(shape_of(codes)), groups_(shape_of(scales).size() == 2 ? shape_of(scales)[1] : 0),
          layout_(has_avx512() ? NibbleLayout::bytes : NibbleLayout::words) {
        if (shape_.size() != 2 || count_of(shape_) == 0)
            refuse("weights of four bits have shape " + text(shape_) + "; expected [out, in]");
        if (groups_ < 1 || shape_[1] % groups_ || shape_of(scales) != Dims{shape_[0], groups_} || shape_of(zeros) != shape_of(scales))
            refuse("weights of four bits " + text(shape_) + " have scales " + text(shape_of(scales)) + " and zero points " +
                   text(shape_of(zeros)) + "; expected [" + std::to_string(shape_[0]) + ", groups] of each, equal parts of " +
                   std::to_string(shape_[1]));
        if (bias && shape_of(*bias) != Dims{shape_[0]})
            refuse("weights of four bits have a bias " + text(shape_of(*bias)) + "; expected [" + std::to_string(shape_[0]) + "]");
        group_ = shape_[1] / groups_;
        held_ = layout_ == NibbleLayout::bytes ? group_ : (group_ + nibbles_of_a_word - 1) / nibbles_of_a_word * nibbles_of_a_word;
        pack(row_major(codes).data(), row_major(scales), row_major(zeros));
        if (bias) {
            const auto values = row_major(*bias);
            bias_.assign(values.data(), values.data() + shape_[0]);
        }
    }

    nb::object run(const Input<float>& x) const {
        Dims shape = shape_of(x);
        if (shape.empty() || shape.back() != shape_[1])
            refuse("the input of weights of four bits has shape " + text(shape) + "; expected [..., " + std::to_string(shape_[1]) + "]");
        const std::int64_t inputs = shape_[1], outputs = shape_[0], rows = count_of(shape) / inputs;
        shape.back() = outputs;
        auto out = Output<float>::row_major(shape);
        if (rows == 0) return out.to_python();
        {
            KernelScope scope(rows * inputs * outputs);
            const auto values = row_major(x);
            const Buffer<float> sums(rows * groups_);
            for (std::int64_t i = 0; i < rows * groups_; ++i)
                sums.data()[i] = LEAF_WIDE(sum_of)(values.data() + i * group_, group_);
            const Buffer<float> divided = layout_ == NibbleLayout::words ? divided_inputs(values.data(), rows) : Buffer<float>(0);
            const float* const taken = layout_ == NibbleLayout::words ? divided.data() : values.data();
            // Rows that stay in a cache while all panels of a thread pass by.
            const std::int64_t block = std::max<std::int64_t>(4, (1 << 16) / inputs / 4 * 4);
            const std::int64_t grain = 1 + 500000 / (inputs * nibble_outputs * std::min<std::int64_t>(rows, 4));
            parallel_for(panels_, grain, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t from = 0; from < rows; from += block)
                    for (std::int64_t panel = begin; panel < end; ++panel)
                        for (std::int64_t row = from; row < std::min(rows, from + block); row += 4)
                            some(panel, row, std::min<std::int64_t>(4, rows - row), taken, sums.data(), out.data());
            });
        }
        return out.to_python();
    }

   private:
    void pack(const std::uint8_t* codes, const Dense<float>& scales, const Dense<float>& zeros) {
        const std::int64_t outputs = shape_[0], inputs = shape_[1];
        panels_ = (outputs + nibble_outputs - 1) / nibble_outputs;
        bytes_ = Buffer<std::uint8_t>(panels_ * groups_ * held_ * 16);
        scales_.assign(static_cast<std::size_t>(panels_ * groups_ * nibble_outputs), 0.f);
        zeros_ = scales_;
        std::fill_n(bytes_.data(), panels_ * groups_ * held_ * 16, std::uint8_t{0});
        for (std::int64_t o = 0; o < outputs; ++o) {
            const std::int64_t panel = o / nibble_outputs, at = o % nibble_outputs;
            for (std::int64_t k = 0; k < inputs; ++k) {
                const std::uint8_t code = codes[o * inputs + k];
                if (code > 15) refuse("a weight of four bits has the code " + std::to_string(code) + "; codes are 0 to 15");
                put(panel, k, at, code);
            }
            for (std::int64_t g = 0; g < groups_; ++g) {
                const std::size_t to = static_cast<std::size_t>((panel * groups_ + g) * nibble_outputs + at);
                scales_[to] = scales.data()[o * groups_ + g], zeros_[to] = zeros.data()[o * groups_ + g];
            }
        }
    }

    // Puts the code of one weight into its four bits.
    void put(std::int64_t panel, std::int64_t k, std::int64_t at, std::uint8_t code) {
        const std::int64_t place = k / group_ * held_ + k % group_;
        std::uint8_t* const bytes = bytes_.data() + panel * groups_ * held_ * 16;
        if (layout_ == NibbleLayout::bytes) {
            bytes[place * 16 + at % 16] |= static_cast<std::uint8_t>(at < 16 ? code : code << 4);
            return;
        }
        // Sixteen outputs behind one another, for the registers that they fill.
        const std::int64_t within = place % nibbles_of_a_word, words = groups_ * held_ / nibbles_of_a_word;
        const std::int64_t word = (at / 16 * words + place / nibbles_of_a_word) * 16 + at % 16;
        bytes[4 * word + within / 2] |= static_cast<std::uint8_t>(within % 2 ? code << 4 : code);
    }

    // Inputs as the words of weights meet them: each group filled up by zeros, every second one divided by 16.
    Buffer<float> divided_inputs(const float* x, std::int64_t rows) const {
        Buffer<float> made(rows * groups_ * held_);
        for (std::int64_t part = 0; part < rows * groups_; ++part) {
            float* const to = made.data() + part * held_;
            for (std::int64_t i = 0; i < held_; ++i)
                to[i] = i < group_ ? x[part * group_ + i] * (i % 2 ? 1.f / 16 : 1.f) : 0.f;
        }
        return made;
    }

    void some(std::int64_t panel, std::int64_t row, std::int64_t rows, const float* x, const float* sums, float* out) const {
        const std::int64_t inputs = groups_ * held_, outputs = shape_[0], first = panel * nibble_outputs;
        float found[4][nibble_outputs];
        const float *values[4], *totals[4];
        float* to[4];
        for (std::int64_t r = 0; r < 4; ++r) {
            const std::int64_t from = row + std::min(r, rows - 1);
            values[r] = x + from * inputs, totals[r] = sums + from * groups_, to[r] = found[r];
        }
        const std::size_t scale = static_cast<std::size_t>(panel * groups_ * nibble_outputs);
        LEAF_WIDE(nibble_products)(values, totals, rows, bytes_.data() + panel * inputs * 16, scales_.data() + scale,
                                   zeros_.data() + scale, inputs, held_, to);
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t o = first; o < std::min(outputs, first + nibble_outputs); ++o)
                out[(row + r) * outputs + o] = found[r][o - first] + (bias_.empty() ? 0.f : bias_[static_cast<std::size_t>(o)]);
    }

    const Dims shape_;
    const std::int64_t groups_;
    const NibbleLayout layout_;
    std::int64_t group_ = 0, held_ = 0;  // inputs of a group, and with what fills up its last word
    std::int64_t panels_ = 0;
    Buffer<std::uint8_t> bytes_;         // [panels, groups * held, 16]: two weights a byte
    std::vector<float> scales_, zeros_;  // [panels, groups, 32]
    std::vector<float> bias_;
};

}  // namespace

void bind_packed_nibbles(nb::module_& module) {
    using nb::arg;
    nb::class_<PackedNibbleLinear>(module, "PackedNibbleLinear")
        .def(nb::init<const Input<std::uint8_t>&, const Input<float>&, const Input<float>&, const std::optional<Input<float>>&>(),
             arg("codes").noconvert(), arg("scales").noconvert(), arg("zeros").noconvert(), arg("bias").noconvert().none())
        .def("run", &PackedNibbleLinear::run, arg("x").noconvert());
}

}  // namespace workbench
