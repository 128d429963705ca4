#include "threads.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace workbench {
namespace {

std::atomic<int> threads{std::max(1, std::min(omp_get_max_threads(), omp_get_num_procs()))};

// The newest mutex of each rank, which leads to the older ones; none is ever destroyed. A mutex is put here without a lock:
// it may be made while another is held, and whoever forks holds them all.
std::array<std::atomic<ForkMutex*>, ForkMutex::ranks> newest{};

// One thread forks at a time, and gives back those that it took and no newer ones.
std::mutex forking;
std::array<ForkMutex*, ForkMutex::ranks> taken;

void before_fork() {
    forking.lock();
    for (std::size_t rank = 0; rank < taken.size(); ++rank) {
        taken[rank] = newest[rank].load();
        for (ForkMutex* one = taken[rank]; one; one = one->older()) one->lock();
    }
}
void after_fork() {
    for (ForkMutex* first : taken)
        for (ForkMutex* one = first; one; one = one->older()) one->unlock();
    forking.unlock();
}

// libgomp's workers do not survive fork(); a child that asked for them would wait for ever.
std::atomic<bool> forked{false};
void after_fork_in_child() {
    after_fork();
    threads.store(1);
    forked.store(true);
}

}  // namespace

ForkMutex::ForkMutex(Rank rank) : older_(newest[rank].load()) {
    while (!newest[rank].compare_exchange_weak(older_, this)) {
    }
}

void stay_for_ever() {
    for (;;) pause();
}

GilRelease::~GilRelease() {
    try {
        PyEval_RestoreThread(state_);
    } catch (...) {
        stay_for_ever();
    }
}

GilAcquire::GilAcquire() {
    try {
        state_ = PyGILState_Ensure();
    } catch (...) {
        stay_for_ever();
    }
}

int thread_count() { return threads.load(std::memory_order_relaxed); }

void set_thread_count(int count) {
    if (count < 1 || count > 1024)
        throw std::invalid_argument("number of threads is " + std::to_string(count) + "; give 1 to 1024");
    if (count > 1 && forked.load())
        throw std::runtime_error("this process was forked, and the kernels' threads were not: it has 1, not " +
                                 std::to_string(count) + "; a process started by 'spawn' has threads of its own");
    threads.store(count);
}

void bind_threads(nb::module_& module) {
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
    module.def("get_num_threads", &thread_count);
    module.def("set_num_threads", &set_thread_count, nb::arg("count"));
}

}  // namespace workbench
