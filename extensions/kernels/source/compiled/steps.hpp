// Adding a step to a program: what all kinds of steps share.
#pragma once

#include "program.hpp"

namespace workbench::compiled {

// As many threads as a step is worth: waking one takes as long as some half a million products.
inline int workers_for(std::int64_t products) {
    constexpr std::int64_t worth_a_thread = 500000;
    return static_cast<int>(std::clamp<std::int64_t>(products / worth_a_thread, 1, thread_count()));
}
// OpenMP's setting, which oneDNN reads when it makes a primitive and when it runs one.
inline void use_threads(int workers) {
    if (omp_get_max_threads() != workers) omp_set_num_threads(workers);
}

template <typename Description>
void Program::add(const char* name, const Description& description, std::vector<std::pair<int, int>> arguments, std::int64_t products) {
    const Layout room = description.scratchpad_desc();
    if (room.get_size()) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, add_slot(room, true));
    Step step;
    step.name = std::string(name) + " " + description.impl_info_str();
    step.arguments = std::move(arguments);
    step.primitive = dnnl::primitive(description.get());
    step.threads = workers_for(products);
    add_step(std::move(step));
}

}  // namespace workbench::compiled
