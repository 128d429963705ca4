#include "product_choice.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dispatch.hpp"
#include "engine.hpp"
#include "product.hpp"

namespace workbench {
namespace {

// oneDNN's gemm, which copies what it needs; oneDNN's product made for these sizes, which reads both where they lie; the same
// with the second operand brought into oneDNN's own order first; our own.
enum class Way { gemm, made, packed, own };
constexpr std::array<const char*, 4> words = {"gemm", "made", "packed", "own"};

// Multiplications below which nothing is measured: what could be won is less than looking it up is worth.
constexpr std::int64_t worth_measuring = std::int64_t{1} << 23;
// What is measured takes at most so many: a few milliseconds. Of more, some of the rows.
constexpr std::int64_t measured_at_most = std::int64_t{1} << 27;
// A way takes the place of one that stands before it if it needs at most this part of its time, so that noise decides nothing.
constexpr double clearly = 0.93;
// How often each way is timed, in turn; after two, one that needs more than twice the time of the best is not tried again.
constexpr int rounds = 5;
constexpr double hopeless = 2.0;

void gemm(const Product& p) {
    if (dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.m, p.n, p.k, 1.f, p.a, p.a_row, p.b, p.b_row, 0.f, p.out,
                   p.n) != dnnl_success)
        throw std::runtime_error("oneDNN's gemm failed");
}

void own(const Product& p, bool alone = false) {
    own_product<float>({p.a, p.a_transposed ? 1 : p.a_row, p.a_transposed ? p.a_row : 1},
                       {p.b, p.b_transposed ? 1 : p.b_row, p.b_transposed ? p.b_row : 1}, p.m, p.n, p.k, p.out, alone);
}

// Multiplications from which it may pay to make a product for its very sizes, which takes 0.3 ms.
constexpr std::int64_t worth_making = std::int64_t{1} << 26;
bool is_worth_making(const Product& p) { return p.m * p.n * p.k >= worth_making; }

// oneDNN's product for one set of sizes.
struct Made {
    Shared multiply, pack;
    dnnl::memory::desc source, plain, weight, result;

    // Null where oneDNN has no such product for this processor.
    static std::shared_ptr<const Made> of(const Product& p, bool packed) {
        static auto* kept = new RecentlyUsed<Made>(primitives_kept);
        return kept->get({packed, p.a_row, p.a_transposed, p.b_row, p.b_transposed, p.m, p.n, p.k, omp_get_max_threads()},
                         [&] { return make(p, packed); });
    }
    static std::shared_ptr<Made> make(const Product& p, bool packed) {
        const auto lying = [](const Dims& shape, std::int64_t row, bool transposed) {
            return describe_floats(shape, transposed ? Dims{1, row} : Dims{row, 1});
        };
        const auto plain = lying({p.k, p.n}, p.b_row, p.b_transposed);
        const dnnl::matmul::primitive_desc description(engine(), lying({p.m, p.k}, p.a_row, p.a_transposed),
                                                       packed ? any_floats({p.k, p.n}) : plain,
                                                       describe_floats({p.m, p.n}, {p.n, 1}), with_own_room(), true);
        if (!description || std::string(description.impl_info_str()).rfind("brg", 0) != 0) return nullptr;
        const auto weight = description.weights_desc();
        return std::make_shared<Made>(Made{Shared(description), weight == plain ? Shared() : repacking(plain, weight),
                                           description.src_desc(), plain, weight, description.dst_desc()});
    }
    void operator()(const Product& p) const {
        if (weight == plain) return run(p, bound(weight, p.b));
        const Room room(weight);
        pack.with_room({{DNNL_ARG_FROM, bound(plain, p.b)}, {DNNL_ARG_TO, room.memory()}});
        run(p, room.memory());
    }

   private:
    void run(const Product& p, const dnnl::memory& weights) const {
        multiply.with_room({{DNNL_ARG_SRC, bound(source, p.a)}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, bound(result, p.out)}});
        stream().wait();
    }
};

// Says whether it could.
bool run(Way way, const Product& p) {
    if (way == Way::gemm) return gemm(p), true;
    if (way == Way::own) return own(p), true;
    const auto made = Made::of(p, way == Way::packed);
    if (made) (*made)(p);
    return made != nullptr;
}

std::optional<Way> named(const std::string& word) {
    for (std::size_t i = 0; i < words.size(); ++i)
        if (words[i] == word) return static_cast<Way>(i);
    return std::nullopt;
}

// use_deterministic_algorithms: no measurement decides.
std::atomic<bool> unmeasured{false};

// The way that nobody measured: what the setting says, or gemm where the program wants a fixed one.
std::optional<Way> fixed() {
    static const std::optional<Way> way = []() -> std::optional<Way> {
        const char* set = std::getenv("WORKBENCH_PRODUCTS");
        if (!set || std::string(set) == "measure" || !*set) return std::nullopt;
        if (const auto found = named(set)) return found;
        refuse("WORKBENCH_PRODUCTS is '" + std::string(set) + "'; expected measure, gemm, made, packed or own");
    }();
    if (!way && unmeasured.load(std::memory_order_relaxed)) return Way::gemm;
    return way;
}

struct Candidate {
    Way way;
    std::function<void()> work;
    double best = 1e30;
};

// The fastest of several, which stand in order of preference. They are timed in turn and by their shortest time: whatever else
// the machine does for a while meets all of them, and what it does now and then none.
Way fastest(std::vector<Candidate> candidates) {
    for (auto& one : candidates) one.work();  // makes primitives, brings memory
    double shortest = 1e30;
    for (int round = 0; round < rounds; ++round)
        for (auto& one : candidates) {
            if (round >= 2 && one.best > hopeless * shortest) continue;
            const auto start = std::chrono::steady_clock::now();
            one.work();
            one.best = std::min(one.best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            shortest = std::min(shortest, one.best);
        }
    const Candidate* found = &candidates.front();
    for (const auto& one : candidates)
        if (one.best < found->best * clearly) found = &one;
    return found->way;
}

// Runs every way on some of the rows; into memory of its own, since a result may be in use.
Way fastest(Product p) {
    const bool worth = is_worth_making(p);
    p.m = std::min(p.m, std::max<std::int64_t>(96, measured_at_most / (p.n * p.k)));
    const Buffer<float> out(p.m * p.n);
    p.out = out.data();
    std::vector<Candidate> candidates;
    for (const Way way : {Way::gemm, Way::made, Way::packed, Way::own}) {
        if (way == Way::own ? !has_avx2() : way != Way::gemm && !(worth && Made::of(p, way == Way::packed))) continue;
        candidates.push_back({way, [way, &p] { run(way, p); }});
    }
    return fastest(std::move(candidates));
}

std::int64_t magnitude(std::int64_t value) {
    std::int64_t bits = 0;
    for (; value > 1; value >>= 1) ++bits;
    return bits;
}

// A class of shapes: sizes to the next lower power of two, and what else matters to how fast each way is.
Dims class_of(const Product& p, bool batch) {
    const auto aliased = [](std::int64_t row) -> std::int64_t { return row % 1024 == 0; };
    return {batch, magnitude(p.m), magnitude(p.n), magnitude(p.k), p.a_transposed, p.b_transposed, aliased(p.a_row),
            aliased(p.b_row), batch ? 1 : omp_get_max_threads(), is_worth_making(p)};
}

// The class in words: what doctor shows, and under what its way is kept for other processes.
std::string text_of(const Dims& key) {
    const auto size = [&](std::size_t i) { return std::to_string(std::int64_t{1} << key[i]); };
    std::string found = std::string(key[0] ? "batch of " : "") + size(1) + "×" + size(3) + (key[4] ? "ᵀ" : "") + " @ " + size(3) +
                        "×" + size(2) + (key[5] ? "ᵀ" : "");
    if (key[6] || key[7])
        found += std::string(", rows of the ") + (key[6] && key[7] ? "operands" : key[6] ? "first" : "second") + " a page apart";
    if (key[9]) found += ", large";
    return found + ", " + std::to_string(key[8]) + (key[8] == 1 ? " thread" : " threads");
}

// Python's side of what other processes chose (workbench/kernels/kept_choices.py): `known(class)` is a way or None, `settle(class,
// way)` keeps the way, and gives the one that another process has kept meanwhile.
nb::object& keeper() {
    static auto* object = new nb::object(nb::none());  // not given back: threads may outlive the interpreter
    return *object;
}
std::optional<Way> ask_keeper(const char* question, const std::string& text, const char* way) {
    const GilAcquire gil;
    if (keeper().is_none()) return std::nullopt;
    const nb::object answer = way ? keeper().attr(question)(text, way) : keeper().attr(question)(text);
    return answer.is_none() ? std::nullopt : named(nb::cast<std::string>(answer));
}

// What has been chosen stays: one class has one way as long as the process lives, and in later ones.
class Choices {
   public:
    template <typename Measure>
    Way get(const Dims& key, Measure&& measure) {
        {
            const std::lock_guard lock(mutex_);
            if (const auto found = ways_.find(key); found != ways_.end()) return found->second;
        }
        // Without the lock: what is measured takes locks of its own, and Python may run another thread.
        const std::string text = text_of(key);
        auto way = ask_keeper("known", text, nullptr);
        if (!way) {
            const Way measured = measure();
            way = ask_keeper("settle", text, words[static_cast<std::size_t>(measured)]).value_or(measured);
        }
        const std::lock_guard lock(mutex_);
        return ways_.emplace(key, *way).first->second;  // of two threads, the first
    }
    std::map<Dims, Way> all() {
        const std::lock_guard lock(mutex_);
        return ways_;
    }

   private:
    ForkMutex mutex_{ForkMutex::caches};
    std::map<Dims, Way> ways_;
};

Choices& choices() {
    static auto* all = new Choices();
    return *all;
}

}  // namespace

void multiply(const Product& p) {
    if (p.m == 0 || p.n == 0) return;
    if (p.k == 0) {
        std::fill_n(p.out, p.m * p.n, 0.f);
        return;
    }
    if (p.m * p.n * p.k < worth_measuring) return gemm(p);
    const auto set = fixed();
    const Way way = set ? *set : choices().get(class_of(p, false), [&] { return fastest(p); });
    // One shape of a class may have no product made for it.
    if (!run(way, p)) gemm(p);
}

void own_entry(const Product& one) { own(one, true); }

bool own_in_a_batch(const Product& one, std::int64_t entries) {
    constexpr std::int64_t least = 1 << 16;
    const std::int64_t products = one.m * one.n * one.k;
    if (products < least || products * entries < worth_measuring || !has_avx2()) return false;
    if (const auto set = fixed()) return *set == Way::own;
    const auto measured = [&] {
        Product p = one;
        const Buffer<float> out(p.m * p.n);
        p.out = out.data();
        const std::int64_t times = std::max<std::int64_t>(1, (1 << 22) / products);
        const int threads = omp_get_max_threads();
        omp_set_num_threads(1);
        const auto again = [times](auto&& way) {
            return [times, way] {
                for (std::int64_t i = 0; i < times; ++i) way();
            };
        };
        const Way found = fastest({{Way::gemm, again([&p] { gemm(p); })}, {Way::own, again([&p] { own(p, true); })}});
        omp_set_num_threads(threads);
        return found;
    };
    return choices().get(class_of(one, true), measured) == Way::own;
}

void bind_product_choice(nb::module_& module) {
    using nb::arg;
    // For each class of shapes that came up: what was chosen, in words.
    module.def("chosen_products", [] {
        nb::dict found;
        for (const auto& [key, way] : choices().all()) found[text_of(key).c_str()] = words[static_cast<std::size_t>(way)];
        return found;
    });
    module.def("keep_products", [](nb::object by) { keeper() = std::move(by); }, arg("keeper").none());
    module.def("measure_products", [](bool measure) { unmeasured = !measure; }, arg("measure"));
    module.def("products_are_fixed", [] { return fixed().has_value(); });
}

}  // namespace workbench
