// Steps on codes: a slot of bytes has no scale of its own, each step is told those of what it reads and of what it gives. What is
// computed is what the eager kernels compute, to the last bit, by the same loops on weights that were packed once for both.
#include "../quantized_convolution.hpp"

#include "../codes.hpp"
#include "../codes_average.hpp"
#include "../pooling.hpp"
#include "../quantize.hpp"
#include "../quantized_linear.hpp"
#include "steps.hpp"

#define WORKBENCH_LEAVES "leaves/quantize.inl"
#define WORKBENCH_LEAVES_WIDE
#include "../dispatch.hpp"

namespace workbench::compiled {
namespace {

constexpr std::int64_t bytes_of_a_thread = 1 << 15;

const std::uint8_t* bytes(const void* place) { return static_cast<const std::uint8_t*>(place); }

}  // namespace

// Planes have their channels last, as the kernels of layers read them.
int Program::images_of_codes(int x) {
    const Dims sizes = shape(x);
    return sizes.size() == 4 ? laid(x, describe(sizes, channels_last_strides(sizes), at(x).layout.get_data_type())) : plain(x);
}

// Room for codes that lie as the values of `like` do; of other sizes they lie as `images_of_codes` lays them.
int Program::add_codes(int like, const Dims& sizes, Storage type) {
    const Kind kind = kind_of_values(type);
    const bool alike = like >= 0 && shape(like) == sizes && !at(like).layout.get_inner_nblks();
    const Dims strides = alike ? Dims(at(like).layout.get_strides())
                         : sizes.size() == 4 ? channels_last_strides(sizes) : row_major_strides(sizes);
    const int slot = add_slot_of(type, sizes.empty() ? plain_layout(sizes, kind) : describe(sizes, alike && at(like).single ? Dims{} : strides, kind), true);
    slots_.back().single = sizes.empty();
    return bounded(slot, [] { return 255.0; });
}

int Program::quantize(int x, const Grading& grading, Storage type) {
    if (!fills_memory(x)) x = plain(x);
    const Dims sizes = shape(x);
    // Images as they are read from files become what layers read at once.
    const bool pixels = sizes.size() == 4 && sizes[1] > 1 && sizes[1] <= 4 && !at(x).layout.get_inner_nblks() &&
                        Dims(at(x).layout.get_strides()) == row_major_strides(sizes);
    const std::int64_t channels = pixels ? sizes[1] : 1, count = count_of(sizes) / channels, plane = pixels ? sizes[2] * sizes[3] : count;
    const int made = pixels ? add_codes(-1, sizes, type) : add_codes(x, sizes, type);
    add_loop("quantize own", {x, made}, workers_for(8 * count * channels), [=](void* const* places) {
        const float scale = static_cast<float>(grading.scale), inverse = 1.f / scale, zero = static_cast<float>(grading.zero);
        const float low = static_cast<float>(grading.low), high = static_cast<float>(grading.high);
        const Grid grid{&scale, &inverse, &zero, 0};
        const auto run = [&](const float* from, std::int64_t many, auto* to, auto together, auto apart) {
            if (pixels)
                together(from, plane, channels, grid, many, low, high, to);
            else
                apart(from, grid, many, low, high, to);
        };
        parallel_for(count, bytes_of_a_thread / channels, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t at = begin, next; at < end; at = next) {
                const std::int64_t image = at / plane;
                next = std::min(end, (image + 1) * plane);
                const float* from = static_cast<const float*>(places[0]) + at + image * (channels - 1) * plane;
                if (type == Storage::qint8)
                    run(from, next - at, static_cast<std::int8_t*>(places[1]) + at * channels, LEAF_WIDE(quantize_signed_pixels), LEAF_WIDE(quantize_signed));
                else
                    run(from, next - at, static_cast<std::uint8_t*>(places[1]) + at * channels, LEAF_WIDE(quantize_unsigned_pixels), LEAF_WIDE(quantize_unsigned));
            }
        });
    });
    return made;
}

int Program::dequantize(int x, double scale, std::int64_t zero) {
    if (!fills_memory(x)) x = plain(x);
    const std::int64_t count = count_of(shape(x));
    const int made = add_codes(x, shape(x), Storage::float32);
    add_loop("dequantize own", {x, made}, workers_for(8 * count), [=, is_signed = type(x) == Storage::qint8](void* const* places) {
        const float by = static_cast<float>(scale), inverse = 1.f / by, from_zero = static_cast<float>(zero);
        auto* to = static_cast<float*>(places[1]);
        parallel_for(count, bytes_of_a_thread, [&](std::int64_t begin, std::int64_t end) {
            const Grid grid{&by, &inverse, &from_zero, 0};
            if (is_signed)
                LEAF_WIDE(dequantize_signed)(static_cast<const std::int8_t*>(places[0]) + begin, grid, end - begin, to + begin);
            else
                LEAF_WIDE(dequantize_unsigned)(bytes(places[0]) + begin, grid, end - begin, to + begin);
        });
    });
    const double most = 511 * std::abs(scale);
    return bounded(made, [most] { return most; });
}

int Program::look_up(int x, const Plain<std::uint8_t>& table) {
    if (shape_of(table) != Dims{256}) refuse("a table of codes has shape " + text(shape_of(table)) + "; expected [256]");
    if (!fills_memory(x)) x = plain(x);
    const std::int64_t count = count_of(shape(x));
    const int made = add_codes(x, shape(x), type(x));
    std::vector<std::uint8_t> kept(table.data(), table.data() + 256);
    add_loop("look up codes own", {x, made}, workers_for(4 * count), [=, kept = std::move(kept)](void* const* places) {
        parallel_for(count, bytes_of_a_thread, [&](std::int64_t begin, std::int64_t end) {
            look_up_codes(bytes(places[0]) + begin, kept.data(), end - begin, static_cast<std::uint8_t*>(places[1]) + begin);
        });
    });
    return made;
}

int Program::quantized_convolution(int x, std::shared_ptr<PackedQuantizedConv2d> layer, const Quantization& q, std::int64_t least, bool pool,
                                   const std::optional<CodesSum>& sum, int added) {
    x = images_of_codes(x);
    store_->count(layer, layer->bytes());
    auto prepared = std::make_shared<PackedQuantizedConv2d::Prepared>(layer->prepare(shape(x), q, pool));
    prepared->clamp(least, 255);
    // The layer before fetches the first weights of this one.
    prepared->layer = layer;
    if (codes_before_) codes_before_->next = prepared;
    codes_before_ = prepared;
    const Dims result = prepared->result();
    if (sum && shape(added) != result) refuse("codes of " + text(shape(added)) + " are added to those of " + text(result));
    if (sum) added = images_of_codes(added);
    const int made = add_codes(-1, result, Storage::quint8);
    std::vector<int> slots{x};
    if (sum) slots.push_back(added);
    slots.push_back(made);
    products_of_codes_ += layer->products_of(count_of(result));
    add_loop(sum ? "convolution of codes own, sum" : "convolution of codes own", slots, thread_count(),
             [=, prepared = std::move(prepared)](void* const* places) {
                 auto* to = static_cast<std::uint8_t*>(places[sum ? 2 : 1]);
                 prepared->layer->convolve(bytes(places[0]), *prepared, to, sum ? &*sum : nullptr, sum ? bytes(places[1]) : nullptr);
             });
    return made;
}

int Program::quantized_linear(int x, std::shared_ptr<PackedQuantizedLinear> layer, const Quantization& q, std::int64_t least, bool codes) {
    x = plain(x);
    Dims sizes = shape(x);
    if (sizes.empty() || sizes.back() != layer->inputs())
        refuse("quantized linear input has shape " + text(sizes) + "; expected [..., " + std::to_string(layer->inputs()) + "]");
    const std::int64_t rows = count_of(sizes) / layer->inputs();
    store_->count(layer, layer->bytes());
    sizes.back() = layer->outputs();
    const int made = add_plain(sizes, codes ? Storage::quint8 : Storage::float32);
    products_of_codes_ += layer->products_of(rows);
    add_loop("linear of codes own", {x, made}, thread_count(), [=, layer = std::move(layer)](void* const* places) {
        const QuantizedTarget to{codes ? static_cast<std::uint8_t*>(places[1]) : nullptr, codes ? nullptr : static_cast<float*>(places[1]),
                                 nullptr, nullptr};
        layer->multiply(bytes(places[0]), rows, q, least, to);
    });
    return made;
}

int Program::sum_of_codes(int a, int b, const CodesSum& sum) {
    if (shape(a) != shape(b)) refuse("codes of " + text(shape(a)) + " and of " + text(shape(b)) + " are added");
    a = images_of_codes(a), b = images_of_codes(b);
    const std::int64_t count = count_of(shape(a));
    const int made = add_codes(a, shape(a), Storage::quint8);
    add_loop("sum of codes own", {a, b, made}, workers_for(8 * count), [=](void* const* places) {
        parallel_for(count, bytes_of_a_thread, [&](std::int64_t begin, std::int64_t end) {
            sum_codes(bytes(places[0]) + begin, bytes(places[1]) + begin, sum, end - begin, static_cast<std::uint8_t*>(places[2]) + begin);
        });
    });
    return made;
}

int Program::quantized_max_pool(int x, Pair kernel, Pair stride, Pair padding, Pair dilation) {
    if (type(x) != Storage::quint8) refuse("only unsigned codes are pooled");
    x = images_of_codes(x);
    const Dims sizes = shape(x);
    const int made = add_codes(-1, max_pool_sizes(sizes, kernel, stride, padding, dilation), Storage::quint8);
    add_loop("largest codes of windows own", {x, made}, thread_count(), [=](void* const* places) {
        max_pool_codes(bytes(places[0]), sizes, kernel, stride, padding, dilation, static_cast<std::uint8_t*>(places[1]));
    });
    return made;
}

int Program::mean_of_codes(int x, std::int64_t zero) {
    const Dims sizes = shape(x);
    if (type(x) != Storage::quint8 || sizes.size() != 4) refuse("only planes of unsigned codes have means here");
    if (sizes[2] * sizes[3] > (1 << 22)) refuse("32 bits may not hold the sum of a plane of more than 2^22 codes");
    x = images_of_codes(x);
    const int made = add_codes(-1, {sizes[0], sizes[1], 1, 1}, Storage::quint8);
    add_loop("mean of codes own", {x, made}, workers_for(8 * count_of(sizes)), [=](void* const* places) {
        average_planes_of_codes(bytes(places[0]), sizes, static_cast<std::int32_t>(zero), static_cast<std::uint8_t*>(places[1]));
    });
    return made;
}

}  // namespace workbench::compiled
