#include "workers.hpp"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace workbench {

thread_local bool OwnWorkers::wanted_ = false;
thread_local bool OwnWorkers::at_work_ = false;

struct AtWork {
    AtWork() { OwnWorkers::at_work_ = true; }
    ~AtWork() { OwnWorkers::at_work_ = false; }
};

namespace {

using Word = std::uint64_t;

// How many threads have loops to share out, one after the other.
std::atomic<int> callers{0};

// How long a thread that has worked waits awake for the next call: behind the last one it sleeps soon, since others have threads
// of their own, too.
std::chrono::microseconds patience() { return std::chrono::microseconds{callers.load(std::memory_order_relaxed) ? 500 : 20}; }

inline void pause_a_little() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

using Nanoseconds = std::int64_t;

Nanoseconds now_on(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * Nanoseconds{1000000000} + now.tv_nsec;
}

// How often this thread had to give its processor to another.
long times_put_off() {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nivcsw;
}

// How long a thread that was awake all the time had no processor because another had it, since it was last asked. What the host
// of a virtual machine takes is not counted: it takes it from one thread as from two. The system is asked about
// once in a millisecond, which takes part of a microsecond.
class Lost {
   public:
    void begin() { wall_ = now_on(CLOCK_MONOTONIC), own_ = now_on(CLOCK_THREAD_CPUTIME_ID); }
    Nanoseconds since() {
        constexpr Nanoseconds often = 1000000, little = 200000;
        const Nanoseconds wall = now_on(CLOCK_MONOTONIC) - wall_;
        if (wall < often) return 0;
        const Nanoseconds lost = wall - (now_on(CLOCK_THREAD_CPUTIME_ID) - own_);
        begin();
        if (lost < little) return 0;
        const long before = std::exchange(put_off_, times_put_off());
        return put_off_ > before ? lost : 0;
    }

   private:
    Nanoseconds wall_ = 0, own_ = 0;
    long put_off_ = times_put_off();
};

template <typename Most, typename Done>
bool wait_awhile(Most&& most, Done&& done) {
    const auto begin = std::chrono::steady_clock::now();
    do {
        for (int i = 0; i < 16; ++i) {
            if (done()) return true;
            pause_a_little();
        }
    } while (std::chrono::steady_clock::now() - begin < most());
    return done();
}

class Crew {
   public:
    void call(int most, void (*work)(const void*), const void* what) {
        const std::unique_lock<std::mutex> turn(called_, std::try_to_lock);
        const AtWork here;
        if (!turn || now_on(CLOCK_MONOTONIC) < alone_until_.load()) return work(what);
        thread_local Lost lost;
        lost.begin();
        hire(most - 1);
        work_ = work, what_ = what;
        gate_.store((++number_ << 32) | (static_cast<Word>(most - 1) << 16));
        if (asleep_.load()) {
            { const std::lock_guard<std::mutex> lock(bed_); }
            wake_.notify_all();
        }
        const Closing closing{*this};
        work(what);
        crowded(lost.since());
    }

   private:
    // Of a call: its number, how many more may come in, and how many are there.
    static constexpr Word room = Word{0xffff} << 16, one_of_room = Word{1} << 16, there = 0xffff;

    struct Closing {
        Crew& crew;
        ~Closing() { crew.close(); }
    };

    void close() {
        const auto left = [&] { return !(gate_.load() & there); };
        gate_.fetch_and(~room);
        // Who does not leave soon has lost its processor, and gets this one when this thread sleeps.
        if (wait_awhile([] { return std::chrono::microseconds{50}; }, left)) return;
        std::unique_lock<std::mutex> lock(bed_);
        waits_.store(true);
        left_.wait(lock, left);
        waits_.store(false);
    }

    // Whoever takes a part and then loses its processor to another process, or to another of these threads, is waited for by all:
    // while that is so, a caller is faster alone. It tries again after a while, which grows where that was too soon.
    void crowded(Nanoseconds lost) {
        constexpr Nanoseconds soon = 20000000, longest = 5000000;
        const Nanoseconds now = now_on(CLOCK_MONOTONIC), until = alone_until_.load();
        if (!lost || now < until) return;
        times_.store(now < until + soon ? std::min(2 * times_.load(), 40) : 5);
        alone_until_.store(now + times_.load() * std::min(lost, longest));
    }

    void hire(int wanted) {
        for (; hired_ < wanted; ++hired_) try {
                std::thread([this] { serve(); }).detach();
            } catch (const std::system_error&) {
                return;  // there are no more to be had: those that are there do it
            }
    }

    [[noreturn]] void serve() {
        const AtWork here;
        Lost lost;
        lost.begin();
        Word last = 0;
        const auto called = [&] {
            const Word now = gate_.load();
            return (now & room) && now >> 32 != last;
        };
        for (;;) {
            if (!wait_awhile(patience, called)) {
                std::unique_lock<std::mutex> lock(bed_);
                asleep_.fetch_add(1);
                wake_.wait(lock, called);
                asleep_.fetch_sub(1);
                lost.begin();
            }
            Word now = gate_.load();
            while ((now & room) && !gate_.compare_exchange_weak(now, now - one_of_room + 1)) {
            }
            last = now >> 32;
            if (!(now & room)) continue;
            work_(what_);
            crowded(lost.since());
            leave();
        }
    }

    void leave() {
        if ((gate_.fetch_sub(1) & there) > 1 || !waits_.load()) return;
        { const std::lock_guard<std::mutex> lock(bed_); }
        left_.notify_all();
    }

    alignas(64) std::atomic<Word> gate_{0};
    void (*work_)(const void*) = nullptr;
    const void* what_ = nullptr;
    Word number_ = 0;
    int hired_ = 0;
    alignas(64) std::atomic<int> asleep_{0};
    std::atomic<bool> waits_{false};
    std::atomic<Nanoseconds> alone_until_{0};
    std::atomic<int> times_{5};
    std::mutex called_, bed_;
    std::condition_variable wake_, left_;
};

// Never destroyed: its threads wait for it while the process ends.
Crew& crew() {
    static Crew& only = *new Crew;
    return only;
}

}  // namespace

OwnWorkers::OwnWorkers(bool wanted) : before_(wanted_) {
    wanted_ = wanted_ || wanted;
    callers.fetch_add(wanted_ && !before_);
}

OwnWorkers::~OwnWorkers() {
    callers.fetch_sub(wanted_ && !before_);
    wanted_ = before_;
}

void work_together(int most, void (*work)(const void*), const void* what) { crew().call(most, work, what); }

}  // namespace workbench
