#include "quantized_weights.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace workbench {
namespace {

constexpr std::int64_t step_bytes = 4 * quantized_lanes;  // of one block

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

Buffer<std::int8_t> zeros(std::int64_t count) {
    Buffer<std::int8_t> made(count);
    std::fill_n(made.data(), count, std::int8_t{0});
    return made;
}

}  // namespace

PackedWeights::PackedWeights(const std::int8_t* weight, std::int64_t outputs, std::int64_t runs, std::int64_t run,
                             Packing packing)
    : packing_(packing), outputs_(outputs), run_steps_((run + 3) / 4), steps_(runs * run_steps_),
      widest_(packing == Packing::wide ? most_blocks : 1), sums_(static_cast<std::size_t>(outputs)) {
    const std::int64_t full = widest_ * quantized_lanes;
    for (std::int64_t first = 0; first < outputs; first += full) {
        const std::int64_t channels = std::min(full, outputs - first);
        const std::int64_t blocks = (channels + quantized_lanes - 1) / quantized_lanes;
        // Tiles take sixteen steps at a time, of which the last meet zeros.
        const std::int64_t held = packing == Packing::wide ? (steps_ + 15) / 16 * 16 : steps_;
        Panel panel{blocks, std::vector<std::int64_t>(static_cast<std::size_t>(steps_)), zeros(held * blocks * step_bytes), 0, 0};
        std::iota(panel.order.begin(), panel.order.end(), std::int64_t{0});
        for (std::int64_t channel = 0; channel < channels; ++channel)
            for (std::int64_t i = 0; i < runs * run; ++i) {
                const std::int8_t value = weight[(first + channel) * runs * run + i];
                panel.weights.data()[place(i, run, blocks, channel)] = value;
                sums_[static_cast<std::size_t>(first + channel)] += value;
            }
        if (packing == Packing::narrow) group(panel);
        panels_.push_back(std::move(panel));
    }
}

std::int64_t PackedWeights::place(std::int64_t i, std::int64_t run, std::int64_t blocks, std::int64_t channel) const {
    if (packing_ == Packing::apart) return i * quantized_lanes + channel;
    const std::int64_t step = i / run * run_steps_ + i % run / 4;
    return step * blocks * step_bytes + channel * 4 + i % run % 4;
}

// Puts the steps of a panel of one block in groups: by four as far as some of the next steps fit, by two, and each by itself.
void PackedWeights::group(Panel& panel) const {
    constexpr std::size_t ahead = 32;
    std::vector<std::int64_t> left, pairs;
    left.swap(panel.order);
    // The next of the steps that goes with others, taken out; -1 where there is none.
    const auto take = [&](std::vector<std::int64_t>& from, Load& load, std::size_t most) {
        for (std::size_t i = 0; i < std::min(from.size(), most); ++i)
            if (load.add(panel.weights.data() + from[i] * step_bytes)) {
                const std::int64_t step = from[i];
                from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
                return step;
            }
        return std::int64_t{-1};
    };
    while (!left.empty()) {
        Load load;
        std::vector<std::int64_t> four;
        while (four.size() < 4) {
            const std::int64_t step = take(left, load, ahead);
            if (step < 0) break;
            four.push_back(step);
        }
        if (four.size() == 4) {
            panel.order.insert(panel.order.end(), four.begin(), four.end());
        } else {
            // The first goes with one other, and those that went with it may go together elsewhere.
            pairs.push_back(four[0]);
            left.insert(left.begin(), four.begin() + 1, four.end());
        }
    }
    panel.quads = static_cast<std::int64_t>(panel.order.size());
    while (!pairs.empty()) {
        Load load;
        const std::int64_t first = take(pairs, load, 1), second = take(pairs, load, pairs.size());
        if (second < 0) {
            left.push_back(first);
        } else {
            panel.order.push_back(first);
            panel.order.push_back(second);
        }
    }
    panel.pairs = static_cast<std::int64_t>(panel.order.size());
    panel.order.insert(panel.order.end(), left.begin(), left.end());
    Buffer<std::int8_t> grouped = zeros(static_cast<std::int64_t>(panel.order.size()) * step_bytes);
    for (std::size_t i = 0; i < panel.order.size(); ++i)
        std::copy_n(panel.weights.data() + panel.order[i] * step_bytes, step_bytes, grouped.data() + i * step_bytes);
    panel.weights = std::move(grouped);
}

WeightsAhead PackedWeights::lying(std::int64_t panel) const {
    if (panel >= panels()) return {};
    const Panel& from = panels_[static_cast<std::size_t>(panel)];
    return {from.weights.data(), static_cast<std::int64_t>(from.order.size()) * from.blocks * step_bytes};
}

std::int64_t PackedWeights::bytes() const {
    std::int64_t sum = 0;
    for (std::int64_t panel = 0; panel < panels(); ++panel) sum += lying(panel).bytes;
    return sum;
}

void PackedWeights::point(std::int64_t panel, QuantizedPanel& to) const {
    const Panel& from = panels_[static_cast<std::size_t>(panel)];
    const std::int64_t full = widest_ * quantized_lanes;
    to.weights = from.weights.data();
    to.steps = static_cast<std::int64_t>(from.order.size());
    to.quads = from.quads;
    to.pairs = from.pairs;
    to.blocks = from.blocks;
    to.channels = std::min(full, outputs_ - panel * full);
    to.first = panel * full;
    to.apart = packing_ == Packing::apart;
}

std::vector<std::int32_t> PackedWeights::reorder(std::int64_t panel, const std::vector<std::int32_t>& offsets) const {
    std::vector<std::int32_t> ordered;
    for (const std::int64_t step : panels_[static_cast<std::size_t>(panel)].order)
        ordered.push_back(offsets[static_cast<std::size_t>(step)]);
    return ordered;
}

}  // namespace workbench
