// The threads of OpenMP, for a row of loops one after the other.
//
// OpenMP gives each thread its part of a loop before any begins, and all have to arrive at its end: where another process has one
// of the processors, all wait for it, loop by loop. A crew is called together once, and whoever is there takes what nobody has
// begun, the caller too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#ifdef WORKBENCH_SANITIZE_thread
#include <thread>
#include <vector>
#endif

namespace workbench {

class Crew {
   public:
    Crew() = default;
    Crew(const Crew&) = delete;

    // Calls body(), whose loops are shared out among at most `most` threads.
    template <typename Body>
    static void with(int most, Body&& body);

    // Of this thread, where it has called a crew together; or nothing.
    static Crew* own() { return own_; }
    // Whether this thread is at work with others: then it shares nothing out.
    static bool at_work() { return at_work_; }

    // Calls work() in this thread, and in at most `most` - 1 others that come before it ends here. Returns when all have ended.
    template <typename Work>
    void work_together(int most, const Work& work) {
        call(most, [](const void* what) { (*static_cast<const Work*>(what))(); }, &work);
    }

   private:
    using Word = std::uint64_t;
    // Of a call: its number, how many more may come in, and how many are there.
    static constexpr Word room = Word{0xffff} << 16, one_of_room = Word{1} << 16, there = 0xffff;

    struct AtWork;
    struct Closing;

    static bool is_better_alone();
    void call(int most, void (*work)(const void*), const void* what);
    void close();
    void serve();    // by the others, until they are dismissed
    void dismiss();  // by the caller

    static thread_local Crew* own_;
    static thread_local bool at_work_;

    alignas(64) std::atomic<Word> gate_{0};
    void (*work_)(const void*) = nullptr;
    const void* what_ = nullptr;
    Word number_ = 0;
    std::atomic<bool> over_{false};
    alignas(64) std::atomic<int> asleep_{0};
    std::atomic<bool> waits_{false};
    std::mutex bed_;
    std::condition_variable wake_, left_;
};

template <typename Body>
void Crew::with(int most, Body&& body) {
    if (most == 1 || own_ || at_work_ || is_better_alone()) return body();
    Crew crew;
    std::exception_ptr failed;  // what may not leave OpenMP's threads
    const auto lead = [&] {
        own_ = &crew;
        try {
            body();
        } catch (...) {
            failed = std::current_exception();
        }
        own_ = nullptr;
        crew.dismiss();
    };
#ifdef WORKBENCH_SANITIZE_thread
    // libgomp is not instrumented: ThreadSanitizer does not see that its threads wait for each other.
    std::vector<std::thread> others;
    for (int i = 1; i < most; ++i) others.emplace_back([&] { crew.serve(); });
    lead();
    for (std::thread& one : others) one.join();
#else
#pragma omp parallel num_threads(most)
    {
#pragma omp master
        lead();
        crew.serve();
    }
#endif
    if (failed) std::rethrow_exception(failed);
}

}  // namespace workbench
