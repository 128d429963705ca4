// How large values of a program can be. Rectifiers, clamps and maxima of oneDNN make a number of NaN, where ops give NaN: so
// nothing may overflow on the way to one. A sum of finite products is NaN only where a part of it overflowed, and from how large the
// operands are follows how large it can be. Where that is too much, or is not known, a step looks at the values; as normalised
// networks grow by some two digits a layer, that is every tenth layer or none.
#include <algorithm>
#include <cmath>
#include <limits>

#include "steps.hpp"

namespace workbench::compiled {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();
// What sums may be at most: a tenth of what float32 and bfloat16 hold, as bounds are computed with rounding, too.
constexpr double most = 1e37;
// Where it is known to be larger, it is looked at before something else is computed of it: so operands of a sum are, and not each of
// many sums.
constexpr double soon = 1e28;

bool hides_nan(dnnl::algorithm what) { return what != dnnl::algorithm::binary_add && what != dnnl::algorithm::eltwise_linear; }

}  // namespace

double Program::bound(int x) {
    const auto known = at(x).bound;
    double found = known ? known() : unknown;
    if (!(found <= most)) found = unknown;
    slots_[static_cast<std::size_t>(x)].bound = [found] { return found; };
    return found;
}

// The instructions, done to how large values are at most.
std::vector<double> Chain::bounds(const std::vector<double>& inputs) const {
    std::vector<double> at(inputs.size() + code_.outputs.size(), unknown);
    std::copy(inputs.begin(), inputs.end(), at.begin());
    for (const double one : code_.constants) at.push_back(std::isfinite(one) ? std::abs(one) : unknown);
    at.resize(at.size() + static_cast<std::size_t>(code_.temporaries), unknown);
    const auto is_constant = [&](int slot) {
        const auto place = static_cast<std::size_t>(slot), first = inputs.size() + code_.outputs.size();
        return place >= first && place < first + code_.constants.size();
    };
    double x = unknown;
    for (const Instruction& one : code_.instructions) {
        const double a = at[static_cast<std::size_t>(one.slots[0])], b = at[static_cast<std::size_t>(one.slots[1])];
        switch (one.operation) {
            case Operation::load: x = a; break;
            case Operation::store: at[static_cast<std::size_t>(one.slots[0])] = x; break;
            case Operation::neg: case Operation::abs: case Operation::relu: break;
            case Operation::add: case Operation::sub: case Operation::reversed_sub: x += a; break;
            case Operation::mul: x *= a; break;
            case Operation::multiply_add: x = x * a + b; break;
            case Operation::div: x = is_constant(one.slots[0]) ? x / a : unknown; break;
            case Operation::maximum: case Operation::minimum: x = std::max(x, a); break;
            // Of NaN these are no NaN.
            case Operation::eq: case Operation::ne: case Operation::lt: case Operation::le: case Operation::gt: case Operation::ge: x = 1; break;
            case Operation::clamp: x = x <= most ? std::max(a, b) : unknown; break;
            case Operation::choose: x = std::max(a, b); break;
            case Operation::keep_where: case Operation::replace_where: x = std::max(x, b); break;
            case Operation::prelu: x = x * a <= most ? std::max(x, x * a) : unknown; break;
            case Operation::sign: case Operation::tanh: case Operation::sigmoid: case Operation::erf: case Operation::ndtr:
            case Operation::hardsigmoid: case Operation::sin: case Operation::cos: x = x <= most ? 1 : unknown; break;
            // No more than what they are given, but for rounding or a number below one.
            case Operation::floor: case Operation::ceil: case Operation::trunc: case Operation::round: case Operation::round_to_bfloat16:
            case Operation::gelu: case Operation::gelu_tanh: case Operation::silu: case Operation::hardswish: case Operation::mish:
                x = 1.01 * x + 1; break;
            default: x = unknown;
        }
        if (!(x <= most)) x = unknown;
    }
    return {at.begin() + static_cast<std::ptrdiff_t>(inputs.size()),
            at.begin() + static_cast<std::ptrdiff_t>(inputs.size() + code_.outputs.size())};
}

int Program::bounded(int x, std::function<double()> bound) {
    slots_[static_cast<std::size_t>(x)].bound = std::move(bound);
    return x;
}

int Program::alike_values(int x, int of) {
    return bounded(x, [this, of] { return bound(of); });
}

void Program::look(int x) {
    if (bound(x) <= usual_values) return;
    const Layout layout = at(x).layout;
    // All that lies there is read, so it must be values, or the zeros that fill blocks up.
    const bool whole = layout.get_submemory_offset() == 0 &&
                       (layout.get_inner_nblks() || layout.get_size() == static_cast<std::size_t>(count_of(shape(x))) * size_of_value(type(x)));
    const int seen = whole ? x : plain(x);
    const std::int64_t count = static_cast<std::int64_t>(at(seen).layout.get_size() / size_of_value(type(seen)));
    add_loop("look own", {seen}, thread_count(), [type = type(seen), count](void* const* places) {
        if (!all_within(type, places[0], count, usual_values)) throw OutOfRange{};
    });
    bounded(x, [] { return usual_values; });
}

void Program::expect_finite(std::initializer_list<int> slots) {
    for (const int x : slots)
        if (!std::isfinite(bound(x))) look(x);
}

double Program::after_all(double sum, const std::vector<After>& after) {
    using dnnl::algorithm;
    for (const After& one : after) {
        if (!(sum <= most)) return unknown;
        switch (one.what) {
            case algorithm::binary_add: sum += bound(one.slot); break;
            case algorithm::eltwise_linear: sum = std::abs(one.alpha) * sum + std::abs(one.beta); break;
            case algorithm::eltwise_clip_v2: sum = std::max(std::abs(one.alpha), std::abs(one.beta)); break;
            case algorithm::eltwise_logistic:
            case algorithm::eltwise_tanh:
            case algorithm::eltwise_hardsigmoid: sum = 1; break;
            // No more than what they are given, but for a number below one.
            case algorithm::eltwise_relu:
            case algorithm::eltwise_gelu_erf:
            case algorithm::eltwise_gelu_tanh:
            case algorithm::eltwise_swish:
            case algorithm::eltwise_hardswish: sum += 1; break;
            default: return unknown;
        }
    }
    return sum;
}

void Program::expect_no_overflow(const std::vector<After>& after, const std::vector<int>& operands, const std::function<double()>& sum) {
    std::vector<After> before;  // the first function that hides it
    for (const After& one : after) {
        if (hides_nan(one.what)) break;
        before.push_back(one);
    }
    if (before.size() == after.size()) return;
    std::vector<int> read = operands;
    for (const After& one : before)
        if (one.slot >= 0) read.push_back(one.slot);
    for (const int x : read)
        if (bound(x) > soon) look(x);
    if (after_all(sum(), before) <= most) return;
    for (const int x : read) look(x);
    if (!(after_all(sum(), before) <= most)) throw std::runtime_error("its weights are so large that it may overflow");
}

}  // namespace workbench::compiled
