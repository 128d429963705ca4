#include "optimizers.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#define WORKBENCH_LEAVES "leaves/optimizers.inl"
#include "dispatch.hpp"
#include "threads.hpp"

namespace workbench {

template <typename Real>
using Update = void (*)(const StepSettings&, const double*, Real*, const Real*, Real*, Real*, Real*, std::int64_t);
using Prepare = void (*)(const StepSettings&, double, bool, double*, double*);

struct StepRule {
    const char* name;
    Update<float> narrow;
    Update<double> wide;
    Prepare prepare;
};

namespace {

// (settings, step, first, product, own): what depends on how many steps a parameter has made.

void prepare_sgd(const StepSettings&, double, bool first, double*, double* own) { own[0] = first; }

void prepare_none(const StepSettings&, double, bool, double*, double*) {}

void prepare_adam(const StepSettings& set, double step, bool, double*, double* own) {
    own[0] = set.rate / (1 - std::pow(set.beta1, step));
    own[1] = 1 / std::sqrt(1 - std::pow(set.beta2, step));
}

void prepare_nadam(const StepSettings& set, double step, bool, double* product, double* own) {
    const auto momentum_at = [&](double at) { return set.beta1 * (1 - 0.5 * std::pow(0.96, at * set.other)); };
    const double now = momentum_at(step), next = momentum_at(step + 1);
    *product = static_cast<float>(*product) * static_cast<float>(now);
    own[0] = set.rate * (1 - now) / (1 - *product);
    own[1] = set.rate * next / (1 - *product * next);
    own[2] = 1 / (1 - std::pow(set.beta2, step));
}

void prepare_radam(const StepSettings& set, double step, bool, double*, double* own) {
    const double correction1 = 1 - std::pow(set.beta1, step), power = std::pow(set.beta2, step);
    const double correction2 = 1 - power, longest = 2 / (1 - set.beta2) - 1;
    const double length = longest - 2 * step * power / correction2;
    own[0] = set.rate / correction1;
    own[1] = length > 5;
    if (own[1] != 0)
        own[0] *= std::sqrt(correction2 * (length - 4) * (length - 2) * longest /
                            ((longest - 4) * (longest - 2) * length));
}

void prepare_adamax(const StepSettings& set, double step, bool, double*, double* own) {
    own[0] = set.rate / (1 - std::pow(set.beta1, step));
}

void prepare_adagrad(const StepSettings& set, double step, bool, double*, double* own) {
    own[0] = set.rate / (1 + (step - 1) * set.other);
}

#define WORKBENCH_STEP_RULE(name, prepare) StepRule{#name, LEAF(name##_float), LEAF(name##_double), prepare}

const StepRule* rules(std::size_t& count) {
    static const StepRule all[] = {
        WORKBENCH_STEP_RULE(sgd, prepare_sgd),         WORKBENCH_STEP_RULE(adam, prepare_adam),
        WORKBENCH_STEP_RULE(nadam, prepare_nadam),     WORKBENCH_STEP_RULE(radam, prepare_radam),
        WORKBENCH_STEP_RULE(adamax, prepare_adamax),   WORKBENCH_STEP_RULE(rmsprop, prepare_none),
        WORKBENCH_STEP_RULE(adagrad, prepare_adagrad), WORKBENCH_STEP_RULE(adadelta, prepare_none),
    };
    count = sizeof all / sizeof *all;
    return all;
}

template <typename Real>
void run_part(Update<Real> update, const StepSettings& settings, const StepPiece& piece, std::int64_t begin,
              std::int64_t end) {
    const auto at = [&](void* start) { return start ? static_cast<Real*>(start) + begin : nullptr; };
    update(settings, piece.own, at(piece.parameter), static_cast<const Real*>(piece.gradient) + begin,
           at(piece.state[0]), at(piece.state[1]), at(piece.state[2]), end - begin);
}

} // namespace

const StepRule* step_rule(const char* name) {
    std::size_t count = 0;
    const StepRule* all = rules(count);
    for (std::size_t i = 0; i < count; ++i)
        if (std::strcmp(all[i].name, name) == 0) return all + i;
    return nullptr;
}

void prepare_step(const StepRule& rule, const StepSettings& settings, double step, bool first, double* product,
                  StepPiece& piece) {
    rule.prepare(settings, step, first, product, piece.own);
}

void run_step(const StepRule& rule, const StepSettings& settings, const std::vector<StepPiece>& pieces, bool in_order) {
    std::vector<std::int64_t> ends(pieces.size()); // of the pieces, laid one behind the other
    std::int64_t total = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) ends[i] = total += pieces[i].count;
    const auto run = [&](std::int64_t begin, std::int64_t end) {
        auto i = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
        for (; i < pieces.size() && begin < end; ++i) {
            const StepPiece& piece = pieces[i];
            const std::int64_t start = ends[i] - piece.count, stop = std::min(end, ends[i]);
            if (begin >= stop) continue;
            if (piece.wide)
                run_part<double>(rule.wide, settings, piece, begin - start, stop - start);
            else
                run_part<float>(rule.narrow, settings, piece, begin - start, stop - start);
            begin = stop;
        }
    };
    if (in_order)
        run(0, total);
    else
        parallel_for(total, 16384, run);
}

} // namespace workbench
