// Convolutions of planes: weights packed once, activations as the step before them left them, and what follows in registers.
#include "../convolution_geometry.hpp"
#include "steps.hpp"

namespace workbench::compiled {
namespace {

// oneDNN's code for everything, ten to a hundred times slower than what is made for the sizes.
bool is_slow(const std::string& implementation) {
    return implementation.find("ref") != std::string::npos || implementation.find("gemm") == 0;
}

Layout any(const Dims& sizes) { return any_floats(sizes); }

Layout channels_last(const Dims& sizes) { return describe_floats(sizes, channels_last_strides(sizes)); }

}  // namespace

int Program::convolution(int x, std::int64_t key, const Plain<float>& weight, std::int64_t bias_key,
                         const std::optional<Plain<float>>& bias, const Dims& stride, const Dims& padding, const Dims& dilation,
                         std::int64_t groups, const std::vector<After>& after) {
    if (stride.size() != 2 || padding.size() != 2 || dilation.size() != 2) refuse("a compiled convolution has two spatial dims");
    const Geometry<2> g(shape(x), shape_of(weight), {stride[0], stride[1]}, {padding[0], padding[1]}, {dilation[0], dilation[1]}, groups);
    const Dims bias_shape{g.output[1]};
    const Layout bias_layout = bias ? plain_layout(bias_shape) : Layout();
    use_threads(workers_for(g.products()));

    std::vector<Layout> sources{any(g.input)};
    if (at(x).settled) sources.insert(sources.begin(), at(x).layout);

    dnnl::convolution_forward::primitive_desc description;
    std::vector<std::pair<int, int>> arguments;
    std::vector<After> kept = after;
    for (const Layout& source : sources) {
        arguments.clear();
        // The result lies as what is read, where that has its channels last: oneDNN would turn it otherwise, or be slow.
        Layout result = source == channels_last(g.input) ? channels_last(g.output) : any(g.output);
        for (After& one : kept) {
            if (one.what != dnnl::algorithm::binary_add) continue;
            // What a step has made says how the sum lies; what is given from outside is turned to what is there.
            if (at(one.slot).settled || result.get_format_kind() == dnnl::memory::format_kind::any)
                result = at(one.slot).layout;
            else if (const int lying = laid(one.slot, result); lying != one.slot)
                // Others may read what was turned.
                one.slot = lying, one.over = false;
        }
        const auto with = attributes(kept, result, arguments);
        description = dnnl::convolution_forward::primitive_desc(
            engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source, any(g.grouped_weight()),
            bias_layout, result, g.strides(), g.gaps(), g.before(), g.after(), with);
        if (!is_slow(description.impl_info_str())) break;
    }
    arguments.emplace_back(DNNL_ARG_SRC, laid(x, description.src_desc()));
    // Taps that meet nothing but padding are left out, which depends on the sizes: such a weight is another to the store.
    const std::int64_t part = (key + 1) * (std::int64_t{1} << 32) + g.offset;
    arguments.emplace_back(DNNL_ARG_WEIGHTS, keep(part, weight.data() + g.offset, g.plain_weight<float>(), description.weights_desc()));
    if (bias) arguments.emplace_back(DNNL_ARG_BIAS, keep(bias_key, bias->data(), bias_layout, bias_layout));
    const int made = result_for(description.dst_desc(), kept);
    arguments.emplace_back(DNNL_ARG_DST, made);
    use_threads(workers_for(g.products()));
    add("convolution", description, std::move(arguments), g.products());
    return made;
}

int Program::pool(int x, const std::string& kind, const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation) {
    const Dims sizes = shape(x);
    if (sizes.size() != 4 || kernel.size() != 2 || stride.size() != 2 || padding.size() != 2 || dilation.size() != 2)
        refuse("a compiled pooling has two spatial dims");
    Dims result{sizes[0], sizes[1]}, after(2), gaps(2);
    for (std::size_t i = 0; i < 2; ++i) {
        const std::int64_t reach = dilation[i] * (kernel[i] - 1) + 1, span = sizes[i + 2] + 2 * padding[i] - reach;
        if (stride[i] < 1 || span < 0) refuse("a pooling's window of " + text(kernel) + " does not fit " + text(sizes));
        result.push_back(span / stride[i] + 1);
        after[i] = (result.back() - 1) * stride[i] + reach - sizes[i + 2] - padding[i];
        gaps[i] = dilation[i] - 1;
    }
    const auto algorithm = kind == "max"              ? dnnl::algorithm::pooling_max
                           : kind == "average_padded" ? dnnl::algorithm::pooling_avg_include_padding
                                                      : dnnl::algorithm::pooling_avg_exclude_padding;
    if (kind == "max") hides_nan_ = true;
    if (!at(x).settled) x = laid(x, channels_last(sizes));
    const std::int64_t products = count_of(result) * kernel[0] * kernel[1];
    use_threads(workers_for(8 * products));
    const dnnl::pooling_forward::primitive_desc description(engine(), dnnl::prop_kind::forward_inference, algorithm, at(x).layout,
                                                            any(result), stride, kernel, gaps, padding, after, with_own_room());
    const int made = add_slot(description.dst_desc(), true);
    add("pooling", description, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, made}}, 8 * products);
    return made;
}

}  // namespace workbench::compiled
