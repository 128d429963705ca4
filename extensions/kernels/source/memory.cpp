#include "memory.hpp"

#include <cstdlib>  // defines __GLIBC__ where it applies
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <array>
#include <mutex>
#include <new>
#include <vector>

namespace nb = nanobind;

namespace workbench {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t smallest = 256;
constexpr int steps_per_octave = 4;               // a buffer is at most a quarter larger than asked for
constexpr int classes = steps_per_octave * 24;    // up to 4 GiB; larger buffers are not kept
constexpr std::size_t most_kept = std::size_t{512} << 20;

// Stands in the 64 bytes before the data that the caller sees.
struct Header {
    int size_class;  // -1: not kept
    std::size_t bytes;
};
static_assert(sizeof(Header) <= alignment);

std::size_t class_bytes(int index) {
    const std::size_t octave = smallest << (index / steps_per_octave);
    return octave + octave / steps_per_octave * static_cast<std::size_t>(index % steps_per_octave);
}

int class_of(std::size_t bytes) {
    if (bytes <= smallest) return 0;
    const int octave = 63 - __builtin_clzll(bytes) - 8;  // smallest is 2^8
    int index = octave * steps_per_octave;
    while (index < classes && class_bytes(index) < bytes) ++index;
    return index < classes ? index : -1;
}

struct Pool {
    std::mutex mutex;
    std::array<std::vector<void*>, classes> free_blocks;
    std::size_t kept = 0;
    std::size_t hits = 0, misses = 0;
};

Pool& pool() {
    static Pool* instance = new Pool;  // never destroyed: arrays may outlive the module
    return *instance;
}

}  // namespace

void* pool_take(std::size_t bytes) {
    const int index = class_of(bytes);
    const std::size_t size = index < 0 ? bytes : class_bytes(index);
    Pool& shared = pool();
    if (index >= 0) {
        std::lock_guard lock(shared.mutex);
        auto& blocks = shared.free_blocks[static_cast<std::size_t>(index)];
        if (!blocks.empty()) {
            void* block = blocks.back();
            blocks.pop_back();
            shared.kept -= size;
            ++shared.hits;
            return static_cast<char*>(block) + alignment;
        }
        ++shared.misses;
    }
    const std::size_t whole = (size + 2 * alignment - 1) / alignment * alignment;
    if (whole < size) throw std::bad_alloc();
    void* block = std::aligned_alloc(alignment, whole);
    if (!block) throw std::bad_alloc();
    new (block) Header{index, size};
    return static_cast<char*>(block) + alignment;
}

void pool_give(void* data) noexcept {
    void* block = static_cast<char*>(data) - alignment;
    const Header header = *static_cast<Header*>(block);
    Pool& shared = pool();
    if (header.size_class >= 0) {
        std::lock_guard lock(shared.mutex);
        if (shared.kept + header.bytes <= most_kept) {
            auto& blocks = shared.free_blocks[static_cast<std::size_t>(header.size_class)];
            try {
                blocks.push_back(block);
                shared.kept += header.bytes;
                return;
            } catch (const std::bad_alloc&) {
                // No room to remember the block: give it back to the system below.
            }
        }
    }
    std::free(block);
}

// Frees what the pool keeps.
static void release_pool() {
    Pool& shared = pool();
    std::lock_guard lock(shared.mutex);
    for (auto& blocks : shared.free_blocks) {
        for (void* block : blocks) std::free(block);
        blocks.clear();
    }
    shared.kept = 0;
}

static nb::dict pool_state() {
    Pool& shared = pool();
    std::lock_guard lock(shared.mutex);
    nb::dict state;
    state["kept_bytes"] = shared.kept;
    state["most_kept_bytes"] = most_kept;
    state["hits"] = shared.hits;
    state["misses"] = shared.misses;
    return state;
}

// NumPy's own temporaries come from malloc. By default glibc maps large blocks afresh and unmaps them when they are freed,
// so that every op pays for page faults; this keeps up to `keep_bytes` of free memory in the heap instead.
static bool keep_large_blocks(int keep_bytes) {
#ifdef __GLIBC__
    bool done = mallopt(M_MMAP_THRESHOLD, 32 << 20) == 1;
    done = mallopt(M_TRIM_THRESHOLD, keep_bytes) == 1 && done;
    return mallopt(M_TOP_PAD, 16 << 20) == 1 && done;
#else
    return keep_bytes < 0;
#endif
}

static void give_back_free_memory() {
    release_pool();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void bind_memory(nb::module_& module) {
    module.def("pool_state", &pool_state);
    module.def("give_back_free_memory", &give_back_free_memory);
    module.def("keep_large_blocks", &keep_large_blocks, nb::arg("keep_bytes"));
}

}  // namespace workbench
