// Losses of float32 values against targets in one pass: each, their sum or their mean, and gradients through them.
#include "losses.hpp"

#define WORKBENCH_LEAVES "leaves/losses.inl"
#define WORKBENCH_LEAVES_WIDE
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

constexpr std::int64_t block = 16384;  // losses that are summed together, whatever the number of threads

Dims common_shape(const Input<float>& x, const Input<float>& target) {
    const Dims shape = shape_of(x);
    if (shape_of(target) != shape) refuse("a loss of " + text(shape) + " against targets " + text(shape_of(target)));
    return shape;
}

std::int64_t grain_of(Loss kind) {
    return kind == Loss::square || kind == Loss::magnitude || kind == Loss::huber ? 16384 : 4096;
}

nb::object loss(const Input<float>& x, const Input<float>& target, const std::string& reduction, Loss kind, float p, float q) {
    const Dims shape = common_shape(x, target);
    const std::int64_t count = count_of(shape);
    const Dims order = dense_strides_like(shape, strides_of(x));
    const bool each = reduction == "none";
    auto out = each ? Output<float>(shape, order) : Output<float>::row_major({});
    {
        KernelScope scope;
        const Dense<float> input(x, order), targets(target, order);
        if (each) {
            const bool streamed = outgrows_caches(3 * count);
            parallel_for(count, grain_of(kind), [&](std::int64_t begin, std::int64_t end) {
                LEAF_WIDE(loss_each)(kind, input.data() + begin, targets.data() + begin, end - begin, p, q, out.data() + begin, streamed);
            });
        } else {
            const std::int64_t blocks = (count + block - 1) / block;
            const Buffer<double> sums(blocks);
            parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i)
                    sums.data()[i] = LEAF_WIDE(loss_sum)(kind, input.data() + i * block, targets.data() + i * block,
                                                         std::min(block, count - i * block), p, q);
            });
            double total = 0;
            for (std::int64_t i = 0; i < blocks; ++i) total += sums.data()[i];
            *out.data() = static_cast<float>(reduction == "mean" ? total / static_cast<double>(count) : total);
        }
    }
    return out.to_python();
}

nb::object loss_gradient(const Input<float>& g, const Input<float>& x, const Input<float>& target, const std::string& reduction,
                         Loss kind, float p, float q) {
    const Dims shape = common_shape(x, target);
    const std::int64_t count = count_of(shape);
    const bool each = reduction == "none";
    if (shape_of(g) != (each ? shape : Dims{})) refuse("a gradient of " + text(shape_of(g)) + " for losses of " + text(shape));
    const Dims order = dense_strides_like(shape, strides_of(x));
    bool repeated = count > 0;  // one value along all dims: no copy is made of it
    for (std::size_t i = 0; i < g.ndim(); ++i) repeated = repeated && (g.stride(i) == 0 || shape[i] == 1);
    Output<float> out(shape, order);
    {
        KernelScope scope;
        const Dense<float> input(x, order), targets(target, order);
        const bool streamed = outgrows_caches(3 * count);
        const float share = !repeated ? 0.f
                            : reduction == "mean" ? static_cast<float>(static_cast<double>(*g.data()) / static_cast<double>(count))
                                                  : *g.data();
        const auto run = [&](const float* gradients) {
            parallel_for(count, grain_of(kind), [&](std::int64_t begin, std::int64_t end) {
                LEAF_WIDE(loss_gradient)(kind, gradients ? gradients + begin : nullptr, share, input.data() + begin,
                                         targets.data() + begin, end - begin, p, q, out.data() + begin, streamed);
            });
        };
        if (repeated) {
            run(nullptr);
        } else {
            const Dense<float> gradient(g, order);
            run(gradient.data());
        }
    }
    return out.to_python();
}

}  // namespace

void bind_losses(nb::module_& module) {
    using nb::arg;
    static constexpr std::tuple<const char*, const char*, Loss> kinds[] = {
        {"mse_loss", "mse_loss_gradient", Loss::square},
        {"l1_loss", "l1_loss_gradient", Loss::magnitude},
        {"huber_loss", "huber_loss_gradient", Loss::huber},
        {"logits_loss", "logits_loss_gradient", Loss::logits},
        {"divergence", "divergence_gradient", Loss::divergence},
        {"divergence_of_logs", "divergence_of_logs_gradient", Loss::divergence_of_logs}};
    for (const auto& [name, gradient, kind] : kinds) {
        module.def(
            name,
            [kind = kind](const Input<float>& x, const Input<float>& target, const std::string& reduction, float p, float q) {
                return loss(x, target, reduction, kind, p, q);
            },
            arg("x").noconvert(), arg("target").noconvert(), arg("reduction"), arg("p") = 0.f, arg("q") = 1.f);
        module.def(
            gradient,
            [kind = kind](const Input<float>& g, const Input<float>& x, const Input<float>& target, const std::string& reduction,
                          float p, float q) { return loss_gradient(g, x, target, reduction, kind, p, q); },
            arg("g").noconvert(), arg("x").noconvert(), arg("target").noconvert(), arg("reduction"), arg("p") = 0.f, arg("q") = 1.f);
    }
}

}  // namespace workbench
