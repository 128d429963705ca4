// Recurrent layers whose state is quantized at every step, by its own range, and multiplied with 8-bit weights. What comes
// in was multiplied for all steps at once outside; gates are computed in floats, by the loops of recurrent.cpp.
#include "quantized_recurrent.hpp"

#include <algorithm>

#include "quantized_linear.hpp"
#include "recurrent_steps.hpp"
#define WORKBENCH_LEAVES "leaves/recurrent.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

struct QuantizedLayer {
    Dims shown, state;
    std::int64_t size, width;
    Steps steps;

    QuantizedLayer(const Input<float>& pre, const Input<float>& hidden, std::int64_t gates, const PackedQuantizedLinear& product,
                   const Sizes& sizes, bool reverse)
        : shown(shape_of(pre)), steps(shown, sizes, reverse) {
        width = shown.back(), size = width / gates;
        if (size == 0 || width != gates * size || product.inputs() != size || product.outputs() != width)
            refuse("recurrent layer: rows have shape " + text(shown) + ", but the weight is [" + std::to_string(product.outputs()) +
                   ", " + std::to_string(product.inputs()) + "]");
        shown.back() = size;
        state = {steps.batch, size};
        expect(hidden);
    }
    void expect(const Input<float>& values) const {
        if (shape_of(values) != state)
            refuse("recurrent layer: a state has shape " + text(shape_of(values)) + "; expected " + text(state));
    }
    std::int64_t grain() const { return std::max<std::int64_t>(1, 4096 / size); }
};

Output<float> copied(const Input<float>& array) {
    auto out = Output<float>::row_major(shape_of(array));
    copy_strided(out.data(), row_major_strides(out.shape()), array.data(), out.shape(), strides_of(array));
    return out;
}

nb::object quantized_lstm(const Input<float>& pre, const Input<float>& hidden, const Input<float>& cell,
                          const PackedQuantizedLinear& weight, bool reverse, std::int64_t highest, const Sizes& batch_sizes) {
    const QuantizedLayer layer(pre, hidden, 4, weight, batch_sizes, reverse);
    layer.expect(cell);
    const std::int64_t size = layer.size, width = layer.width;
    auto y = Output<float>::row_major(layer.shown), state = copied(hidden), memory = copied(cell);
    {
        KernelScope scope;
        const auto rows = row_major(pre);
        const Buffer<float> product(layer.steps.batch * width), gates(layer.steps.batch * width), cells(layer.steps.batch * size);
        for (const auto& step : layer.steps.steps) {
            weight.multiply(state.data(), step.count, false, highest, false, product.data());
            parallel_for(step.count, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i)
                    LEAF_WIDE(lstm_row)(rows.data() + (step.first + i) * width, product.data() + i * width, size,
                                        memory.data() + i * size, state.data() + i * size, gates.data() + i * width,
                                        cells.data() + i * size, y.data() + (step.first + i) * size);
            });
        }
    }
    return nb::make_tuple(y.to_python(), state.to_python(), memory.to_python());
}

nb::object quantized_gru(const Input<float>& pre, const Input<float>& hidden, const PackedQuantizedLinear& weight, bool reverse,
                         std::int64_t highest, const Sizes& batch_sizes) {
    const QuantizedLayer layer(pre, hidden, 3, weight, batch_sizes, reverse);
    const std::int64_t size = layer.size, width = layer.width;
    auto y = Output<float>::row_major(layer.shown), state = copied(hidden);
    {
        KernelScope scope;
        const auto rows = row_major(pre);
        const Buffer<float> product(layer.steps.batch * width), gates(layer.steps.batch * width), inner(layer.steps.batch * size);
        for (const auto& step : layer.steps.steps) {
            weight.multiply(state.data(), step.count, false, highest, false, product.data());
            parallel_for(step.count, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i)
                    LEAF_WIDE(gru_row)(rows.data() + (step.first + i) * width, product.data() + i * width, nullptr, size,
                                       state.data() + i * size, gates.data() + i * width, inner.data() + i * size,
                                       y.data() + (step.first + i) * size);
            });
        }
    }
    return nb::make_tuple(y.to_python(), state.to_python());
}

nb::object quantized_rnn(const Input<float>& pre, const Input<float>& hidden, const PackedQuantizedLinear& weight, bool relu,
                         bool reverse, std::int64_t highest, const Sizes& batch_sizes) {
    const QuantizedLayer layer(pre, hidden, 1, weight, batch_sizes, reverse);
    const std::int64_t size = layer.size;
    auto y = Output<float>::row_major(layer.shown), state = copied(hidden);
    {
        KernelScope scope;
        const auto rows = row_major(pre);
        const Buffer<float> product(layer.steps.batch * size);
        for (const auto& step : layer.steps.steps) {
            weight.multiply(state.data(), step.count, false, highest, false, product.data());
            parallel_for(step.count, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i)
                    LEAF_WIDE(rnn_row)(rows.data() + (step.first + i) * size, product.data() + i * size, size, relu,
                                       state.data() + i * size, y.data() + (step.first + i) * size);
            });
        }
    }
    return nb::make_tuple(y.to_python(), state.to_python());
}

}  // namespace

void bind_quantized_recurrent(nb::module_& module) {
    using nb::arg;
    const auto sizes = arg("batch_sizes").none();
    module.def("quantized_lstm", &quantized_lstm, arg("pre").noconvert(), arg("hidden").noconvert(), arg("cell").noconvert(),
               arg("weight"), nb::kw_only(), arg("reverse"), arg("highest"), sizes);
    module.def("quantized_gru", &quantized_gru, arg("pre").noconvert(), arg("hidden").noconvert(), arg("weight"), nb::kw_only(),
               arg("reverse"), arg("highest"), sizes);
    module.def("quantized_rnn", &quantized_rnn, arg("pre").noconvert(), arg("hidden").noconvert(), arg("weight"), nb::kw_only(),
               arg("relu"), arg("reverse"), arg("highest"), sizes);
}

}  // namespace workbench
