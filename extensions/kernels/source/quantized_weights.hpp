// The weights of quantized layers, laid out once as the integer loops read them.
#pragma once

#include <cstdint>
#include <vector>

#include "quantized.hpp"

namespace workbench {

// The weights of one group: output channels by runs of input bytes. A run is a stretch of input bytes that lie together;
// each is cut into steps of four bytes, with zero weights in what is left over. Blocks of sixteen channels make panels.
//
// Where products are added in 16 bits first (narrow packing), a panel is one block and steps are taken in groups. A 16-bit lane
// then holds two products a step, of weights with bytes up to 127, which fits while neither the positive nor the negative
// weights that it meets add up to more than 32767 / 127 = 258. Large weights are few, so steps can be grouped that way: first
// by four, and by two what is left; what fits to none is by itself. Each block has groups of its own.
//
// Channels that stay apart have a step for each tap of the kernel, and panels of one block.
enum class Packing { narrow, wide, apart };

class PackedWeights {
   public:
    PackedWeights(const std::int8_t* weight, std::int64_t outputs, std::int64_t runs, std::int64_t run, Packing packing);
    PackedWeights(PackedWeights&&) = default;

    std::int64_t panels() const { return static_cast<std::int64_t>(panels_.size()); }
    std::int64_t steps() const { return steps_; }
    std::int64_t run_steps() const { return run_steps_; }
    std::int32_t sum(std::int64_t output) const { return sums_[static_cast<std::size_t>(output)]; }
    const std::int32_t* sums() const { return sums_.data(); }
    // How much memory they take as they lie.
    std::int64_t bytes() const;

    // Fills in all that the weights say of a panel.
    void point(std::int64_t panel, QuantizedPanel& to) const;
    // Where those of a panel lie; nothing behind the last one.
    WeightsAhead lying(std::int64_t panel) const;
    // The offsets of a panel's steps in the order in which it takes them, given those of the steps as they lie.
    std::vector<std::int32_t> reorder(std::int64_t panel, const std::vector<std::int32_t>& offsets) const;

   private:
    struct Panel {
        std::int64_t blocks;
        std::vector<std::int64_t> order;  // of steps
        Buffer<std::int8_t> weights;  // on cache lines: each load is one
        std::int64_t quads;           // steps in groups of four, which come first
        std::int64_t pairs;           // steps in groups of four and of two
    };
    // Where byte `i` of an output's weights lies in memory that holds steps of `blocks` blocks.
    std::int64_t place(std::int64_t i, std::int64_t run, std::int64_t blocks, std::int64_t channel) const;
    void group(Panel& panel) const;

    const Packing packing_;
    std::int64_t outputs_, run_steps_, steps_, widest_;  // widest: blocks of a full panel
    std::vector<std::int32_t> sums_;
    std::vector<Panel> panels_;
};

}  // namespace workbench
