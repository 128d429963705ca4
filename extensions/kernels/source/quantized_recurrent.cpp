// Recurrent layers with weights in codes, all layers and directions in one call. What comes into a layer is quantized by one
// range and multiplied for all steps at once, its state at every step by its own; gates are computed in floats, by the loops
// of recurrent.cpp.
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

using Products = std::vector<const PackedQuantizedLinear*>;

// The layers as they were given: what of each direction comes in is multiplied with, and what its state is.
struct Layers {
    const Products& products;
    std::int64_t gates, directions, count, size, features;
    Dims shown, state;
    Steps forward, backward;

    Layers(const Input<float>& x, const std::vector<Input<float>>& first, const Products& given, std::int64_t gates,
           std::int64_t directions, const Sizes& sizes)
        : products(given), gates(gates), directions(directions), count(static_cast<std::int64_t>(given.size()) / 2),
          shown(shape_of(x)), forward(shown, sizes, false), backward(shown, sizes, true) {
        if (directions < 1 || directions > 2) refuse("recurrent layers go in 1 or 2 directions, not " + std::to_string(directions));
        if (count == 0 || products.size() % 2 || count % directions)
            refuse("recurrent layers: " + std::to_string(products.size()) + " weights are not two for each layer and direction");
        if (std::count(products.begin(), products.end(), nullptr)) refuse("recurrent layers: a weight is None");
        features = shown.back(), size = products[1]->inputs();
        for (std::int64_t one = 0; one < count; ++one) {
            expect(*products[2 * one], one < directions ? features : directions * size);
            expect(*products[2 * one + 1], size);
        }
        shown.back() = directions * size;
        state = {count, forward.batch, size};
        for (const Input<float>& values : first)
            if (shape_of(values) != state)
                refuse("recurrent layers: a state has shape " + text(shape_of(values)) + "; expected " + text(state));
    }
    void expect(const PackedQuantizedLinear& product, std::int64_t inputs) const {
        if (size == 0 || product.inputs() != inputs || product.outputs() != gates * size)
            refuse("recurrent layers: a weight is [" + std::to_string(product.outputs()) + ", " + std::to_string(product.inputs()) +
                   "]; expected [" + std::to_string(gates * size) + ", " + std::to_string(inputs) + "]");
    }
};

Output<float> copied(const Input<float>& array) {
    auto out = Output<float>::row_major(shape_of(array));
    copy_strided(out.data(), row_major_strides(out.shape()), array.data(), out.shape(), strides_of(array));
    return out;
}

// Where one row of one step has its values: what came in and what its state gave, that state and the memory beside it, what
// a gradient would need, and where the output goes.
struct Row {
    const float *pre, *product;
    std::int64_t size;
    float *state, *memory, *gates, *cells, *out;
};

template <typename Work>
nb::object through(const Layers& layers, const Input<float>& x, const std::vector<Input<float>>& first, std::int64_t highest,
                   Work&& work) {
    auto y = Output<float>::row_major(layers.shown);
    std::vector<Output<float>> states;
    for (const Input<float>& one : first) states.push_back(copied(one));
    {
        KernelScope scope;
        const auto rows = row_major(x);
        const std::int64_t size = layers.size, width = layers.gates * size, line = layers.directions * size;
        const std::int64_t count = layers.forward.rows, batch = layers.forward.batch, depth = layers.count / layers.directions;
        const Buffer<float> pre(count * width), product(batch * width), gates(batch * width), cells(batch * size);
        Buffer<float> between[2];
        for (std::int64_t k = 0; k < std::min<std::int64_t>(2, depth - 1); ++k) between[k] = Buffer<float>(count * line);
        std::int64_t all = 0;
        for (std::int64_t one = 0; one < layers.count; ++one) {
            all += layers.products[2 * one]->products_of(count);
            for (const auto& step : layers.forward.steps) all += layers.products[2 * one + 1]->products_of(step.count);
        }
        const CloseCalls close(all);
        const float* input = rows.data();
        for (std::int64_t one = 0; one < layers.count; ++one) {
            const std::int64_t depth_here = one / layers.directions, direction = one % layers.directions;
            float* out = (depth_here + 1 == depth ? y.data() : between[depth_here % 2].data()) + direction * size;
            float* state = states.front().data() + one * batch * size;
            float* memory = states.back().data() + one * batch * size;
            layers.products[2 * one]->multiply(input, count, false, highest, false, pre.data());
            for (const auto& step : (direction ? layers.backward : layers.forward).steps) {
                layers.products[2 * one + 1]->multiply(state, step.count, false, highest, false, product.data());
                parallel_for(step.count, std::max<std::int64_t>(1, 4096 / size), [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i)
                        work(Row{pre.data() + (step.first + i) * width, product.data() + i * width, size, state + i * size,
                                 memory + i * size, gates.data() + i * width, cells.data() + i * size,
                                 out + (step.first + i) * line});
                });
            }
            if (direction + 1 == layers.directions) input = out - direction * size;
        }
    }
    nb::object found = y.to_python(), last = states.front().to_python();
    return states.size() == 2 ? nb::make_tuple(found, last, states.back().to_python()) : nb::make_tuple(found, last);
}

nb::object quantized_lstm(const Input<float>& x, const Input<float>& hidden, const Input<float>& cell, const Products& products,
                          std::int64_t directions, const Sizes& batch_sizes, std::int64_t highest) {
    const std::vector<Input<float>> first{hidden, cell};
    return through(Layers(x, first, products, 4, directions, batch_sizes), x, first, highest, [](const Row& row) {
        LEAF_WIDE(lstm_row)(row.pre, row.product, row.size, row.memory, row.state, row.gates, row.cells, row.out);
    });
}

nb::object quantized_gru(const Input<float>& x, const Input<float>& hidden, const Products& products, std::int64_t directions,
                         const Sizes& batch_sizes, std::int64_t highest) {
    const std::vector<Input<float>> first{hidden};
    return through(Layers(x, first, products, 3, directions, batch_sizes), x, first, highest, [](const Row& row) {
        LEAF_WIDE(gru_row)(row.pre, row.product, nullptr, row.size, row.state, row.gates, row.cells, row.out);
    });
}

nb::object quantized_rnn(const Input<float>& x, const Input<float>& hidden, const Products& products, std::int64_t directions,
                         const Sizes& batch_sizes, std::int64_t highest, bool relu) {
    const std::vector<Input<float>> first{hidden};
    return through(Layers(x, first, products, 1, directions, batch_sizes), x, first, highest, [relu](const Row& row) {
        LEAF_WIDE(rnn_row)(row.pre, row.product, row.size, relu, row.state, row.out);
    });
}

}  // namespace

void bind_quantized_recurrent(nb::module_& module) {
    using nb::arg;
    const auto sizes = arg("batch_sizes").none();
    module.def("quantized_lstm", &quantized_lstm, arg("x").noconvert(), arg("hidden").noconvert(), arg("cell").noconvert(),
               arg("weights"), nb::kw_only(), arg("directions"), sizes, arg("highest"));
    module.def("quantized_gru", &quantized_gru, arg("x").noconvert(), arg("hidden").noconvert(), arg("weights"), nb::kw_only(),
               arg("directions"), sizes, arg("highest"));
    module.def("quantized_rnn", &quantized_rnn, arg("x").noconvert(), arg("hidden").noconvert(), arg("weights"), nb::kw_only(),
               arg("directions"), sizes, arg("highest"), arg("relu"));
}

}  // namespace workbench
