#include "workers.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace workbench {

thread_local Crew* Crew::own_ = nullptr;
thread_local bool Crew::at_work_ = false;

struct Crew::AtWork {
    const bool before = at_work_;
    AtWork() { at_work_ = true; }
    ~AtWork() { at_work_ = before; }
};

struct Crew::Closing {
    Crew& crew;
    ~Closing() { crew.close(); }
};

namespace {

inline void pause_a_little() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

using Nanoseconds = std::int64_t;

Nanoseconds now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// How long a thread had to wait for a processor that another thread had, since it was last asked: what Linux counts, and not what
// the host of a virtual machine takes, which it takes from one thread as from two. It is asked about once in a millisecond, which
// takes a few microseconds. Where it is not counted, nothing is lost.
class Lost {
   public:
    Lost() : counts_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)), asked_(0), waited_(0) {}
    Lost(const Lost&) = delete;
    ~Lost() {
        if (counts_ >= 0) close(counts_);
    }
    void begin() { asked_ = now(), waited_ = waited(); }
    Nanoseconds since() {
        constexpr Nanoseconds often = 1000000, little = 200000;
        if (now() - asked_ < often) return 0;
        asked_ = now();
        const Nanoseconds lost = waited() - waited_;
        waited_ += lost;
        return lost < little ? 0 : lost;
    }

   private:
    Nanoseconds waited() const {
        char text[64] = {};  // time on a processor, time waiting for one, how often
        if (counts_ < 0 || pread(counts_, text, sizeof text - 1, 0) <= 0) return 0;
        const char* second = std::strchr(text, ' ');
        return second ? std::strtoll(second, nullptr, 10) : 0;
    }
    const int counts_;
    Nanoseconds asked_, waited_;
};

Lost& lost() {
    thread_local Lost by_this_thread;
    return by_this_thread;
}

template <typename Done>
bool wait_awhile(std::chrono::microseconds most, Done&& done) {
    const auto begin = std::chrono::steady_clock::now();
    do {
        for (int i = 0; i < 16; ++i) {
            if (done()) return true;
            pause_a_little();
        }
    } while (std::chrono::steady_clock::now() - begin < most);
    return done();
}

std::atomic<Nanoseconds> alone_until{0};
std::atomic<int> times_as_long{2};

// Whoever takes a part and then loses its processor to another process, or to another of these threads, is waited for by all:
// while that is so, a caller is faster alone. It tries again after a while, which grows where that was too soon.
void crowded(Nanoseconds time) {
    constexpr Nanoseconds soon = 20000000, longest = 5000000;
    const Nanoseconds here = now(), until = alone_until.load();
    if (!time || here < until) return;
    times_as_long.store(here < until + soon ? std::min(4 * times_as_long.load(), 64) : 2);
    alone_until.store(here + times_as_long.load() * std::min(time, longest));
}

}  // namespace

// For all that a crew would be called together for: else single loops are done alone. What this thread has lost before is
// forgotten.
bool Crew::is_better_alone() {
    constexpr Nanoseconds longer_than_most = 30000000;
    lost().begin();
    return alone_until.load() - now() > longer_than_most;
}

void Crew::call(int most, void (*work)(const void*), const void* what) {
    const AtWork here;
    if (now() < alone_until.load()) return work(what);
    work_ = work, what_ = what;
    gate_.store((++number_ << 32) | (static_cast<Word>(most - 1) << 16));
    if (asleep_.load()) {
        { const std::lock_guard<std::mutex> lock(bed_); }
        wake_.notify_all();
    }
    const Closing closing{*this};
    work(what);
    crowded(lost().since());
}

void Crew::close() {
    const auto left = [&] { return !(gate_.load() & there); };
    gate_.fetch_and(~room);
    // Who does not leave soon has lost its processor, and gets this one when this thread sleeps.
    if (wait_awhile(std::chrono::microseconds{50}, left)) return;
    std::unique_lock<std::mutex> lock(bed_);
    waits_.store(true);
    left_.wait(lock, left);
    waits_.store(false);
}

void Crew::serve() {
    const AtWork here;
    lost().begin();
    Word last = 0;
    const auto called = [&] {
        const Word now = gate_.load();
        return over_.load() || ((now & room) && now >> 32 != last);
    };
    while (!over_.load()) {
        // Loops follow each other at once.
        if (!wait_awhile(std::chrono::microseconds{200}, called)) {
            std::unique_lock<std::mutex> lock(bed_);
            asleep_.fetch_add(1);
            wake_.wait(lock, called);
            asleep_.fetch_sub(1);
        }
        Word now = gate_.load();
        while ((now & room) && !gate_.compare_exchange_weak(now, now - one_of_room + 1)) {
        }
        last = now >> 32;
        if (!(now & room)) continue;
        work_(what_);
        crowded(lost().since());
        if ((gate_.fetch_sub(1) & there) > 1 || !waits_.load()) continue;
        { const std::lock_guard<std::mutex> lock(bed_); }
        left_.notify_all();
    }
}

void Crew::dismiss() {
    over_.store(true);
    if (!asleep_.load()) return;
    { const std::lock_guard<std::mutex> lock(bed_); }
    wake_.notify_all();
}

}  // namespace workbench
