// Recurrent layers over a whole sequence in float32. What comes in is multiplied for all steps at once outside; here the
// state's product is one call of oneDNN a step, on a weight packed once, and all gates are computed in one pass.
#include "recurrent.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

#include "engine.hpp"
#include "recurrent_steps.hpp"
#define WORKBENCH_LEAVES "leaves/recurrent.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

void expect(const Input<float>& array, const Dims& shape, const char* name) {
    if (shape_of(array) != shape)
        refuse(std::string("recurrent layer: ") + name + " has shape " + text(shape_of(array)) + "; expected " + text(shape));
}

// rows x weight, or rows x weightᵀ: the weight is packed once, for `batch` rows at a time.
class Product {
   public:
    // With `alone`, calls come from several threads, each of which multiplies on its own.
    Product(const float* weight, std::int64_t rows, std::int64_t columns, bool transposed, std::int64_t batch, bool alone)
        : weight_(weight), columns_(columns), inner_(transposed ? columns : rows), outer_(transposed ? rows : columns),
          batch_(batch), transposed_(transposed) {
        const auto plain = describe_floats({inner_, outer_}, transposed ? Dims{1, columns} : Dims{columns, 1});
        const int threads = omp_get_max_threads();
        prepared_ = cache().get({batch, inner_, outer_, transposed, alone ? 1 : threads}, [&] {
            if (alone) omp_set_num_threads(1);
            auto made = std::make_shared<Prepared>();
            const dnnl::matmul::primitive_desc description(engine(), describe_floats({batch, inner_}, {inner_, 1}),
                                                           any_floats({inner_, outer_}),
                                                           describe_floats({batch, outer_}, {outer_, 1}), with_own_room());
            made->source = description.src_desc(), made->layout = description.weights_desc();
            made->result = description.dst_desc();
            made->multiply = Shared(description);
            made->repack = repacking(plain, made->layout);
            if (alone) omp_set_num_threads(threads);
            return made;
        });
        packed_.emplace(prepared_->layout);
        prepared_->repack.with_room({{DNNL_ARG_FROM, bound(plain, weight)}, {DNNL_ARG_TO, packed_->memory()}});
    }

    // What one thread multiplies with.
    class Caller {
       public:
        explicit Caller(const Product& product)
            : product_(product), source_(unbound(product.prepared_->source)), result_(unbound(product.prepared_->result)),
              room_(product.prepared_->multiply.room()) {}
        void operator()(const float* values, std::int64_t count, float* out) {
            const Product& p = product_;
            if (count <= 0) return;
            if (count == p.batch_) {
                bind(source_, values), bind(result_, out);
                p.prepared_->multiply({{DNNL_ARG_SRC, source_},
                                       {DNNL_ARG_WEIGHTS, p.packed_->memory()},
                                       {DNNL_ARG_DST, result_},
                                       {DNNL_ARG_SCRATCHPAD, room_.memory()}});
            } else if (dnnl_sgemm('N', p.transposed_ ? 'T' : 'N', count, p.outer_, p.inner_, 1.f, values, p.inner_, p.weight_,
                                  p.columns_, 0.f, out, p.outer_) != dnnl_success) {
                throw std::runtime_error("oneDNN's gemm failed");
            }
        }

       private:
        const Product& product_;
        dnnl::memory source_, result_;
        Room room_;
    };

   private:
    struct Prepared {
        Shared multiply, repack;
        dnnl::memory::desc layout, source, result;
    };
    static RecentlyUsed<Prepared>& cache() {
        static auto* instance = new RecentlyUsed<Prepared>(primitives_kept);
        return *instance;
    }

    const float* weight_;
    std::int64_t columns_, inner_, outer_, batch_;
    bool transposed_;
    std::shared_ptr<const Prepared> prepared_;
    std::optional<Room> packed_;
};

// A layer's sizes: `gates` values a row come in for each of `size` of the state.
struct Layer {
    Dims shape, shown, state;
    std::int64_t size, width;
    Steps steps;

    Layer(const Dims& pre, std::int64_t gates, const Input<float>& weight, const Sizes& sizes, bool reverse)
        : shape(pre), steps(pre, sizes, reverse) {
        width = shape.back(), size = width / gates;
        expect(weight, {gates * size, size}, "weight");
        if (width != gates * size || size == 0) refuse("recurrent layer: rows have shape " + text(shape));
        shown = shape, shown.back() = size;
        state = {steps.batch, size};
    }
    std::int64_t products() const { return steps.batch * width * size; }
    std::int64_t grain() const { return std::max<std::int64_t>(1, 4096 / size); }

    // Sequences do not depend on each other: where each thread can have 16 of them or more, threads meet at the end only;
    // else they share out every step. Calls body(begin, end, multiply) for ranges of the batch.
    template <typename Body>
    void for_sequences(const Dense<float>& weight, bool transposed, Body&& body) const {
        const std::int64_t most = std::min<std::int64_t>(steps.batch / 16, steps.rows * width * size / 2000000);
        const std::int64_t parts = std::clamp<std::int64_t>(most, 1, thread_count());
        if (parts > 1) omp_set_num_threads(static_cast<int>(parts));
        const std::int64_t share = (steps.batch + parts - 1) / parts;
        const Product product(weight.data(), width, size, transposed, share, parts > 1);
        std::atomic<bool> failed{false};
        parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
            try {
                Product::Caller multiply(product);
                for (std::int64_t part = first; part < last; ++part)
                    body(part * share, std::min(steps.batch, (part + 1) * share), multiply);
            } catch (...) {  // nothing may leave a parallel region
                failed = true;
            }
        });
        if (failed) throw std::runtime_error("recurrent layer: oneDNN failed");
    }
};

Output<float> copied(const Input<float>& array) {
    auto out = Output<float>::row_major(shape_of(array));
    copy_strided(out.data(), row_major_strides(out.shape()), array.data(), out.shape(), strides_of(array));
    return out;
}

nb::object rnn(const Input<float>& pre, const Input<float>& hidden, const Input<float>& weight, bool relu, bool reverse,
               const Sizes& batch_sizes) {
    const Layer layer(shape_of(pre), 1, weight, batch_sizes, reverse);
    const std::int64_t size = layer.size;
    expect(hidden, layer.state, "state");
    auto y = Output<float>::row_major(layer.shown), state = copied(hidden);
    {
        KernelScope scope(layer.products());
        const auto rows = row_major(pre), weights = row_major(weight);
        const Buffer<float> product(layer.steps.batch * size);
        layer.for_sequences(weights, true, [&](std::int64_t from, std::int64_t to, auto& multiply) {
            for (const auto& step : layer.steps.steps) {
                const std::int64_t until = std::min(step.count, to);
                multiply(state.data() + from * size, until - from, product.data() + from * size);
                parallel_for(until - from, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = from + begin; i < from + end; ++i)
                        LEAF_WIDE(rnn_row)(rows.data() + (step.first + i) * size, product.data() + i * size, size, relu,
                                           state.data() + i * size, y.data() + (step.first + i) * size);
                });
            }
        });
    }
    return nb::make_tuple(y.to_python(), state.to_python());
}

nb::object rnn_gradient(const Input<float>& g, const Input<float>& g_last, const Input<float>& weight, const Input<float>& y,
                        bool relu, bool reverse, const Sizes& batch_sizes) {
    const Layer layer(shape_of(y), 1, weight, batch_sizes, reverse);
    const std::int64_t size = layer.size;
    expect(g, layer.shown, "gradient"), expect(g_last, layer.state, "state's gradient");
    auto d_pre = Output<float>::row_major(layer.shape), d_state = copied(g_last);
    {
        KernelScope scope(layer.products());
        const auto gradient = row_major(g), weights = row_major(weight), outputs = row_major(y);
        layer.for_sequences(weights, false, [&](std::int64_t from, std::int64_t to, auto& multiply) {
            for (auto step = layer.steps.steps.rbegin(); step != layer.steps.steps.rend(); ++step) {
                const std::int64_t until = std::min(step->count, to);
                parallel_for(until - from, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = from + begin; i < from + end; ++i) {
                        const std::int64_t at = (step->first + i) * size;
                        LEAF_WIDE(rnn_back_row)(gradient.data() + at, d_state.data() + i * size, outputs.data() + at, size, relu,
                                                d_pre.data() + at);
                    }
                });
                multiply(d_pre.data() + (step->first + from) * size, until - from, d_state.data() + from * size);
            }
        });
    }
    return nb::make_tuple(d_pre.to_python(), d_state.to_python());
}

nb::object lstm(const Input<float>& pre, const Input<float>& hidden, const Input<float>& cell, const Input<float>& weight,
                bool reverse, const Sizes& batch_sizes) {
    const Layer layer(shape_of(pre), 4, weight, batch_sizes, reverse);
    const std::int64_t size = layer.size, width = layer.width;
    expect(hidden, layer.state, "state"), expect(cell, layer.state, "cell");
    auto y = Output<float>::row_major(layer.shown), cells = Output<float>::row_major(layer.shown);
    auto gates = Output<float>::row_major(layer.shape), state = copied(hidden), memory = copied(cell);
    {
        KernelScope scope(layer.products());
        const auto rows = row_major(pre), weights = row_major(weight);
        const Buffer<float> product(layer.steps.batch * width);
        layer.for_sequences(weights, true, [&](std::int64_t from, std::int64_t to, auto& multiply) {
            for (const auto& step : layer.steps.steps) {
                const std::int64_t until = std::min(step.count, to);
                multiply(state.data() + from * size, until - from, product.data() + from * width);
                parallel_for(until - from, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = from + begin; i < from + end; ++i) {
                        const std::int64_t row = step.first + i;
                        LEAF_WIDE(lstm_row)(rows.data() + row * width, product.data() + i * width, size, memory.data() + i * size,
                                            state.data() + i * size, gates.data() + row * width, cells.data() + row * size,
                                            y.data() + row * size);
                    }
                });
            }
        });
    }
    return nb::make_tuple(y.to_python(), state.to_python(), memory.to_python(), cells.to_python(), gates.to_python());
}

nb::object lstm_gradient(const Input<float>& g, const Input<float>& g_last, const Input<float>& g_memory,
                         const Input<float>& cell, const Input<float>& weight, const Input<float>& cells,
                         const Input<float>& gates, bool reverse, const Sizes& batch_sizes) {
    const Layer layer(shape_of(gates), 4, weight, batch_sizes, reverse);
    const std::int64_t size = layer.size, width = layer.width;
    expect(g, layer.shown, "gradient"), expect(cells, layer.shown, "cells"), expect(cell, layer.state, "cell");
    expect(g_last, layer.state, "state's gradient"), expect(g_memory, layer.state, "cell's gradient");
    auto d_pre = Output<float>::row_major(layer.shape), d_state = copied(g_last), d_memory = copied(g_memory);
    auto nothing = Output<float>::row_major({0, size});
    {
        KernelScope scope(layer.products());
        const auto gradient = row_major(g), first = row_major(cell), weights = row_major(weight);
        const auto every_cell = row_major(cells), every_gate = row_major(gates);
        layer.for_sequences(weights, false, [&](std::int64_t from, std::int64_t to, auto& multiply) {
            for (auto step = layer.steps.steps.rbegin(); step != layer.steps.steps.rend(); ++step) {
                const std::int64_t until = std::min(step->count, to);
                parallel_for(until - from, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = from + begin; i < from + end; ++i) {
                        const std::int64_t row = step->first + i;
                        LEAF_WIDE(lstm_back_row)(gradient.data() + row * size, d_state.data() + i * size,
                                                 every_gate.data() + row * width, every_cell.data() + row * size,
                                                 layer.steps.prior(row, i, every_cell.data(), first.data(), size), size,
                                                 d_memory.data() + i * size, d_pre.data() + row * width);
                    }
                });
                multiply(d_pre.data() + (step->first + from) * width, until - from, d_state.data() + from * size);
            }
        });
    }
    return nb::make_tuple(d_pre.to_python(), d_state.to_python(), d_memory.to_python(), nothing.to_python());
}

nb::object gru(const Input<float>& pre, const Input<float>& hidden, const Input<float>& weight,
               const std::optional<Input<float>>& bias, bool reverse, const Sizes& batch_sizes) {
    const Layer layer(shape_of(pre), 3, weight, batch_sizes, reverse);
    const std::int64_t size = layer.size, width = layer.width;
    expect(hidden, layer.state, "state");
    if (bias) expect(*bias, {width}, "bias");
    auto y = Output<float>::row_major(layer.shown), inner = Output<float>::row_major(layer.shown);
    auto gates = Output<float>::row_major(layer.shape), state = copied(hidden);
    {
        KernelScope scope(layer.products());
        const auto rows = row_major(pre), weights = row_major(weight);
        std::optional<Dense<float>> added;
        if (bias) added.emplace(row_major(*bias));
        const Buffer<float> product(layer.steps.batch * width);
        layer.for_sequences(weights, true, [&](std::int64_t from, std::int64_t to, auto& multiply) {
            for (const auto& step : layer.steps.steps) {
                const std::int64_t until = std::min(step.count, to);
                multiply(state.data() + from * size, until - from, product.data() + from * width);
                parallel_for(until - from, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = from + begin; i < from + end; ++i) {
                        const std::int64_t row = step.first + i;
                        LEAF_WIDE(gru_row)(rows.data() + row * width, product.data() + i * width, added ? added->data() : nullptr,
                                           size, state.data() + i * size, gates.data() + row * width, inner.data() + row * size,
                                           y.data() + row * size);
                    }
                });
            }
        });
    }
    return nb::make_tuple(y.to_python(), state.to_python(), gates.to_python(), inner.to_python());
}

nb::object gru_gradient(const Input<float>& g, const Input<float>& g_last, const Input<float>& hidden,
                        const Input<float>& weight, const Input<float>& y, const Input<float>& gates,
                        const Input<float>& inner, bool reverse, const Sizes& batch_sizes) {
    const Layer layer(shape_of(gates), 3, weight, batch_sizes, reverse);
    const std::int64_t size = layer.size, width = layer.width;
    expect(g, layer.shown, "gradient"), expect(y, layer.shown, "output"), expect(inner, layer.shown, "inner sum");
    expect(hidden, layer.state, "state"), expect(g_last, layer.state, "state's gradient");
    auto d_pre = Output<float>::row_major(layer.shape), d_product = Output<float>::row_major({layer.steps.rows, width});
    auto carry = copied(g_last);
    {
        KernelScope scope(layer.products());
        const auto gradient = row_major(g), first = row_major(hidden), weights = row_major(weight), outputs = row_major(y);
        const auto every_gate = row_major(gates), every_sum = row_major(inner);
        const std::int64_t all = layer.steps.batch * size;
        const Buffer<float> through(all);
        std::fill_n(through.data(), all, 0.f);
        layer.for_sequences(weights, false, [&](std::int64_t from, std::int64_t to, auto& multiply) {
            for (auto step = layer.steps.steps.rbegin(); step != layer.steps.steps.rend(); ++step) {
                const std::int64_t until = std::min(step->count, to);
                parallel_for(until - from, layer.grain(), [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = from + begin; i < from + end; ++i) {
                        const std::int64_t row = step->first + i;
                        LEAF_WIDE(gru_back_row)(gradient.data() + row * size, through.data() + i * size,
                                                every_gate.data() + row * width, every_sum.data() + row * size,
                                                layer.steps.prior(row, i, outputs.data(), first.data(), size), size,
                                                carry.data() + i * size, d_pre.data() + row * width, d_product.data() + row * width);
                    }
                });
                multiply(d_product.data() + (step->first + from) * width, until - from, through.data() + from * size);
            }
        });
        for (std::int64_t i = 0; i < all; ++i) carry.data()[i] += through.data()[i];
    }
    return nb::make_tuple(d_pre.to_python(), d_product.to_python(), carry.to_python());
}

}  // namespace

void bind_recurrent(nb::module_& module) {
    using nb::arg;
    const auto sizes = arg("batch_sizes").none();
    module.def("rnn", &rnn, arg("pre").noconvert(), arg("hidden").noconvert(), arg("weight").noconvert(), nb::kw_only(),
               arg("relu"), arg("reverse"), sizes);
    module.def("rnn_gradient", &rnn_gradient, arg("g").noconvert(), arg("g_last").noconvert(), arg("weight").noconvert(),
               arg("y").noconvert(), nb::kw_only(), arg("relu"), arg("reverse"), sizes);
    module.def("lstm", &lstm, arg("pre").noconvert(), arg("hidden").noconvert(), arg("cell").noconvert(),
               arg("weight").noconvert(), nb::kw_only(), arg("reverse"), sizes);
    module.def("lstm_gradient", &lstm_gradient, arg("g").noconvert(), arg("g_last").noconvert(), arg("g_memory").noconvert(),
               arg("cell").noconvert(), arg("weight").noconvert(), arg("cells").noconvert(), arg("gates").noconvert(),
               nb::kw_only(), arg("reverse"), sizes);
    module.def("gru", &gru, arg("pre").noconvert(), arg("hidden").noconvert(), arg("weight").noconvert(),
               arg("bias").noconvert().none() = nb::none(), nb::kw_only(), arg("reverse"), sizes);
    module.def("gru_gradient", &gru_gradient, arg("g").noconvert(), arg("g_last").noconvert(), arg("hidden").noconvert(),
               arg("weight").noconvert(), arg("y").noconvert(), arg("gates").noconvert(), arg("inner").noconvert(),
               nb::kw_only(), arg("reverse"), sizes);
}

}  // namespace workbench
