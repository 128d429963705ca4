// The steps of a recurrent layer: of whole sequences, or of packed ones that end one after the other.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "layout.hpp"

namespace workbench {

using Sizes = std::optional<Dims>;

// Which rows each step has, in the order in which steps are taken, and where each row's state before lies.
struct Steps {
    struct Step {
        std::int64_t first, count;
    };
    std::vector<Step> steps;
    std::vector<std::int64_t> before;  // an earlier row, or -1 for the first state
    std::int64_t rows = 0, batch = 0;

    Steps(const Dims& shape, const Sizes& sizes, bool reverse) {
        if (shape.size() != (sizes ? 2u : 3u)) refuse("recurrent layer: steps have shape " + text(shape));
        Dims counts = sizes ? *sizes : Dims(static_cast<std::size_t>(shape[0]), shape[1]);
        for (const std::int64_t count : counts) {
            if (count < 1 || (batch && count > steps.back().count))
                refuse("recurrent layer: batch sizes " + text(counts) + " must fall, to 1 at least");
            batch = std::max(batch, count);
            steps.push_back({rows, count});
            rows += count;
        }
        if (steps.empty() || rows != count_of(shape) / std::max<std::int64_t>(1, shape.back()))
            refuse("recurrent layer: batch sizes " + text(counts) + " do not go with rows of shape " + text(shape));
        if (reverse) std::reverse(steps.begin(), steps.end());
        before.resize(static_cast<std::size_t>(rows));
        std::vector<std::int64_t> latest(static_cast<std::size_t>(batch), -1);
        for (const Step& step : steps)
            for (std::int64_t i = 0; i < step.count; ++i) before[step.first + i] = latest[i], latest[i] = step.first + i;
    }
    // The values before a row, of `size` each: of an earlier row, or of the first state.
    const float* prior(std::int64_t row, std::int64_t in_batch, const float* earlier, const float* first,
                       std::int64_t size) const {
        return before[row] < 0 ? first + in_batch * size : earlier + before[row] * size;
    }
};

}  // namespace workbench
