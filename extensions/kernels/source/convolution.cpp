// Convolution over two or three dimensions in float32 or bfloat16 and its two gradients, through oneDNN.
//
// Activations are channels-last. Weights come as plain [O, I/groups, ...]; oneDNN chooses its own packed layout for
// them (asking for the plain one with channels-last activations falls to its reference code, 100x slower). Training
// repacks at every call, since the weights change; PackedConv2d packs once.
#include "convolution.hpp"

#include <atomic>

#include <nanobind/stl/array.h>

#include "engine.hpp"
#include "convolution_geometry.hpp"
#include "convolution_patches.hpp"
#include "grouped_convolution.hpp"
#include "narrow_input_gradient.hpp"
#include "pooling.hpp"
#include "threads.hpp"
#include "wide_groups.hpp"

namespace workbench {
namespace {

// What a call binds its data to; made once and handed on from call to call.
struct Seat {
    dnnl::memory input, weight, plain_weight, bias, output, room;
    std::unordered_map<int, dnnl::memory> arguments, repacked;
};

// A primitive and what its memories look like. `weight` is in oneDNN's own layout; `repack` goes between it and the plain
// layout.
struct Prepared {
    struct Roles {
        int input, weight, output;  // as oneDNN's primitive calls them
        bool weight_is_result;
    };
    Roles roles;
    Shared primitive, repack;
    dnnl::memory::desc input, weight, plain_weight, bias, output;
    std::string implementation;
    mutable std::atomic<Seat*> spare{nullptr};

    Prepared() = default;
    Prepared(const Prepared&) = delete;
    ~Prepared() { delete spare.load(); }

    // As zeros, which are multiplied like any other value.
    bool writes_padding() const { return implementation.find("gemm") != std::string::npos; }

    std::unique_ptr<Seat> new_seat() const {
        auto seat = std::make_unique<Seat>();
        seat->input = unbound(input), seat->output = unbound(output);
        seat->weight = unbound(weight), seat->plain_weight = unbound(plain_weight);
        seat->arguments = {{roles.input, seat->input}, {roles.weight, seat->weight}, {roles.output, seat->output}};
        if (bias) seat->arguments.emplace(DNNL_ARG_BIAS, seat->bias = unbound(bias));
        if (primitive.room_bytes()) seat->arguments.emplace(DNNL_ARG_SCRATCHPAD, seat->room = unbound(primitive.room()));
        seat->repacked = {{roles.weight_is_result ? DNNL_ARG_TO : DNNL_ARG_FROM, seat->plain_weight},
                          {roles.weight_is_result ? DNNL_ARG_FROM : DNNL_ARG_TO, seat->weight}};
        return seat;
    }
    template <typename T>
    Buffer<T> new_weight() const {
        return Buffer<T>(static_cast<std::int64_t>(weight.get_size() / sizeof(T)) + 64 / sizeof(T));
    }
};

// One call of a primitive that others may be calling too: it has a seat to itself.
class Call {
   public:
    explicit Call(const Prepared& prepared) : prepared_(prepared), seat_(prepared.spare.exchange(nullptr)) {
        if (!seat_) seat_ = prepared.new_seat();
    }
    Call(const Call&) = delete;
    ~Call() {
        Seat* none = nullptr;
        if (prepared_.spare.compare_exchange_strong(none, seat_.get())) seat_.release();
    }
    // Between the plain weight and oneDNN's.
    void repack(const void* plain, const void* weight) {
        bind(seat_->plain_weight, plain), bind(seat_->weight, weight);
        prepared_.repack.with_room(seat_->repacked);
    }
    void run(const void* input, const void* weight, const void* output, const void* bias = nullptr) {
        bind(seat_->input, input), bind(seat_->weight, weight), bind(seat_->output, output);
        if (bias) bind(seat_->bias, bias);
        Buffer<std::uint8_t> room;
        if (seat_->room) {
            room = Buffer<std::uint8_t>(prepared_.primitive.room_bytes());
            bind(seat_->room, room.data());
        }
        prepared_.primitive(seat_->arguments);
        stream().wait();
    }

   private:
    const Prepared& prepared_;
    std::unique_ptr<Seat> seat_;
};

using Cache = RecentlyUsed<Prepared>;
Cache& cache() {
    static Cache* instance = new Cache(primitives_kept);
    return *instance;
}

template <typename T, std::size_t N>
dnnl::convolution_forward::primitive_desc forward_description(const Geometry<N>& g, bool bias, bool relu) {
    dnnl::primitive_attr attributes = with_own_room();
    if (relu) {
        dnnl::post_ops after;
        after.append_eltwise(dnnl::algorithm::eltwise_relu, 0.f, 0.f);
        attributes.set_post_ops(after);
    }
    const auto bias_memory = bias ? describe({g.output[1]}, {1}, kind_of<T>) : dnnl::memory::desc();
    return dnnl::convolution_forward::primitive_desc(
        engine(), dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, g.template input_memory<T>(),
        describe_freely(g.grouped_weight(), kind_of<T>), bias_memory, g.template output_memory<T>(), g.strides(), g.gaps(), g.before(), g.after(),
        attributes);
}

template <typename T, std::size_t N, typename Description>
std::shared_ptr<Prepared> prepare(const Geometry<N>& g, const Description& description, const dnnl::memory::desc& weight,
                                  Prepared::Roles roles) {
    auto prepared = std::make_shared<Prepared>();
    prepared->roles = roles;
    prepared->primitive = Shared(description);
    prepared->implementation = description.impl_info_str();
    prepared->input = g.template input_memory<T>();
    prepared->output = g.template output_memory<T>();
    prepared->weight = weight;
    prepared->plain_weight = g.template plain_weight<T>();
    prepared->repack = roles.weight_is_result ? repacking(prepared->weight, prepared->plain_weight)
                                              : repacking(prepared->plain_weight, prepared->weight);
    return prepared;
}

// Products of matrices write padding out as zeros, as our own code does: not where it meets what is infinite.
template <typename Description>
void pass_over_products(Description& description, bool asked) {
    while (asked && std::string(description.impl_info_str()).find("gemm") != std::string::npos)
        if (!description.next_impl()) return;
}

template <typename T, std::size_t N>
std::shared_ptr<const Prepared> prepare_forward(const Geometry<N>& g, bool bias, bool relu, bool no_products = false) {
    return cache().get(g.key({0, sizeof(T), bias, relu, no_products}), [&] {
        auto description = forward_description<T>(g, bias, relu);
        pass_over_products(description, no_products);
        const auto prepared = prepare<T>(g, description, description.weights_desc(),
                                      {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, false});
        if (bias) prepared->bias = describe({g.output[1]}, {1}, kind_of<T>);
        return prepared;
    });
}

template <typename T, std::size_t N>
std::shared_ptr<const Prepared> prepare_input_gradient(const Geometry<N>& g) {
    return cache().get(g.key({1, sizeof(T)}), [&] {
        const auto description = dnnl::convolution_backward_data::primitive_desc(
            engine(), dnnl::algorithm::convolution_direct, g.template input_memory<T>(), describe_freely(g.grouped_weight(), kind_of<T>),
            g.template output_memory<T>(), g.strides(), g.gaps(), g.before(), g.after(), forward_description<T>(g, false, false),
            with_own_room());
        return prepare<T>(g, description, description.weights_desc(),
                       {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, false});
    });
}

// Of what it is given as T it makes sums in W, which become T on their way to the plain layout.
template <typename T, std::size_t N, typename W = T>
std::shared_ptr<const Prepared> prepare_weight_gradient(const Geometry<N>& g, bool no_products = false) {
    return cache().get(g.key({2, sizeof(T), sizeof(W), no_products}), [&] {
        auto description = dnnl::convolution_backward_weights::primitive_desc(
            engine(), dnnl::algorithm::convolution_direct, g.template input_memory<T>(), describe_freely(g.grouped_weight(), kind_of<W>),
            g.template output_memory<T>(), g.strides(), g.gaps(), g.before(), g.after(), forward_description<T>(g, false, false),
            with_own_room());
        pass_over_faulty_gathering(description, g);
        pass_over_products(description, no_products);
        return prepare<T>(g, description, description.diff_weights_desc(),
                       {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, true});
    });
}

template <typename T>
using Bias = std::optional<Input<T>>;

// Channel biases of a convolution, densely; refuses a wrong length.
template <typename T>
std::optional<Dense<T>> dense_bias(const Bias<T>& bias, std::int64_t channels, const std::string& name) {
    if (!bias) return std::nullopt;
    if (bias->ndim() != 1 || static_cast<std::int64_t>(bias->shape(0)) != channels)
        refuse(name + " bias has shape " + text(shape_of(*bias)) + "; expected [" + std::to_string(channels) + "]");
    return row_major(*bias);
}

template <typename T, std::size_t N>
void check_gradient_shape(const Input<T>& gradient, const Geometry<N>& g) {
    if (shape_of(gradient) != g.output)
        refuse(g.name() + " output gradient has shape " + text(shape_of(gradient)) + "; expected " + text(g.output));
}

// Empty sums: the output of a convolution over nothing is its bias.
template <typename T>
void fill_channels(T* out, const Dims& shape, const T* values, bool relu = false) {
    const std::int64_t channels = shape[1], rows = count_of(shape) / std::max<std::int64_t>(1, channels);
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t c = 0; c < channels; ++c) out[row * channels + c] = values && !(relu && values[c] < 0.f) ? values[c] : T(0.f);
}

// Our own code writes padding out as zeros, which an infinite weight or gradient would make NaN of, where oneDNN passes over it. So
// each of these says whether the result stands; what is rectified on the way out is oneDNN's too.
template <typename T, std::size_t N>
bool convolve_groups([[maybe_unused]] const Geometry<N>& g, [[maybe_unused]] const Input<T>& x, [[maybe_unused]] const T* weight,
                     [[maybe_unused]] const T* bias, [[maybe_unused]] bool relu, [[maybe_unused]] T* out) {
    if constexpr (std::is_same_v<T, float> && N == 2) {
        const bool few = takes_groups(g);
        if (relu || !(few || takes_wide_groups(g)) || (g.pads() && !all_finite(weight, count_of(g.whole)))) return false;
        few ? grouped_convolution(g, x, weight, bias, out) : wide_group_convolution(g, x, weight, bias, out);
        return true;
    }
    return false;
}

template <typename T, std::size_t N>
bool group_input_gradient([[maybe_unused]] const Geometry<N>& g, [[maybe_unused]] const Input<T>& gradient,
                          [[maybe_unused]] const T* weight, [[maybe_unused]] T* out) {
    if constexpr (std::is_same_v<T, float> && N == 2) {
        const bool few = takes_groups(g);
        // Places at the border meet fewer windows than others, padded or not.
        if (!(few || takes_wide_groups(g)) || !all_finite(weight, count_of(g.whole))) return false;
        few ? grouped_input_gradient(g, gradient, weight, out) : wide_group_input_gradient(g, gradient, weight, out);
        return true;
    }
    return false;
}

template <typename T, std::size_t N>
bool group_weight_gradient([[maybe_unused]] const Geometry<N>& g, [[maybe_unused]] const Input<T>& gradient,
                           [[maybe_unused]] const Input<T>& x, [[maybe_unused]] T* out) {
    if constexpr (std::is_same_v<T, float> && N == 2) {
        const bool few = takes_groups(g);
        if (!(few || takes_wide_groups(g))) return false;
        few ? grouped_weight_gradient(g, gradient, x, out) : wide_group_weight_gradient(g, gradient, x, out);
        return !g.pads() || all_finite(out, count_of(g.whole));
    }
    return false;
}

template <typename T, std::size_t N>
void convolve(const Geometry<N>& g, const T* input, const T* weight, const T* bias, bool relu, T* out) {
    if constexpr (std::is_same_v<T, bfloat16>)
        if (has_fewer_places_than_channels(g)) return convolve_few_places(g, input, weight, bias, relu, out);
    auto prepared = prepare_forward<T>(g, bias != nullptr, relu);
    if constexpr (std::is_same_v<T, float>)
        if (g.pads() && prepared->writes_padding() && !all_finite(weight, count_of(g.whole)))
            prepared = prepare_forward<T>(g, bias != nullptr, relu, true);
    const auto packed = prepared->template new_weight<T>();
    Call call(*prepared);
    call.repack(weight + g.offset, packed.data());
    call.run(input, packed.data(), out, bias);
}

template <typename T, std::size_t N>
nb::object conv(const Input<T>& x, const Input<T>& weight, const Bias<T>& bias, Along<N> stride, Along<N> padding,
                  Along<N> dilation, std::int64_t groups, bool relu) {
    const Geometry<N> g(shape_of(x), shape_of(weight), stride, padding, dilation, groups);
    auto out = Output<T>::channels_last(g.output);
    {
        KernelScope scope(g.products());
        const auto biases = dense_bias(bias, g.output[1], g.name());
        if (g.empty()) {
            fill_channels(out.data(), g.output, biases ? biases->data() : nullptr, relu);
        } else {
            const auto weights = row_major(weight);
            const T* bias_values = biases ? biases->data() : nullptr;
            if (!convolve_groups(g, x, weights.data(), bias_values, relu, out.data()))
                convolve(g, channels_last(x).data(), weights.data(), bias_values, relu, out.data());
        }
    }
    return out.to_python();
}

template <typename T, std::size_t N>
void input_gradient(const Geometry<N>& g, const T* gradients, const T* weight, T* out) {
    if constexpr (std::is_same_v<T, bfloat16>)
        if (has_fewer_places_than_channels(g)) return input_gradient_of_few_places(g, gradients, weight, out);
    if constexpr (std::is_same_v<T, float> && N == 2)
        if (takes_narrow_input(g)) return narrow_input_gradient(g, gradients, weight, out);
    const auto prepared = prepare_input_gradient<T>(g);
    const auto packed = prepared->template new_weight<T>();
    Call call(*prepared);
    call.repack(weight + g.offset, packed.data());
    call.run(out, packed.data(), gradients);
}

template <typename T, std::size_t N>
nb::object conv_input_gradient(const Input<T>& gradient, const Input<T>& weight, const Dims& input_shape,
                                 Along<N> stride, Along<N> padding, Along<N> dilation, std::int64_t groups) {
    const Geometry<N> g(input_shape, shape_of(weight), stride, padding, dilation, groups);
    check_gradient_shape(gradient, g);
    auto out = Output<T>::channels_last(g.input);
    {
        KernelScope scope(g.products());
        if (g.empty()) {
            fill_channels<T>(out.data(), g.input, nullptr);
        } else {
            const auto weights = row_major(weight);
            if (!group_input_gradient(g, gradient, weights.data(), out.data()))
                input_gradient(g, channels_last(gradient).data(), weights.data(), out.data());
        }
    }
    return out.to_python();
}

// oneDNN's threads wait for each other several times within this product of bfloat16, and they wait by spinning: where the
// machine has other work, each time costs a time slice, and a step that takes 40 ms took 3 s. So each of our threads has
// images of its own, and the sums are added, as floats, when all are there. False, and nothing done, where oneDNN would lay
// the sums of fewer images out in another way.
template <std::size_t N>
bool weight_gradient_by_images(const Geometry<N>& g, std::int64_t parts, const bfloat16* gradients, const bfloat16* input,
                               bfloat16* out) {
    const int workers = omp_get_max_threads();
    omp_set_num_threads(1);
    const std::int64_t images = g.input[0];
    std::vector<std::shared_ptr<const Prepared>> prepared;
    std::vector<Buffer<float>> sums;
    for (std::int64_t part = 0; part < parts; ++part) {
        Geometry<N> own = g;
        own.input[0] = own.output[0] = images * (part + 1) / parts - images * part / parts;
        prepared.push_back(prepare_weight_gradient<bfloat16, N, float>(own));
        sums.push_back(prepared.back()->template new_weight<float>());
    }
    omp_set_num_threads(workers);
    for (const auto& one : prepared)
        if (one->weight != prepared[0]->weight) return false;
    const std::int64_t seen = count_of(g.input) / images, made = count_of(g.output) / images;
    parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = begin; part < end; ++part) {
            const std::int64_t first = images * part / parts;
            Call(*prepared[part]).run(input + first * seen, sums[part].data(), gradients + first * made);
        }
    });
    const std::int64_t count = static_cast<std::int64_t>(prepared[0]->weight.get_size() / sizeof(float));
    parallel_for(count, 1 << 17, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t part = 1; part < parts; ++part)
            for (std::int64_t i = begin; i < end; ++i) sums[0].data()[i] += sums[part].data()[i];
    });
    if (g.shortened()) std::fill_n(out, count_of(g.whole), bfloat16(0.f));
    Call(*prepared[0]).repack(out + g.offset, sums[0].data());
    stream().wait();
    return true;
}

template <typename T, std::size_t N>
void weight_gradient(const Geometry<N>& g, const T* gradients, const T* input, T* out) {
    if constexpr (std::is_same_v<T, bfloat16>) {
        if (has_few_places(g)) return weight_gradient_of_few_places(g, gradients, input, out);
        // As many floats as the sums may take.
        constexpr std::int64_t most = std::int64_t{1} << 25;
        const std::int64_t parts = std::min<std::int64_t>(
            {omp_get_max_threads(), g.input[0], std::max<std::int64_t>(1, most / count_of(g.weight))});
        if (parts > 1 && weight_gradient_by_images(g, parts, gradients, input, out)) return;
    }
    auto prepared = prepare_weight_gradient<T>(g);
    if constexpr (std::is_same_v<T, float>)
        if (g.pads() && prepared->writes_padding() && !all_finite(gradients, count_of(g.output)))
            prepared = prepare_weight_gradient<T>(g, true);
    const auto packed = prepared->template new_weight<T>();
    Call call(*prepared);
    call.run(input, packed.data(), gradients);
    if (g.shortened()) std::fill_n(out, count_of(g.whole), T(0.f));
    call.repack(out + g.offset, packed.data());
    stream().wait();
}

template <typename T, std::size_t N>
nb::object conv_weight_gradient(const Input<T>& gradient, const Input<T>& x, const Dims& weight_shape, Along<N> stride,
                                Along<N> padding, Along<N> dilation, std::int64_t groups) {
    const Geometry<N> g(shape_of(x), weight_shape, stride, padding, dilation, groups);
    check_gradient_shape(gradient, g);
    auto out = Output<T>::row_major(g.whole);
    {
        KernelScope scope(g.products());
        if (g.empty()) {
            std::fill_n(out.data(), count_of(g.whole), T(0.f));
        } else if (!group_weight_gradient(g, gradient, x, out.data())) {
            weight_gradient(g, channels_last(gradient).data(), channels_last(x).data(), out.data());
        }
    }
    return out.to_python();
}

// Which oneDNN code would run: "forward", "input_gradient" or "weight_gradient" of this convolution.
template <typename T, std::size_t N>
std::string conv_implementation(const std::string& which, const Dims& input_shape, const Dims& weight_shape,
                                  Along<N> stride, Along<N> padding, Along<N> dilation, std::int64_t groups) {
    const Geometry<N> g(input_shape, weight_shape, stride, padding, dilation, groups);
    KernelScope scope(g.products());
    if constexpr (std::is_same_v<T, bfloat16>)
        if ((which == "forward" || which == "input_gradient") && has_fewer_places_than_channels(g)) return "windows:bf16";
    if (which == "forward") return prepare_forward<T>(g, true, false)->implementation;
    if constexpr (std::is_same_v<T, float> && N == 2)
        if (which == "input_gradient" && takes_narrow_input(g)) return "narrow:f32";
    if (which == "input_gradient") return prepare_input_gradient<T>(g)->implementation;
    if constexpr (std::is_same_v<T, bfloat16>)
        if (which == "weight_gradient" && has_few_places(g)) return "windows:bf16";
    if (which == "weight_gradient") return prepare_weight_gradient<T>(g)->implementation;
    refuse("'" + which + "' is no part of a convolution; give 'forward', 'input_gradient' or 'weight_gradient'");
}

// Weights and bias packed once, for inference: the weights are copied, so later changes to the arrays are not seen.
class PackedConv2d {
   public:
    PackedConv2d(const Input<float>& weight, const Bias<float>& bias, Along<2> stride, Along<2> padding, Along<2> dilation,
                 std::int64_t groups)
        : weight_shape_(shape_of(weight)), stride_(stride), padding_(padding), dilation_(dilation), groups_(groups) {
        if (weight_shape_.size() != 4)
            refuse("conv2d weight has shape " + text(weight_shape_) + "; expected [O, C/groups, KH, KW]");
        const std::int64_t count = count_of(weight_shape_);
        plain_ = Buffer<float>(count);
        copy_strided(plain_.data(), row_major_strides(weight_shape_), weight.data(), weight_shape_, strides_of(weight));
        if (const auto biases = dense_bias(bias, weight_shape_[0], "conv2d")) {
            bias_ = Buffer<float>(weight_shape_[0]);
            std::copy_n(biases->data(), weight_shape_[0], bias_.data());
        }
    }

    nb::object run(const Input<float>& x, bool relu, std::optional<Pair> pool) {
        const Geometry<2> g(shape_of(x), weight_shape_, stride_, padding_, dilation_, groups_);
        if (!pool) {
            auto out = Output<float>::channels_last(g.output);
            convolve(g, x, relu, out.data());
            return out.to_python();
        }
        const auto [high, wide] = *pool;
        if (high < 1 || wide < 1 || high > g.output[2] || wide > g.output[3])
            refuse("pool (" + std::to_string(high) + ", " + std::to_string(wide) + ") does not fit the output " +
                   text(g.output));
        auto out = Output<float>::channels_last({g.output[0], g.output[1], g.output[2] / high, g.output[3] / wide});
        const Buffer<float> full(count_of(g.output));
        convolve(g, x, relu, full.data());
        {
            KernelScope scope(g.products());
            max_pool_tiles(full.data(), g.output, high, wide, out.data());
        }
        return out.to_python();
    }

   private:
    void convolve(const Geometry<2>& g, const Input<float>& x, bool relu, float* out) {
        KernelScope scope(g.products());
        if (g.empty()) {
            fill_channels(out, g.output, bias_.data(), relu);
            return;
        }
        const auto input = channels_last(x);
        const auto prepared = prepare_forward<float>(g, static_cast<bool>(bias_), relu);
        const float* packed = packed_for(g, *prepared);
        Call(*prepared).run(input.data(), packed, out, bias_.data());
    }

    // Different input sizes mostly share one packed layout.
    const float* packed_for(const Geometry<2>& g, const Prepared& prepared) {
        std::lock_guard lock(packing());
        for (const auto& packed : packed_)
            if (packed.offset == g.offset && packed.layout == prepared.weight) return packed.values.data();
        auto values = prepared.new_weight<float>();
        Call(prepared).repack(plain_.data() + g.offset, values.data());
        stream().wait();
        packed_.push_back({g.offset, prepared.weight, std::move(values)});
        return packed_.back().values.data();
    }
    // One for all layers: they pack once.
    static ForkMutex& packing() {
        static auto* instance = new ForkMutex(ForkMutex::packing);
        return *instance;
    }

    const Dims weight_shape_;
    const Along<2> stride_, padding_, dilation_;
    const std::int64_t groups_;
    Buffer<float> plain_, bias_;
    struct Packed {
        std::int64_t offset;  // of the first tap
        dnnl::memory::desc layout;
        Buffer<float> values;
    };
    std::list<Packed> packed_;
};

// [N, C, 1, L] as [N, C, L], an array of its own: to NumPy it is no view.
nb::object without_height(nb::handle array) {
    const auto plane = nb::cast<nb::ndarray<float, nb::ndim<4>, nb::device::cpu>>(array);
    if (plane.shape(2) != 1) refuse("a plane of height " + std::to_string(plane.shape(2)) + " is no line");
    const std::size_t sizes[] = {plane.shape(0), plane.shape(1), plane.shape(3)};
    const std::int64_t strides[] = {plane.stride(0), plane.stride(1), plane.stride(3)};
    const nb::ndarray<nb::numpy, float> line(plane.data(), 3, sizes, array, strides);
    return nb::cast(line, nb::rv_policy::reference);
}

template <typename T, std::size_t N>
void bind_over(nb::module_& module) {
    using nb::arg;
    const std::string name = Geometry<N>::name();
    module.def(name.c_str(), &conv<T, N>, arg("x").noconvert(), arg("weight").noconvert(), arg("bias").noconvert().none(),
               nb::kw_only(), arg("stride"), arg("padding"), arg("dilation"), arg("groups"), arg("relu") = false);
    module.def((name + "_input_gradient").c_str(), &conv_input_gradient<T, N>, arg("gradient").noconvert(),
               arg("weight").noconvert(), nb::kw_only(), arg("input_shape"), arg("stride"), arg("padding"), arg("dilation"),
               arg("groups"));
    module.def((name + "_weight_gradient").c_str(), &conv_weight_gradient<T, N>, arg("gradient").noconvert(),
               arg("x").noconvert(), nb::kw_only(), arg("weight_shape"), arg("stride"), arg("padding"), arg("dilation"),
               arg("groups"));
    module.def((name + "_implementation").c_str(), &conv_implementation<T, N>, arg("which"), nb::kw_only(), arg("input_shape"),
               arg("weight_shape"), arg("stride"), arg("padding"), arg("dilation"), arg("groups"));
}

}  // namespace

void bind_convolution(nb::module_& module) {
    using nb::arg;
    module.def("without_height", &without_height, arg("plane").noconvert());
    bind_over<float, 2>(module);
    bind_over<float, 3>(module);
    nb::module_ half = bfloat16_module(module);
    bind_over<bfloat16, 2>(half);
    bind_over<bfloat16, 3>(half);
    nb::class_<PackedConv2d>(module, "PackedConv2d")
        .def(nb::init<const Input<float>&, const Bias<float>&, Along<2>, Along<2>, Along<2>, std::int64_t>(), arg("weight").noconvert(),
             arg("bias").noconvert().none(), nb::kw_only(), arg("stride"), arg("padding"), arg("dilation"),
             arg("groups"))
        .def("run", &PackedConv2d::run, arg("x").noconvert(), arg("relu") = false, arg("pool") = nb::none());
}

}  // namespace workbench
