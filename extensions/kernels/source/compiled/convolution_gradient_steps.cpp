// Gradients of convolutions, in the layouts that forward and backward share: nothing is turned between convolutions.
#include <cstring>

#include "../narrow_input_gradient.hpp"
#include "convolution_steps.hpp"

namespace workbench::compiled {
namespace {

Layout any(const Dims& sizes) { return any_floats(sizes); }

// oneDNN asks for the forward that a gradient is of; it need not be one that ran.
dnnl::convolution_forward::primitive_desc forward_of(const Geometry<2>& g, const Layout& x, const Layout& result) {
    return dnnl::convolution_forward::primitive_desc(engine(), dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x,
                                                     any(g.grouped_weight()), Layout(), result, g.strides(), g.gaps(), g.before(),
                                                     g.after(), with_own_room());
}

}  // namespace

// The taps that count of a weight that a run is given.
int Program::taps_of(int weight, const Geometry<2>& g) {
    const int from = plain(weight);
    return add_slot_in(taps_layout(g, whole_layout(g)), at(from).space, true);
}

int Program::convolution_input_gradient(int gradient, int weight, const Dims& input, const Dims& stride, const Dims& padding,
                                        const Dims& dilation, std::int64_t groups) {
    const Geometry<2> g = geometry(input, shape(weight), stride, padding, dilation, groups);
    expect_no_small_groups(g);
    if (shape(gradient) != g.output) refuse("a convolution's gradient has shape " + text(shape(gradient)) + "; expected " + text(g.output));
    if (takes_narrow_input(g)) return narrow_input_gradient(g, gradient, weight);
    use_threads(workers_for(g.products()));
    std::vector<Layout> layouts{any(g.output)};
    if (at(gradient).settled) layouts.insert(layouts.begin(), at(gradient).layout);
    dnnl::convolution_backward_data::primitive_desc description;
    for (const Layout& layout : layouts) {
        description = dnnl::convolution_backward_data::primitive_desc(
            engine(), dnnl::algorithm::convolution_direct, any(g.input), any(g.grouped_weight()), layout, g.strides(), g.gaps(), g.before(),
            g.after(), forward_of(g, any(g.input), layout), with_own_room());
        if (!is_slow(description.impl_info_str())) break;
    }
    const int made = add_slot(description.diff_src_desc(), true);
    Arguments arguments{{DNNL_ARG_DIFF_DST, laid(gradient, description.diff_dst_desc())},
                        {DNNL_ARG_WEIGHTS, laid(taps_of(weight, g), description.weights_desc())},
                        {DNNL_ARG_DIFF_SRC, made}};
    use_threads(workers_for(g.products()));
    add("convolution's input gradient", description, std::move(arguments), g.products());
    return made;
}

int Program::narrow_input_gradient(const Geometry<2>& g, int gradient, int weight) {
    const int lying = laid(gradient, describe_floats(g.output, channels_last_strides(g.output))), values = plain(weight);
    const int made = add_slot(describe_floats(g.input, channels_last_strides(g.input)), true);
    add_loop("convolution's input gradient own", {lying, values, made}, workers_for(g.products()), [g](void* const* at) {
        workbench::narrow_input_gradient(g, static_cast<const float*>(at[0]), static_cast<const float*>(at[1]), static_cast<float*>(at[2]));
    });
    return made;
}

std::vector<int> Program::convolution_weight_gradient(int gradient, int x, const Dims& weight, const Dims& stride, const Dims& padding,
                                                      const Dims& dilation, std::int64_t groups, bool bias) {
    const Geometry<2> g = geometry(shape(x), weight, stride, padding, dilation, groups);
    expect_no_small_groups(g);
    if (shape(gradient) != g.output) refuse("a convolution's gradient has shape " + text(shape(gradient)) + "; expected " + text(g.output));
    use_threads(workers_for(g.products()));
    // As the gradient lies, and the input too if code is made for both; else the input as that code wants it.
    std::vector<std::pair<Layout, Layout>> layouts;
    if (at(gradient).settled && at(x).settled) layouts.emplace_back(at(x).layout, at(gradient).layout);
    if (at(gradient).settled) layouts.emplace_back(any(g.input), at(gradient).layout);
    layouts.emplace_back(any(g.input), any(g.output));
    const Dims channels{g.output[1]};
    dnnl::convolution_backward_weights::primitive_desc description;
    for (const auto& [of_x, of_gradient] : layouts) {
        description = dnnl::convolution_backward_weights::primitive_desc(
            engine(), dnnl::algorithm::convolution_direct, of_x, any(g.grouped_weight()), bias ? plain_layout(channels) : Layout(),
            of_gradient, g.strides(), g.gaps(), g.before(), g.after(), forward_of(g, of_x, of_gradient), with_own_room());
        pass_over_faulty_gathering(description, g);
        if (!is_slow(description.impl_info_str())) break;
    }
    const int packed = add_slot(description.diff_weights_desc(), true), of_bias = bias ? add_plain(channels) : -1;
    Arguments arguments{{DNNL_ARG_DIFF_DST, laid(gradient, description.diff_dst_desc())},
                        {DNNL_ARG_SRC, laid(x, description.src_desc())},
                        {DNNL_ARG_DIFF_WEIGHTS, packed}};
    if (bias) arguments.emplace_back(DNNL_ARG_DIFF_BIAS, of_bias);
    use_threads(workers_for(g.products()));
    add("convolution's weight gradient", description, std::move(arguments), g.products());

    const int whole = add_plain(g.whole);
    if (g.shortened()) {
        const std::size_t bytes = at(whole).layout.get_size();
        add_loop("zeros", {whole}, thread_count(), [bytes](void* const* places) {
            parallel_for(static_cast<std::int64_t>(bytes), 1 << 20, [&](std::int64_t begin, std::int64_t end) {
                std::memset(static_cast<char*>(places[0]) + begin, 0, static_cast<std::size_t>(end - begin));
            });
        });
    }
    const int taps = add_slot_in(taps_layout(g, whole_layout(g)), at(whole).space, true);
    use_threads(thread_count());
    const dnnl::reorder::primitive_desc turn(engine(), at(packed).layout, engine(), at(taps).layout, with_own_room());
    add("turn", turn, {{DNNL_ARG_FROM, packed}, {DNNL_ARG_TO, taps}}, static_cast<std::int64_t>(at(packed).layout.get_size()) * 8);
    return bias ? std::vector<int>{whole, of_bias} : std::vector<int>{whole};
}

}  // namespace workbench::compiled
