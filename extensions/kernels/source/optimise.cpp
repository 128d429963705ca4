// Optimizer steps: one pass over parameter, gradient and state, in place.
#include "optimise.hpp"

#include <cmath>

#define WORKBENCH_LEAVES "leaves/optimise.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {
namespace {

// The arrays of one parameter must have one shape and one dense memory order; returns the number of elements.
template <typename... Arrays>
std::int64_t check_state(const char* optimizer, const InPlace<float>& parameter, const Arrays&... others) {
    const Dims shape = shape_of(parameter), strides = strides_of(parameter);
    if (!lies_as(shape, strides, row_major_strides(shape)) && !lies_as(shape, strides, channels_last_strides(shape)))
        refuse(std::string(optimizer) + ": the parameter must be dense in memory; its shape is " + text(shape) +
               " and its strides " + text(strides));
    const auto check = [&](const auto& other) {
        if (shape_of(other) != shape)
            refuse(std::string(optimizer) + ": parameter " + text(shape) + " and " + text(shape_of(other)) +
                   " differ in shape");
        if (!lies_as(shape, strides_of(other), strides))
            refuse(std::string(optimizer) + ": gradient and state must lie in memory as the parameter does; strides are " +
                   text(strides) + " and " + text(strides_of(other)));
    };
    (check(others), ...);
    return count_of(shape);
}

void adam_step(InPlace<float> parameter, Input<float> gradient, InPlace<float> mean, InPlace<float> square, double lr,
               double beta1, double beta2, double eps, double weight_decay, std::int64_t step, bool decoupled) {
    const std::int64_t count = check_state("adam", parameter, gradient, mean, square);
    if (step < 1) refuse("adam: step is " + std::to_string(step) + "; the first one is 1");
    const AdamStep update{static_cast<float>(lr),
                          static_cast<float>(beta1),
                          static_cast<float>(beta2),
                          static_cast<float>(eps),
                          static_cast<float>(weight_decay),
                          static_cast<float>(1 - std::pow(beta1, static_cast<double>(step))),
                          static_cast<float>(std::sqrt(1 - std::pow(beta2, static_cast<double>(step)))),
                          decoupled};
    float *p = parameter.data(), *m = mean.data(), *s = square.data();
    const float* g = gradient.data();
    KernelScope scope;
    parallel_for(count, 8192, [&](std::int64_t begin, std::int64_t end) {
        LEAF(adam_run)(update, p + begin, g + begin, m + begin, s + begin, end - begin);
    });
}

void sgd_step(InPlace<float> parameter, Input<float> gradient, std::optional<InPlace<float>> velocity, double lr,
              double momentum, double dampening, double weight_decay, bool nesterov, bool first) {
    const std::int64_t count = velocity ? check_state("sgd", parameter, gradient, *velocity)
                                        : check_state("sgd", parameter, gradient);
    if (momentum != 0 && !velocity) refuse("sgd: momentum needs a velocity array");
    float *p = parameter.data(), *v = velocity ? velocity->data() : nullptr;
    const float* g = gradient.data();
    KernelScope scope;
    parallel_for(count, 8192, [&](std::int64_t begin, std::int64_t end) {
        LEAF(sgd_run)(static_cast<float>(lr), static_cast<float>(momentum), static_cast<float>(dampening),
                      static_cast<float>(weight_decay), nesterov, first, p + begin, g + begin,
                      v ? v + begin : nullptr, end - begin);
    });
}

}  // namespace

void bind_optimise(nb::module_& module) {
    using nb::arg;
    module.def("adam_step", &adam_step, arg("parameter").noconvert(), arg("gradient").noconvert(),
               arg("mean").noconvert(), arg("square").noconvert(), nb::kw_only(), arg("lr"), arg("beta1"), arg("beta2"),
               arg("eps"), arg("weight_decay"), arg("step"), arg("decoupled"));
    module.def("sgd_step", &sgd_step, arg("parameter").noconvert(), arg("gradient").noconvert(),
               arg("velocity").noconvert().none(), nb::kw_only(), arg("lr"), arg("momentum"), arg("dampening"),
               arg("weight_decay"), arg("nesterov"), arg("first"));
}

}  // namespace workbench
