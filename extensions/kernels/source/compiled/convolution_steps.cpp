// Convolutions of planes: weights packed once, activations as the step before them left them, and what follows in registers.
#include "convolution_steps.hpp"

namespace workbench::compiled {
namespace {

Layout channels_last(const Dims& sizes, Kind kind) { return describe(sizes, channels_last_strides(sizes), kind); }

}  // namespace

// `weights` adds the weight, in the layout that is wanted, and the bias.
int Program::convolve(const Geometry<2>& g, int x, bool bias, const std::vector<After>& after, const Weights& weights,
                      const std::function<double()>& sum) {
    const Kind kind = at(x).layout.get_data_type();
    const Layout bias_layout = bias ? plain_layout({g.output[1]}, kind) : Layout();
    expect_no_overflow(after, {x}, sum);
    use_threads(workers_for(g.products()));

    std::vector<Layout> sources{describe_freely(g.input, kind)};
    if (at(x).settled) sources.insert(sources.begin(), at(x).layout);

    dnnl::convolution_forward::primitive_desc description;
    Arguments arguments;
    std::vector<After> kept = after;
    for (const Layout& source : sources) {
        arguments.clear();
        // The result lies as what is read, where that has its channels last: oneDNN would turn it otherwise, or be slow.
        Layout result = source == channels_last(g.input, kind) ? channels_last(g.output, kind) : describe_freely(g.output, kind);
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
            engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, source,
            describe_freely(g.grouped_weight(), kind), bias_layout, result, g.strides(), g.gaps(), g.before(), g.after(), with);
        if (!is_slow(description.impl_info_str())) break;
    }
    arguments.emplace_back(DNNL_ARG_SRC, laid(x, description.src_desc()));
    weights(arguments, description.weights_desc());
    const int made = result_for(description.dst_desc(), kept);
    arguments.emplace_back(DNNL_ARG_DST, made);
    use_threads(workers_for(g.products()));
    add("convolution", description, std::move(arguments), g.products());
    return bounded(made, [this, sum, kept] { return after_all(sum(), kept); });
}

int Program::convolution(int x, std::int64_t key, const AnyArray& weight, std::int64_t bias_key,
                         const std::optional<AnyArray>& bias, const Dims& stride, const Dims& padding, const Dims& dilation,
                         std::int64_t groups, const std::vector<After>& after) {
    const Geometry<2> g = geometry(shape(x), weight.shape(), stride, padding, dilation, groups);
    expect_type(x, weight, bias);
    const double heaviest = store_->heaviest(key, weight);
    const double added = bias ? largest_value(bias->type(), bias->data(), count_of(bias->shape())) : 0;
    return convolve(g, x, bias.has_value(), after, [&](Arguments& arguments, const Layout& wanted) {
        // Taps that meet nothing but padding are left out, which depends on the sizes: such a weight is another to the store.
        const void* first = static_cast<const char*>(weight.data()) + g.offset * static_cast<std::int64_t>(size_of_value(weight.type()));
        const Layout plain_weight = describe(g.grouped_weight(), g.grouped_strides(row_major_strides(g.whole)), weight.kind());
        const std::int64_t part = (key + 1) * (std::int64_t{1} << 32) + g.offset;
        arguments.emplace_back(DNNL_ARG_WEIGHTS, keep(part, first, plain_weight, wanted));
        const Layout of_bias = plain_layout({g.output[1]}, weight.kind());
        if (bias) arguments.emplace_back(DNNL_ARG_BIAS, keep(bias_key, bias->data(), of_bias, of_bias));
    }, [=] { return heaviest * bound(x) + added; });
}

int Program::convolution_with(int x, int weight, int bias, const Dims& stride, const Dims& padding, const Dims& dilation,
                              std::int64_t groups, const std::vector<After>& after) {
    const Geometry<2> g = geometry(shape(x), shape(weight), stride, padding, dilation, groups);
    expect_no_small_groups(g);
    return convolve(g, x, bias >= 0, after, [&](Arguments& arguments, const Layout& wanted) {
        arguments.emplace_back(DNNL_ARG_WEIGHTS, laid(taps_of(weight, g), wanted));
        if (bias >= 0) arguments.emplace_back(DNNL_ARG_BIAS, plain(bias));
    }, [=, terms = static_cast<double>(g.products() / count_of(g.output))] {
        return terms * bound(x) * bound(weight) + (bias >= 0 ? bound(bias) : 0);
    });
}

}  // namespace workbench::compiled
