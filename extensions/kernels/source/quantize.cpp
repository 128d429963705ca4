// Quantize, dequantize and fake-quantize: per tensor, or per channel of one axis.
#include "quantize.hpp"

#include <cmath>

#define WORKBENCH_LEAVES "leaves/quantize.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

using Scales = Input<double>;
using ZeroPoints = Input<std::int64_t>;

// The grid of every element of an array in the order of its memory: constant over stretches of `stretch` elements,
// or, when the channels lie innermost (`along`), one value an element of each stretch.
class Layout {
   public:
    Layout(const Dims& shape, const Dims& order, const Scales& scales, const ZeroPoints& zeros, std::int64_t axis) {
        const bool per_tensor = axis < 0;
        const std::int64_t rank = static_cast<std::int64_t>(shape.size());
        if (!per_tensor && axis >= rank)
            refuse("quantization axis " + std::to_string(axis) + " of shape " + text(shape));
        channels_ = per_tensor ? 1 : shape[static_cast<std::size_t>(axis)];
        if (shape_of(scales) != Dims{channels_} || shape_of(zeros) != Dims{channels_})
            refuse("quantization has " + text(shape_of(scales)) + " scales and " + text(shape_of(zeros)) +
                   " zero points; expected [" + std::to_string(channels_) + "] of each");
        for (std::int64_t c = 0; c < channels_; ++c) {
            const float scale = static_cast<float>(scales.data()[c * scales.stride(0)]);
            scales_.push_back(scale);
            inverses_.push_back(1.f / scale);
            zeros_.push_back(static_cast<float>(zeros.data()[c * zeros.stride(0)]));
        }
        count_ = count_of(shape);
        stretch_ = per_tensor ? std::max<std::int64_t>(1, count_) : order[static_cast<std::size_t>(axis)];
        along_ = !per_tensor && stretch_ == 1 && channels_ > 1;
        if (along_) stretch_ = channels_;
    }

    // body(begin, end, grid) over stretches with one grid each.
    template <typename Body>
    void each(Body&& body) const {
        if (count_ == 0) return;
        if (stretch_ >= count_) {
            parallel_for(count_, 16384, [&](std::int64_t begin, std::int64_t end) { body(begin, end, grid(0)); });
            return;
        }
        parallel_for(count_ / stretch_, grain_for(stretch_), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                body(i * stretch_, (i + 1) * stretch_, grid(along_ ? 0 : i % channels_));
        });
    }

   private:
    Grid grid(std::int64_t channel) const {
        const std::size_t c = static_cast<std::size_t>(channel);
        return {scales_.data() + c, inverses_.data() + c, zeros_.data() + c, along_ ? 1 : 0};
    }

    std::int64_t count_, channels_, stretch_;
    bool along_;
    std::vector<float> scales_, inverses_, zeros_;
};

void check_range(std::int64_t low, std::int64_t high, std::int64_t least, std::int64_t most) {
    if (low < least || high > most || low > high)
        refuse("codes from " + std::to_string(low) + " to " + std::to_string(high) + " do not fit; give a range within " +
               std::to_string(least) + " to " + std::to_string(most));
}

template <typename Code>
nb::object quantize(const Input<float>& x, const Scales& scales, const ZeroPoints& zeros, std::int64_t axis,
                    std::int64_t low, std::int64_t high) {
    constexpr bool is_signed = std::is_signed_v<Code>;
    check_range(low, high, is_signed ? -128 : 0, is_signed ? 127 : 255);
    const Dims shape = shape_of(x), order = dense_strides_like(shape, strides_of(x));
    const Layout layout(shape, order, scales, zeros, axis);
    Output<Code> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> input(x, order);
        layout.each([&](std::int64_t begin, std::int64_t end, const Grid& grid) {
            const float least = static_cast<float>(low), most = static_cast<float>(high);
            if constexpr (is_signed)
                LEAF(quantize_signed)(input.data() + begin, grid, end - begin, least, most, out.data() + begin);
            else
                LEAF(quantize_unsigned)(input.data() + begin, grid, end - begin, least, most, out.data() + begin);
        });
    }
    return out.to_python();
}

template <typename Code>
nb::object dequantize(const Input<Code>& codes, const Scales& scales, const ZeroPoints& zeros, std::int64_t axis) {
    const Dims shape = shape_of(codes), order = dense_strides_like(shape, strides_of(codes));
    const Layout layout(shape, order, scales, zeros, axis);
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<Code> input(codes, order);
        layout.each([&](std::int64_t begin, std::int64_t end, const Grid& grid) {
            if constexpr (std::is_signed_v<Code>)
                LEAF(dequantize_signed)(input.data() + begin, grid, end - begin, out.data() + begin);
            else
                LEAF(dequantize_unsigned)(input.data() + begin, grid, end - begin, out.data() + begin);
        });
    }
    return out.to_python();
}

nb::object fake_quantize(const Input<float>& x, const Scales& scales, const ZeroPoints& zeros, std::int64_t axis,
                         std::int64_t low, std::int64_t high) {
    check_range(low, high, -(1 << 23), 1 << 23);
    const Dims shape = shape_of(x), order = dense_strides_like(shape, strides_of(x));
    const Layout layout(shape, order, scales, zeros, axis);
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> input(x, order);
        layout.each([&](std::int64_t begin, std::int64_t end, const Grid& grid) {
            LEAF(fake_quantize_run)(input.data() + begin, grid, end - begin, static_cast<float>(low),
                                    static_cast<float>(high), out.data() + begin);
        });
    }
    return out.to_python();
}

nb::object fake_quantize_gradient(const Input<float>& gradient, const Input<float>& x, const Scales& scales,
                                  const ZeroPoints& zeros, std::int64_t axis, std::int64_t low, std::int64_t high) {
    check_range(low, high, -(1 << 23), 1 << 23);
    const Dims shape = shape_of(x), order = dense_strides_like(shape, strides_of(x));
    if (shape_of(gradient) != shape)
        refuse("fake_quantize gradient has shape " + text(shape_of(gradient)) + "; expected " + text(shape));
    const Layout layout(shape, order, scales, zeros, axis);
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> input(x, order), gradients(gradient, order);
        layout.each([&](std::int64_t begin, std::int64_t end, const Grid& grid) {
            LEAF(fake_quantize_gradient_run)(gradients.data() + begin, input.data() + begin, grid, end - begin,
                                             static_cast<float>(low), static_cast<float>(high), out.data() + begin);
        });
    }
    return out.to_python();
}

// Rows along the first dim, each with a factor, a scale and a zero point.
class Rows {
   public:
    Rows(const Dims& shape, const Dims& strides, const Input<float>& factors, const Input<float>& scales, const Input<float>& zeros,
         std::int64_t low, std::int64_t high)
        : low_(static_cast<float>(low)), high_(static_cast<float>(high)) {
        check_range(low, high, -(1 << 23), 1 << 23);
        if (shape.empty()) refuse("scaled fake quantization of a single value; give rows");
        for (const auto* one : {&factors, &scales, &zeros})
            if (shape_of(*one) != Dims{shape[0]})
                refuse("scaled fake quantization has " + text(shape_of(*one)) + " of what each row has; expected [" +
                       std::to_string(shape[0]) + "]");
        count = shape[0];
        length = count_of(Dims(shape.begin() + 1, shape.end()));
        order = dense_strides_like(shape, strides);
        if (order[0] != length) order = row_major_strides(shape);
        for (std::int64_t row = 0; row < count; ++row) {
            const auto of = [row](const Input<float>& one) { return one.data()[row * one.stride(0)]; };
            factors_.push_back(of(factors)), scales_.push_back(of(scales)), inverses_.push_back(1.f / of(scales));
            zeros_.push_back(std::rint(of(zeros)));
        }
    }

    // body(row, factor, grid, low, high)
    template <typename Body>
    void each(Body&& body) const {
        parallel_for(count, grain_for(length), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                const std::size_t r = static_cast<std::size_t>(row);
                body(row, factors_[r], Grid{scales_.data() + r, inverses_.data() + r, zeros_.data() + r, 0}, low_, high_);
            }
        });
    }

    std::int64_t count, length;
    Dims order;

   private:
    const float low_, high_;
    std::vector<float> factors_, scales_, inverses_, zeros_;
};

nb::object fake_quantize_scaled(const Input<float>& x, const Input<float>& factors, const Input<float>& scales, const Input<float>& zeros,
                                std::int64_t low, std::int64_t high) {
    const Dims shape = shape_of(x);
    const Rows rows(shape, strides_of(x), factors, scales, zeros, low, high);
    Output<float> out(shape, rows.order);
    {
        KernelScope scope;
        const Dense<float> input(x, rows.order);
        rows.each([&](std::int64_t row, float factor, const Grid& grid, float least, float most) {
            const std::int64_t at = row * rows.length;
            LEAF(fake_quantize_scaled_run)(input.data() + at, factor, grid, rows.length, least, most, out.data() + at);
        });
    }
    return out.to_python();
}

nb::object fake_quantize_scaled_gradient(const Input<float>& gradient, const Input<float>& x, const Input<float>& factors,
                                         const Input<float>& scales, const Input<float>& zeros, std::int64_t low, std::int64_t high) {
    const Dims shape = shape_of(x);
    if (shape_of(gradient) != shape)
        refuse("scaled fake quantization's gradient has shape " + text(shape_of(gradient)) + "; expected " + text(shape));
    const Rows rows(shape, strides_of(x), factors, scales, zeros, low, high);
    Output<float> out(shape, rows.order);
    auto by_factor = Output<float>::row_major({rows.count});
    {
        KernelScope scope;
        const Dense<float> input(x, rows.order), gradients(gradient, rows.order);
        rows.each([&](std::int64_t row, float factor, const Grid& grid, float least, float most) {
            const std::int64_t at = row * rows.length;
            by_factor.data()[row] = static_cast<float>(LEAF(fake_quantize_scaled_gradient_run)(
                gradients.data() + at, input.data() + at, factor, grid, rows.length, least, most, out.data() + at));
        });
    }
    return nb::make_tuple(out.to_python(), by_factor.to_python());
}

}  // namespace

void bind_quantize(nb::module_& module) {
    using nb::arg;
    module.def("quantize_unsigned", &quantize<std::uint8_t>, arg("x").noconvert(), arg("scales").noconvert(),
               arg("zero_points").noconvert(), arg("axis"), arg("low"), arg("high"));
    module.def("quantize_signed", &quantize<std::int8_t>, arg("x").noconvert(), arg("scales").noconvert(),
               arg("zero_points").noconvert(), arg("axis"), arg("low"), arg("high"));
    module.def("dequantize", &dequantize<std::uint8_t>, arg("codes").noconvert(), arg("scales").noconvert(),
               arg("zero_points").noconvert(), arg("axis"));
    module.def("dequantize", &dequantize<std::int8_t>, arg("codes").noconvert(), arg("scales").noconvert(),
               arg("zero_points").noconvert(), arg("axis"));
    module.def("fake_quantize", &fake_quantize, arg("x").noconvert(), arg("scales").noconvert(),
               arg("zero_points").noconvert(), arg("axis"), arg("low"), arg("high"));
    module.def("fake_quantize_gradient", &fake_quantize_gradient, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("scales").noconvert(), arg("zero_points").noconvert(), arg("axis"), arg("low"), arg("high"));
    module.def("fake_quantize_scaled", &fake_quantize_scaled, arg("x").noconvert(), arg("factors").noconvert(),
               arg("scales").noconvert(), arg("zero_points").noconvert(), nb::kw_only(), arg("qmin"), arg("qmax"));
    module.def("fake_quantize_scaled_gradient", &fake_quantize_scaled_gradient, arg("gradient").noconvert(), arg("x").noconvert(),
               arg("factors").noconvert(), arg("scales").noconvert(), arg("zero_points").noconvert(), nb::kw_only(), arg("qmin"),
               arg("qmax"));
}

}  // namespace workbench
