// What a convolution over two or three spatial dimensions is, checked.
#pragma once

#include <algorithm>
#include <array>

#include "engine.hpp"

namespace workbench {

// A number for each spatial dimension.
template <std::size_t N>
using Along = std::array<std::int64_t, N>;

template <std::size_t N>
struct Geometry {
    Dims input, weight, output;  // [N, C, ...], [O, C/groups, ...], [N, O, ...]
    Along<N> stride, padding, dilation;
    std::int64_t groups;
    Dims whole;  // the weight with all its taps: `weight` has those that meet more than padding, from `offset` on
    std::int64_t offset = 0;

    Geometry(const Dims& input_shape, const Dims& weight_shape, const Along<N>& stride, const Along<N>& padding,
             const Along<N>& dilation, std::int64_t groups)
        : input(input_shape), weight(weight_shape), stride(stride), padding(padding), dilation(dilation), groups(groups) {
        const std::string places = N == 3 ? "D, H, W]" : "H, W]", kernel = N == 3 ? "KD, KH, KW]" : "KH, KW]";
        if (input.size() != N + 2) refuse(name() + " input has shape " + text(input) + "; expected [N, C, " + places);
        if (weight.size() != N + 2)
            refuse(name() + " weight has shape " + text(weight) + "; expected [O, C/groups, " + kernel);
        if (groups < 1 || input[1] % groups || weight[0] % groups)
            refuse(name() + " groups is " + std::to_string(groups) + "; it must divide " + std::to_string(input[1]) +
                   " input and " + std::to_string(weight[0]) + " output channels");
        if (weight[1] * groups != input[1])
            refuse(name() + " input " + text(input) + " has " + std::to_string(input[1]) + " channels, but weight " +
                   text(weight) + " with groups " + std::to_string(groups) + " takes " +
                   std::to_string(weight[1] * groups));
        count_of(input);
        if (count_of(weight) == 0) refuse(name() + " weight " + text(weight) + " is empty");
        output = {input[0], weight[0]};
        for (std::size_t i = 0; i < N; ++i) output.push_back(extent(i));
        whole = weight;
        const Dims steps = row_major_strides(whole);
        for (std::size_t i = 0; i < N; ++i) offset += leave_out(i) * steps[i + 2];
    }

    // Leaves out taps at both ends that see nothing but padding, wherever the window stands: eight of the nine taps of a
    // 3 x 3 window over images of one pixel. Returns how many are left out in front.
    std::int64_t leave_out(std::size_t i) {
        const std::int64_t size = input[i + 2], places = output[i + 2], step = stride[i], gap = dilation[i], before = padding[i];
        const auto meets = [&](std::int64_t tap) {  // the first place at or past the image's start is inside it
            const std::int64_t from = tap * gap - before, place = from >= 0 ? from : from + (step - 1 - from) / step * step;
            return place < size && (place - from) / step < places;
        };
        std::int64_t first = 0, last = weight[i + 2] - 1;
        // As far as oneDNN goes: no less than no padding in front, and at the end less than a step of the image left over.
        while (first < last && (first + 1) * gap <= before && !meets(first)) ++first;
        while (last > first && !meets(last) && places * step + (last - 1) * gap + 1 > size + before) --last;
        weight[i + 2] = last - first + 1, padding[i] -= first * gap;
        return first;
    }
    bool shortened() const { return weight != whole; }

    static std::string name() { return "conv" + std::to_string(N) + "d"; }

    std::int64_t extent(std::size_t i) const {
        constexpr std::int64_t most = std::int64_t{1} << 31;
        constexpr const char* words[] = {"depth", "height", "width"};
        const std::string along = name() + " " + words[i + 3 - N] + ": ";
        if (stride[i] < 1 || padding[i] < 0 || dilation[i] < 1 || stride[i] >= most || padding[i] >= most || dilation[i] >= most)
            refuse(along + "stride " + std::to_string(stride[i]) + ", padding " + std::to_string(padding[i]) + ", dilation " +
                   std::to_string(dilation[i]) + "; stride and dilation must be at least 1, padding at least 0");
        const std::int64_t reach = dilation[i] * (weight[i + 2] - 1) + 1, span = input[i + 2] + 2 * padding[i] - reach;
        if (span < 0)
            refuse(along + "the kernel covers " + std::to_string(reach) + ", more than the padded input's " +
                   std::to_string(input[i + 2] + 2 * padding[i]));
        return span / stride[i] + 1;
    }

    // Multiplications of the whole convolution.
    std::int64_t products() const {
        const double exact = static_cast<double>(count_of(output)) * static_cast<double>(count_of(weight) / weight[0]);
        return static_cast<std::int64_t>(std::min(exact, 1e15));
    }
    bool empty() const { return count_of(input) == 0 || count_of(output) == 0; }

    Dims grouped_weight() const {
        if (groups == 1) return weight;
        Dims shape{groups, weight[0] / groups};
        shape.insert(shape.end(), weight.begin() + 1, weight.end());
        return shape;
    }
    Dims grouped_strides(const Dims& strides) const {
        if (groups == 1) return strides;
        Dims steps{strides[0] * (weight[0] / groups)};
        steps.insert(steps.end(), strides.begin(), strides.end());
        return steps;
    }
    template <typename T>
    dnnl::memory::desc input_memory() const {
        return describe(input, channels_last_strides(input), kind_of<T>);
    }
    template <typename T>
    dnnl::memory::desc output_memory() const {
        return describe(output, channels_last_strides(output), kind_of<T>);
    }
    template <typename T>
    dnnl::memory::desc plain_weight() const {
        return describe(grouped_weight(), grouped_strides(row_major_strides(whole)), kind_of<T>);
    }
    Dims strides() const { return Dims(stride.begin(), stride.end()); }
    Dims gaps() const {
        Dims gaps(dilation.begin(), dilation.end());
        for (std::int64_t& gap : gaps) --gap;
        return gaps;
    }
    Dims before() const { return Dims(padding.begin(), padding.end()); }
    // oneDNN wants the padding that is really used after the last window.
    Dims after() const {
        Dims after(N);
        for (std::size_t i = 0; i < N; ++i)
            after[i] = (output[i + 2] - 1) * stride[i] + dilation[i] * (weight[i + 2] - 1) + 1 - input[i + 2] - padding[i];
        return after;
    }
    // Whether a window stands over padding anywhere.
    bool pads() const {
        const Dims behind = after();
        return std::any_of(padding.begin(), padding.end(), [](std::int64_t some) { return some > 0; }) ||
               std::any_of(behind.begin(), behind.end(), [](std::int64_t some) { return some > 0; });
    }

    Dims key(std::initializer_list<std::int64_t> more) const {
        Dims key(more);
        key.reserve(key.size() + input.size() + weight.size() + 4 * N + 2);
        key.insert(key.end(), input.begin(), input.end());
        key.insert(key.end(), weight.begin(), weight.end());
        key.insert(key.end(), whole.begin() + 2, whole.end());
        for (const Along<N>* one : {&stride, &padding, &dilation}) key.insert(key.end(), one->begin(), one->end());
        key.insert(key.end(), {groups, omp_get_max_threads()});
        return key;
    }
};

// oneDNN's gradient of a 1 x 1 weight for AVX2 first gathers the values that steps of more than one place meet, eight channels at a
// time, and writes them behind its room where the channels are fewer than that or no multiple: other code of its is taken there.
template <std::size_t N>
void pass_over_faulty_gathering(dnnl::convolution_backward_weights::primitive_desc& description, const Geometry<N>& g) {
    const bool steps = std::any_of(g.stride.begin(), g.stride.end(), [](std::int64_t step) { return step > 1; });
    if (!steps || g.weight[1] % 8 == 0) return;
    while (std::string(description.impl_info_str()).rfind("jit_1x1:avx2", 0) == 0)
        if (!description.next_impl()) refuse("there is no sound code for this gradient of a weight");
}

}  // namespace workbench
