#include "threads.hpp"

#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace workbench {
namespace {

std::atomic<int> threads{std::max(1, std::min(omp_get_max_threads(), omp_get_num_procs()))};

// libgomp's workers do not survive fork(); a child that asked for them would wait for ever.
void single_threaded_after_fork() { threads.store(1); }

}  // namespace

int thread_count() { return threads.load(std::memory_order_relaxed); }

void set_thread_count(int count) {
    if (count < 1 || count > 1024)
        throw std::invalid_argument("number of threads is " + std::to_string(count) + "; give 1 to 1024");
    threads.store(count);
}

void bind_threads(nb::module_& module) {
    pthread_atfork(nullptr, nullptr, single_threaded_after_fork);
    module.def("get_num_threads", &thread_count);
    module.def("set_num_threads", &set_thread_count, nb::arg("count"));
}

}  // namespace workbench
