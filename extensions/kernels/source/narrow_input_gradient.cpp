#include "narrow_input_gradient.hpp"

#include <vector>

#include "memory.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

// What a row of the input meets: rows of the output with the row of taps that stands over each.
struct NarrowRow {
    const float* weight;  // [taps down, taps, channels, width], zeros past the outputs
    const float* const* gradient_rows;
    const std::int64_t* kernel_rows;
    std::int64_t rows, taps, outputs, width, in_width, out_width, stride, padding, dilation;
};

}  // namespace
}  // namespace workbench

#define WORKBENCH_LEAVES "leaves/narrow_input_gradient.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"

namespace workbench {
namespace {

// to[tap, c, o] = from[o, c, tap], with zeros from the last output to `width`.
void pack(const Geometry<2>& g, const float* weight, std::int64_t width, float* to) {
    const std::int64_t outputs = g.weight[0], channels = g.weight[1], high = g.weight[2], wide = g.weight[3];
    const std::int64_t line = g.whole[3], plane = g.whole[2] * line;
    std::fill_n(to, high * wide * channels * width, 0.f);
    for (std::int64_t o = 0; o < outputs; ++o)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t y = 0; y < high; ++y)
                for (std::int64_t x = 0; x < wide; ++x)
                    to[((y * wide + x) * channels + c) * width + o] = weight[g.offset + (o * channels + c) * plane + y * line + x];
}

}  // namespace

bool takes_narrow_input(const Geometry<2>& g) { return g.groups == 1 && g.input[1] <= 4 && g.weight[0] >= 8; }

void narrow_input_gradient(const Geometry<2>& g, const float* gradients, const float* weight, float* out) {
    const std::int64_t channels = g.input[1], high = g.input[2], wide = g.input[3], outputs = g.output[1];
    const std::int64_t step = LEAF_WIDE(narrow_lanes)(), width = (outputs + step - 1) / step * step;
    const Buffer<float> packed(count_of(g.weight) / outputs * width);
    pack(g, weight, width, packed.data());
    parallel_for(g.input[0] * high, grain_for(wide * count_of(g.weight)), [&](std::int64_t begin, std::int64_t end) {
        std::vector<const float*> gradient_rows(static_cast<std::size_t>(g.weight[2]));
        std::vector<std::int64_t> kernel_rows(static_cast<std::size_t>(g.weight[2]));
        NarrowRow row{packed.data(), gradient_rows.data(), kernel_rows.data(), 0, g.weight[3], outputs, width, wide,
                      g.output[3], g.stride[1], g.padding[1], g.dilation[1]};
        for (std::int64_t at = begin; at < end; ++at) {
            const std::int64_t image = at / high, y = at % high;
            std::size_t found = 0;
            for (std::int64_t tap = 0; tap < g.weight[2]; ++tap) {
                const std::int64_t back = y + g.padding[0] - tap * g.dilation[0];
                if (back < 0 || back % g.stride[0] != 0 || back / g.stride[0] >= g.output[2]) continue;
                gradient_rows[found] = gradients + (image * g.output[2] + back / g.stride[0]) * g.output[3] * outputs;
                kernel_rows[found++] = tap;
            }
            row.rows = static_cast<std::int64_t>(found);
            LEAF_WIDE(narrow_row)(row, channels, out + at * wide * channels);
        }
    });
}

}  // namespace workbench
