// One number of threads for every kernel, and one way to split work over them.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#ifdef WORKBENCH_SANITIZE_thread
#include <thread>
#include <vector>
#endif

#include <nanobind/nanobind.h>

#include "workers.hpp"

namespace workbench {

int thread_count();
void set_thread_count(int count);
void bind_threads(nanobind::module_& module);

// A mutex that no other thread holds while this process forks: in the child nobody would ever give it back. Mutexes of one
// rank are never held together; one of a higher rank may be taken while one of a lower rank is held.
class ForkMutex {
   public:
    enum Rank : std::size_t { packing, caches, memory, ownership, ranks };
    explicit ForkMutex(Rank rank);
    ForkMutex(const ForkMutex&) = delete;
    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }
    ForkMutex* older() const { return older_; }

   private:
    std::mutex mutex_;
    ForkMutex* older_;  // of its rank
};

// Where a thread stays that Python ends. Before 3.14 a thread that asks for the lock while the interpreter ends is ended by
// unwinding its stack: that would give references back without the lock, or meet code that ends the process instead. So
// whatever may ask for the lock is called with `catch (...) { stay_for_ever(); }` around it.
[[noreturn]] void stay_for_ever();

// Lets other Python threads run.
class GilRelease {
   public:
    GilRelease() : state_(PyEval_SaveThread()) {}
    GilRelease(const GilRelease&) = delete;
    ~GilRelease();

   private:
    PyThreadState* state_;
};

// Has Python's lock, in a kernel that has given it back.
class GilAcquire {
   public:
    GilAcquire();
    GilAcquire(const GilAcquire&) = delete;
    ~GilAcquire() { PyGILState_Release(state_); }

   private:
    PyGILState_STATE state_;
};

// Entered by every heavy kernel: lets other Python threads run, and tells OpenMP (whose setting is per thread) how many
// workers this call may use; oneDNN reads the same setting. A call with few products stays on one thread: waking another
// takes as long as some two million of them.
class KernelScope {
   public:
    KernelScope() : KernelScope(std::int64_t{1} << 62) {}
    explicit KernelScope(std::int64_t products) {
        constexpr std::int64_t worth_a_thread = 2000000;
        const int workers =
            static_cast<int>(std::clamp<std::int64_t>(products / worth_a_thread, 1, thread_count()));
        if (omp_get_max_threads() != workers) omp_set_num_threads(workers);
    }

   private:
    GilRelease release_;
};

// Gives out ranges of [0, total) as they are asked for: large ones first, and small ones at the end, so that all threads end
// together, however fast each of them is just then. Each begins with a part of its own, which is the same in every loop of as much,
// so that it finds in its cache what it wrote in the loop before; then it takes what others have not begun.
class Claims {
   public:
    Claims(std::int64_t total, std::int64_t grain, std::int64_t workers)
        : total_(total), grain_(grain), parts_(std::min(workers, most_parts)) {
        for (std::int64_t part = 0; part < parts_; ++part)
            given_[part].to.store(total * part / parts_, std::memory_order_relaxed);
    }
    // The part that this thread begins with.
    static std::pair<std::int64_t, std::int64_t> own(std::int64_t total, std::int64_t workers) {
        const std::int64_t parts = std::min(workers, most_parts), part = omp_get_thread_num() % parts;
        return {total * part / parts, total * (part + 1) / parts};
    }
    // The next range for this thread, or false where there are none.
    bool operator()(std::int64_t& begin, std::int64_t& end) const {
        for (std::int64_t i = 0, own = omp_get_thread_num(); i < parts_; ++i) {
            const std::int64_t part = (own + i) % parts_, last = total_ * (part + 1) / parts_;
            std::atomic<std::int64_t>& given = given_[part].to;
            for (begin = given.load(std::memory_order_relaxed); begin < last;) {
                end = parts_ == 1 ? last : std::min(last, begin + std::max(grain_, (last - begin) / 2));
                if (given.compare_exchange_weak(begin, end, std::memory_order_relaxed)) return true;
            }
        }
        return false;
    }

   private:
    static constexpr std::int64_t most_parts = 32;
    struct alignas(64) Given {  // on a cache line of its own
        std::atomic<std::int64_t> to;
    };

    const std::int64_t total_, grain_, parts_;
    mutable Given given_[most_parts];
};

// Calls body(begin, end) on disjoint ranges that cover [0, total). A range is never shorter than `grain`, so that small
// work stays on the calling thread.
template <typename Body>
void parallel_for(std::int64_t total, std::int64_t grain, Body&& body) {
    if (total <= 0) return;
    const std::int64_t most = std::max<std::int64_t>(1, total / std::max<std::int64_t>(1, grain));
    const int workers = static_cast<int>(std::min<std::int64_t>(thread_count(), most));
    Crew* const crew = Crew::own();
    if (Crew::at_work() || (crew && workers == 1)) return body(std::int64_t{0}, total);
    if (crew) {
        const Claims claim(total, std::max<std::int64_t>(1, grain), workers);
        crew->work_together(workers, [&] {
            for (std::int64_t begin = 0, end = 0; claim(begin, end);) body(begin, end);
        });
        return;
    }
#ifdef WORKBENCH_SANITIZE_thread
    // libgomp is not instrumented: ThreadSanitizer does not see that its threads wait for each other.
    thread_local bool inside = false;
    if (workers == 1 || inside) {
        body(std::int64_t{0}, total);
        return;
    }
    std::vector<std::thread> started;
    for (std::int64_t worker = 0; worker < workers; ++worker)
        started.emplace_back([&, worker] {
            inside = true;
            const std::int64_t begin = total * worker / workers, end = total * (worker + 1) / workers;
            if (begin < end) body(begin, end);
        });
    for (std::thread& one : started) one.join();
    return;
#endif
    if (workers == 1 || omp_in_parallel()) {
        body(std::int64_t{0}, total);
        return;
    }
#pragma omp parallel num_threads(workers)
    {
        const std::int64_t worker = omp_get_thread_num(), all = omp_get_num_threads();
        const std::int64_t begin = total * worker / all, end = total * (worker + 1) / all;
        if (begin < end) body(begin, end);
    }
}

// How many ranges parallel_parts makes of `total`.
inline std::int64_t part_count(std::int64_t total, std::int64_t grain) {
    if (total <= 0) return 0;
    return std::min<std::int64_t>(thread_count(), std::max<std::int64_t>(1, total / std::max<std::int64_t>(1, grain)));
}

// Calls body(claim) in each thread that takes part; claim(begin, end) gives it the next range of [0, total), as `Claims` do.
template <typename Body>
void parallel_claims(std::int64_t total, std::int64_t grain, Body&& body) {
    const std::int64_t workers = part_count(total, grain);
    const Claims claim(total, 1, workers);
    const auto work = [&] { body(claim); };
    if (Crew::own() && !Crew::at_work() && workers > 1) return Crew::own()->work_together(static_cast<int>(workers), work);
    parallel_for(workers, 1, [&](std::int64_t, std::int64_t) { work(); });
}

// The same whatever the number of threads is, so that sums by part come out alike to the last bit. A part costs a few rows
// of totals: it has four steps or more, unless there are very few.
inline std::int64_t fixed_part_count(std::int64_t total, std::int64_t grain) {
    if (total <= 0) return 0;
    return std::clamp<std::int64_t>(total / std::max<std::int64_t>(1, grain), 1,
                                    std::min(total, std::clamp<std::int64_t>(total / 4, 2, 16)));
}

// Calls body(part, begin, end) for `parts` disjoint ranges that cover [0, total). The ranges depend on the number of
// parts only: who keeps results by part and adds them up in order afterwards gets the same sum every time.
template <typename Body>
void parallel_parts(std::int64_t total, std::int64_t parts, Body&& body) {
    parallel_for(parts, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t part = first; part < last; ++part)
            body(part, total * part / parts, total * (part + 1) / parts);
    });
}

// How many products of codes take as long as giving another thread some of them.
inline thread_local bool calls_are_close = false;
inline std::int64_t products_of_a_thread() { return calls_are_close ? 250000 : 4000000; }

// While it lives, what this thread calls has as many products of codes to do all together, one call right behind the other: a
// thread that was woken waits for the next call, and is told of it in a small part of the time that waking takes.
class CloseCalls {
   public:
    explicit CloseCalls(std::int64_t products) : before_(calls_are_close) {
        if (products >= 3 * products_of_a_thread()) calls_are_close = true;
    }
    CloseCalls(const CloseCalls&) = delete;
    ~CloseCalls() { calls_are_close = before_; }

   private:
    const bool before_;
};

// A grain for loops whose one step touches `floats_per_step` floats: 16k floats are worth a second thread.
inline std::int64_t grain_for(std::int64_t floats_per_step) {
    return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, floats_per_step));
}

}  // namespace workbench
