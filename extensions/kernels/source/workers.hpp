// Threads of our own, for kernels that call no library with threads of its own.
//
// OpenMP gives each thread its part before any begins, and all have to arrive at the end: where another process has one of the
// processors, all wait for it. Here whoever is there takes what nobody has begun, the caller too.
#pragma once

#include <cstdint>

namespace workbench {

// Calls work(what) in this thread, and in at most `most` - 1 others that come before it ends here. Returns when all have ended.
// While others work for one caller, another works alone.
void work_together(int most, void (*work)(const void*), const void* what);

template <typename Work>
void work_together(int most, const Work& work) {
    work_together(most, [](const void* what) { (*static_cast<const Work*>(what))(); }, &work);
}

// While it lives, loops that this thread shares out go to threads of our own, if it is `wanted`.
class OwnWorkers {
   public:
    explicit OwnWorkers(bool wanted);
    OwnWorkers(const OwnWorkers&) = delete;
    ~OwnWorkers();
    static bool wanted() { return wanted_; }
    // Whether this thread is at work for others, or others are for it: then it shares nothing out.
    static bool at_work() { return at_work_; }

   private:
    friend struct AtWork;
    static thread_local bool wanted_, at_work_;
    const bool before_;
};

}  // namespace workbench
