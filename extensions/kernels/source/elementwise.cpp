// Elementwise ops and softmax over float32. What comes out lies in memory as the (first full-sized) operand does.
#include "elementwise.hpp"

#include <algorithm>
#include <numeric>

#define WORKBENCH_LEAVES "leaves/elementwise.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

nb::object unary(const Input<float>& x, Unary kind) {
    const Dims shape = shape_of(x);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(x));
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> input(x, order);
        const bool heavy = kind == Unary::exp || kind == Unary::tanh || kind == Unary::sigmoid;
        parallel_for(count, heavy ? 4096 : 16384, [&](std::int64_t begin, std::int64_t end) {
            LEAF(unary_run)(kind, input.data() + begin, end - begin, out.data() + begin);
        });
    }
    return out.to_python();
}

// The second operand seen from the memory order of the first: dimensions from slow to fast, merged where both operands
// walk them evenly.
struct Broadcast {
    Dims sizes, steps;  // of the merged dimensions; steps are the second operand's
};

Broadcast merge(const Dims& shape, const Dims& order_strides, const Dims& small_strides) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    order.erase(std::remove_if(order.begin(), order.end(), [&](std::size_t i) { return shape[i] == 1; }), order.end());
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return order_strides[a] > order_strides[b]; });
    Broadcast merged;
    for (const std::size_t i : order) {
        if (!merged.sizes.empty() && merged.steps.back() == small_strides[i] * shape[i]) {
            merged.sizes.back() *= shape[i];
            merged.steps.back() = small_strides[i];
        } else {
            merged.sizes.push_back(shape[i]);
            merged.steps.push_back(small_strides[i]);
        }
    }
    if (merged.sizes.empty()) merged.sizes.push_back(1), merged.steps.push_back(0);
    return merged;
}

// Strides of `small` stretched to `shape`; refuses shapes that do not broadcast to it.
Dims stretched_strides(const Dims& small, const Dims& strides, const Dims& shape) {
    const std::size_t missing = shape.size() - small.size();
    bool fits = small.size() <= shape.size();
    Dims stretched(shape.size(), 0);
    for (std::size_t i = 0; fits && i < small.size(); ++i) {
        if (small[i] == shape[missing + i])
            stretched[missing + i] = small[i] == 1 ? 0 : strides[i];
        else
            fits = small[i] == 1;
    }
    if (!fits) refuse("shape " + text(small) + " does not broadcast to " + text(shape));
    return stretched;
}

nb::object binary(const Input<float>& a, const Input<float>& b, Binary kind) {
    const Dims shape = shape_of(a);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(a));
    Dims small = stretched_strides(shape_of(b), strides_of(b), shape);
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> input(a, order);
        Broadcast walk = merge(shape, order, small);
        const float* other = b.data();
        Buffer<float> copy;
        if (walk.steps.back() != 0 && walk.steps.back() != 1) {  // not along memory: lay it out as the first operand
            copy = Buffer<float>(count);
            copy_strided(copy.data(), order, other, shape, small);
            other = copy.data();
            walk = merge(shape, order, order);
        }
        const std::int64_t run = walk.sizes.back(), step = walk.steps.back();
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                const float* from = other;
                std::int64_t rest = row;
                for (std::size_t i = walk.sizes.size() - 1; i-- > 0;) {
                    from += rest % walk.sizes[i] * walk.steps[i];
                    rest /= walk.sizes[i];
                }
                LEAF(binary_run)(kind, input.data() + row * run, from, step, run, out.data() + row * run);
            }
        };
        if (count && walk.sizes.size() == 2 && walk.steps[0] == 0 && step == 1 && run <= 2048) {
            // Channels: rows of one short pattern. Repeat it, so that the inner loop is worth its call.
            const std::int64_t repeats = std::max<std::int64_t>(1, 1024 / run), block = repeats * run;
            const Buffer<float> pattern(block);
            for (std::int64_t i = 0; i < repeats; ++i) std::copy_n(other, run, pattern.data() + i * run);
            parallel_for(count / run, grain_for(run), [&](std::int64_t begin, std::int64_t end) {
                LEAF(binary_blocks)(kind, input.data() + begin * run, pattern.data(), block, (end - begin) * run,
                                    out.data() + begin * run);
            });
        } else if (count && walk.sizes.size() > 1) {
            parallel_for(count / run, grain_for(run), rows);
        } else if (count) {
            parallel_for(run, 16384, [&](std::int64_t begin, std::int64_t end) {
                LEAF(binary_run)(kind, input.data() + begin, other + begin * step, step, end - begin, out.data() + begin);
            });
        }
    }
    return out.to_python();
}

nb::object binary_scalar(const Input<float>& a, float b, Binary kind) {
    const Dims shape = shape_of(a);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(a));
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> input(a, order);
        parallel_for(count, 16384, [&](std::int64_t begin, std::int64_t end) {
            LEAF(binary_run)(kind, input.data() + begin, &b, 0, end - begin, out.data() + begin);
        });
    }
    return out.to_python();
}

// Sums over the dimensions in `dim`. The input is walked in the order of its memory, so that both sums along memory
// and sums of whole rows read it once; every part is summed into doubles of its own.
nb::object sum(const Input<float>& x, const Dims& dim, bool keepdim) {
    const Dims shape = shape_of(x);
    std::vector<bool> reduced(shape.size(), false);
    for (const std::int64_t axis : dim) {
        if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
            refuse("sum over dim " + std::to_string(axis) + " of shape " + text(shape));
        reduced[static_cast<std::size_t>(axis)] = true;
    }
    Dims full = shape, kept;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (reduced[i]) full[i] = 1;
        if (!reduced[i] || keepdim) kept.push_back(full[i]);
    }
    const Dims full_strides = row_major_strides(full);
    const std::int64_t count = count_of(shape), results = count_of(full);
    auto out = Output<float>::row_major(kept);
    {
        KernelScope scope;
        const Dims order = dense_strides_like(shape, strides_of(x));
        const Dense<float> input(x, order);
        Dims target(shape.size());
        for (std::size_t i = 0; i < shape.size(); ++i) target[i] = reduced[i] ? 0 : full_strides[i];
        const Broadcast walk = merge(shape, order, target);
        const std::int64_t run = walk.sizes.back(), step = walk.steps.back();
        const std::int64_t rows = count ? count / run : 0;
        const bool few = walk.sizes.size() == 2 && walk.steps[0] == 0 && step == 1;
        // Parts add into doubles of their own, which pays while there are few of them.
        const std::int64_t parts = results > count / 8 + 1 ? 1 : part_count(rows, grain_for(run));
        const Buffer<double> totals((parts + 1) * results);
        std::fill_n(totals.data(), (parts + 1) * results, 0.0);
        const auto add = [&](std::int64_t begin, std::int64_t end, double* into) {
            if (few) {
                LEAF(sum_rows)(input.data() + begin * run, end - begin, run, run, into);
                return;
            }
            for (std::int64_t row = begin; row < end; ++row) {
                std::int64_t at = 0, rest = row;
                for (std::size_t i = walk.sizes.size() - 1; i-- > 0;) {
                    at += rest % walk.sizes[i] * walk.steps[i];
                    rest /= walk.sizes[i];
                }
                const float* from = input.data() + row * run;
                if (step == 0) {
                    into[at] += LEAF(sum_run)(from, run);
                } else if (step == 1) {
                    LEAF(sum_rows)(from, 1, run, run, into + at);
                } else {
                    for (std::int64_t i = 0; i < run; ++i) into[at + i * step] += static_cast<double>(from[i]);
                }
            }
        };
        if (walk.sizes.size() == 1 && step == 0) {
            const std::int64_t pieces = part_count(run, 16384);
            const Buffer<double> sums(std::max<std::int64_t>(1, pieces));
            parallel_parts(run, count ? pieces : 0, [&](std::int64_t piece, std::int64_t begin, std::int64_t end) {
                sums.data()[piece] = LEAF(sum_run)(input.data() + begin, end - begin);
            });
            for (std::int64_t piece = 0; count && piece < pieces; ++piece) totals.data()[0] += sums.data()[piece];
        } else {
            parallel_parts(rows, parts, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
                add(begin, end, totals.data() + (part + 1) * results);
            });
            for (std::int64_t i = results; i < (parts + 1) * results; ++i) totals.data()[i % results] += totals.data()[i];
        }
        for (std::int64_t i = 0; i < results; ++i) out.data()[i] = static_cast<float>(totals.data()[i]);
    }
    return out.to_python();
}

void check_rows(const Dims& shape, const char* name) {
    if (shape.empty() || shape.back() == 0)
        refuse(std::string(name) + " of shape " + text(shape) + ": the last dimension must not be empty");
}

nb::object softmax(const Input<float>& x, bool logarithm) {
    const Dims shape = shape_of(x);
    check_rows(shape, "softmax");
    const std::int64_t columns = shape.back(), rows = count_of(shape) / columns;
    auto out = Output<float>::row_major(shape);
    {
        KernelScope scope;
        const auto input = row_major(x);
        parallel_for(rows, grain_for(columns * 4), [&](std::int64_t begin, std::int64_t end) {
            LEAF(softmax_rows)(input.data() + begin * columns, end - begin, columns, logarithm,
                               out.data() + begin * columns);
        });
    }
    return out.to_python();
}

nb::object softmax_gradient(const Input<float>& gradient, const Input<float>& y, bool logarithm) {
    const Dims shape = shape_of(y);
    check_rows(shape, "softmax gradient");
    if (shape_of(gradient) != shape)
        refuse("softmax gradient has shape " + text(shape_of(gradient)) + "; expected " + text(shape));
    const std::int64_t columns = shape.back(), rows = count_of(shape) / columns;
    auto out = Output<float>::row_major(shape);
    {
        KernelScope scope;
        const auto gradients = row_major(gradient);
        const auto outputs = row_major(y);
        parallel_for(rows, grain_for(columns * 2), [&](std::int64_t begin, std::int64_t end) {
            LEAF(softmax_gradient_rows)(gradients.data() + begin * columns, outputs.data() + begin * columns, end - begin,
                                        columns, logarithm, out.data() + begin * columns);
        });
    }
    return out.to_python();
}

}  // namespace

void bind_elementwise(nb::module_& module) {
    using nb::arg;
    static constexpr std::pair<const char*, Unary> unaries[] = {
        {"relu", Unary::relu}, {"neg", Unary::neg},   {"abs", Unary::abs},        {"exp", Unary::exp},
        {"tanh", Unary::tanh}, {"sqrt", Unary::sqrt}, {"sigmoid", Unary::sigmoid}};
    for (const auto& [name, kind] : unaries)
        module.def(
            name, [kind = kind](const Input<float>& x) { return unary(x, kind); }, arg("x").noconvert());
    static constexpr std::pair<const char*, Binary> binaries[] = {{"add", Binary::add},
                                                                  {"sub", Binary::sub},
                                                                  {"mul", Binary::mul},
                                                                  {"div", Binary::div},
                                                                  {"reversed_sub", Binary::reversed_sub},
                                                                  {"reversed_div", Binary::reversed_div},
                                                                  {"maximum", Binary::maximum},
                                                                  {"minimum", Binary::minimum},
                                                                  {"relu_gradient", Binary::relu_gradient}};
    for (const auto& [name, kind] : binaries) {
        module.def(
            name, [kind = kind](const Input<float>& a, const Input<float>& b) { return binary(a, b, kind); },
            arg("a").noconvert(), arg("b").noconvert());
        module.def(
            name, [kind = kind](const Input<float>& a, float b) { return binary_scalar(a, b, kind); },
            arg("a").noconvert(), arg("b"));
    }
    module.def("sum", &sum, arg("x").noconvert(), nb::kw_only(), arg("dim"), arg("keepdim"));
    module.def("softmax", &softmax, arg("x").noconvert(), nb::kw_only(), arg("logarithm") = false);
    module.def("softmax_gradient", &softmax_gradient, arg("gradient").noconvert(), arg("y").noconvert(), nb::kw_only(),
               arg("logarithm") = false);
}

}  // namespace workbench
