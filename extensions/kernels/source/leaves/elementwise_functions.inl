// The functions of elementwise.hpp, of registers. Included once per instruction set, behind functions.inl.

template <Unary kind>
static WORKBENCH_INLINE floats function(floats x) {
    if constexpr (kind == Unary::relu) return x < 0.f ? all(0.f) : x;
    if constexpr (kind == Unary::neg) return -x;
    if constexpr (kind == Unary::abs) return magnitude(x);
    if constexpr (kind == Unary::exp) return exponential(x);
    if constexpr (kind == Unary::tanh) return hyperbolic_tangent(x);
    if constexpr (kind == Unary::sigmoid) return logistic(x);
    if constexpr (kind == Unary::erf) return error_function(x);
    if constexpr (kind == Unary::ndtr) {
        floats density;
        return normal_below(x, density);
    }
    if constexpr (kind == Unary::gelu) return gelu(x);
    if constexpr (kind == Unary::gelu_tanh) return gelu_tanh(x);
    if constexpr (kind == Unary::silu) return silu(x);
    if constexpr (kind == Unary::sqrt) return square_root(x);
}

// NaN wins in maximum and minimum.
template <Binary kind>
static WORKBENCH_INLINE floats function(floats x, floats y) {
    if constexpr (kind == Binary::add) return x + y;
    if constexpr (kind == Binary::sub) return x - y;
    if constexpr (kind == Binary::mul) return x * y;
    if constexpr (kind == Binary::div) return x / y;
    if constexpr (kind == Binary::reversed_sub) return y - x;
    if constexpr (kind == Binary::reversed_div) return y / x;
    if constexpr (kind == Binary::maximum) return x != x ? x : (x > y ? x : y);
    if constexpr (kind == Binary::minimum) return x != x ? x : (x < y ? x : y);
    if constexpr (kind == Binary::relu_gradient) return y <= 0.f ? all(0.f) : x;  // where y is NaN, it goes through
    if constexpr (kind == Binary::tanh_gradient) return x * (1.f - y * y);
    if constexpr (kind == Binary::sigmoid_gradient) return x * (y * (1.f - y));
    if constexpr (kind == Binary::gelu_gradient) return x * gelu_slope(y);
    if constexpr (kind == Binary::gelu_tanh_gradient) return x * gelu_tanh_slope(y);
    if constexpr (kind == Binary::silu_gradient) return x * silu_slope(y);
    if constexpr (kind == Binary::prelu) return x > 0.f ? x : x * y;
}
