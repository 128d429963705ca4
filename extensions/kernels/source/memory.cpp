#include "memory.hpp"

#include <cstdlib>  // defines __GLIBC__ where it applies
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <unordered_set>
#include <vector>

#include "sanitized.hpp"
#include "threads.hpp"

namespace nb = nanobind;

namespace workbench {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t smallest = 256;
constexpr int steps_per_octave = 4;               // a buffer is at most a quarter larger than asked for
constexpr int classes = steps_per_octave * 24;    // up to 4 GiB; larger buffers are not kept
constexpr std::size_t most_kept = std::size_t{512} << 20;

// Stands in the 64 bytes before the data that the caller sees. Blocks from `mapped` on are pages of their own, asked for
// in large ones where the system has them: a page fault costs as much as writing the page.
struct Header {
    int size_class;  // -1: not kept
    bool fresh;      // zeros, never written
    std::size_t bytes, whole;
};
static_assert(sizeof(Header) <= alignment);
constexpr std::size_t mapped = std::size_t{1} << 20, page = 4096, large_page = std::size_t{2} << 20;

std::size_t class_bytes(int index) {
    const std::size_t octave = smallest << (index / steps_per_octave);
    return octave + octave / steps_per_octave * static_cast<std::size_t>(index % steps_per_octave);
}

int class_of(std::size_t bytes) {
    if (sanitized) return -1;  // a block that is handed on would hide who still reads it
    if (bytes <= smallest) return 0;
    const int octave = 63 - __builtin_clzll(bytes) - 8;  // smallest is 2^8
    int index = octave * steps_per_octave;
    while (index < classes && class_bytes(index) < bytes) ++index;
    return index < classes ? index : -1;
}

struct Pool {
    ForkMutex mutex{ForkMutex::memory};
    std::array<std::vector<void*>, classes> free_blocks;
    std::array<std::uint64_t, classes> asked{};  // the number of the last request for a block of each class
    std::uint64_t requests = 0;
    std::size_t kept = 0;
    std::size_t hits = 0, misses = 0;
};

Pool& pool() {
    static Pool* instance = new Pool;  // never destroyed: arrays may outlive the module
    return *instance;
}

// `wanted` of the `size` bytes are asked for now: large pages go no further, or the rest would be in memory with them.
void* new_block(std::size_t size, int index, std::size_t wanted) noexcept {
    if (sanitized) {  // ends with its last byte, so that what reads one more is noticed
        void* block = nullptr;
        if (size > SIZE_MAX - alignment || posix_memalign(&block, size < mapped ? alignment : page, alignment + size))
            return nullptr;
        return new (block) Header{-1, false, size, 0};
    }
    const std::size_t unit = size >= mapped ? page : alignment;
    if (size > SIZE_MAX - alignment - unit) return nullptr;
    const std::size_t whole = (size + alignment + unit - 1) / unit * unit;
    if (size < mapped) {
        void* block = std::aligned_alloc(alignment, whole);
        return block ? new (block) Header{index, false, size, 0} : nullptr;
    }
    void* block = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
    const std::size_t start = reinterpret_cast<std::size_t>(block);
    const std::size_t end = (start + alignment + wanted) / large_page * large_page;
    if (end >= start + 2 * large_page) madvise(block, end - start, MADV_HUGEPAGE);  // a wish, which may be refused
#endif
    return new (block) Header{index, true, size, whole};
}

void free_block(void* block) noexcept {
    const std::size_t whole = static_cast<Header*>(block)->whole;
    if (whole)
        munmap(block, whole);
    else
        std::free(block);
}

// What is handed out, and the most that ever was since somebody asked to count anew.
std::atomic<std::size_t> in_use{0}, most_in_use{0};

void* counted(void* block) noexcept {
    const std::size_t now = in_use += static_cast<Header*>(block)->bytes;
    std::size_t most = most_in_use.load(std::memory_order_relaxed);
    while (most < now && !most_in_use.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
    return static_cast<char*>(block) + alignment;
}

// Null where there is no memory.
void* take(std::size_t bytes) noexcept {
    const int index = class_of(bytes);
    const std::size_t size = index < 0 ? bytes : class_bytes(index);
    Pool& shared = pool();
    if (index >= 0) {
        std::lock_guard lock(shared.mutex);
        auto& blocks = shared.free_blocks[static_cast<std::size_t>(index)];
        shared.asked[static_cast<std::size_t>(index)] = ++shared.requests;
        if (!blocks.empty()) {
            void* block = blocks.back();
            blocks.pop_back();
            shared.kept -= size;
            ++shared.hits;
            static_cast<Header*>(block)->fresh = false;
            return counted(block);
        }
        ++shared.misses;
    }
    void* block = new_block(size, index, bytes);
    return block ? counted(block) : nullptr;
}

// Which blocks NumPy holds: all the pool needs to know whether a pointer that NumPy frees is one of them.
ForkMutex owned_mutex{ForkMutex::ownership};
std::unordered_set<const void*>& owned_blocks() {
    static auto* instance = new std::unordered_set<const void*>;  // never destroyed, as the pool
    return *instance;
}
bool owned(const void* data) {
    std::lock_guard lock(owned_mutex);
    return owned_blocks().count(data) != 0;
}
void disown(const void* data) {
    std::lock_guard lock(owned_mutex);
    owned_blocks().erase(data);
}
bool own(const void* data) noexcept {
    std::lock_guard lock(owned_mutex);
    try {
        owned_blocks().insert(data);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

Header& header_of(void* data) { return *reinterpret_cast<Header*>(static_cast<char*>(data) - alignment); }

}  // namespace

void* pool_take(std::size_t bytes) {
    void* data = take(bytes);
    if (!data) throw std::bad_alloc();
    return data;
}

// Lets go of blocks of the sizes that nobody has asked for the longest, until there is room for `bytes`: what is in use now
// would otherwise go to the system and back at every op, because of what was in use once.
static void make_room(Pool& shared, std::size_t bytes) noexcept {
    while (shared.kept + bytes > most_kept) {
        std::vector<void*>* oldest = nullptr;
        std::uint64_t least = ~std::uint64_t{0};
        for (std::size_t index = 0; index < shared.free_blocks.size(); ++index)
            if (!shared.free_blocks[index].empty() && shared.asked[index] < least)
                oldest = &shared.free_blocks[index], least = shared.asked[index];
        if (!oldest) return;
        shared.kept -= static_cast<Header*>(oldest->back())->bytes;
        free_block(oldest->back());
        oldest->pop_back();
    }
}

void pool_give(void* data) noexcept {
    void* block = &header_of(data);
    const Header header = header_of(data);
    in_use -= header.bytes;
    Pool& shared = pool();
    if (header.size_class >= 0) {
        std::lock_guard lock(shared.mutex);
        make_room(shared, header.bytes);
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
    free_block(block);
}

// Frees what the pool keeps.
static void release_pool() {
    Pool& shared = pool();
    std::lock_guard lock(shared.mutex);
    for (auto& blocks : shared.free_blocks) {
        for (void* block : blocks) free_block(block);
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
    state["in_use_bytes"] = in_use.load();
    state["most_in_use_bytes"] = most_in_use.load();
    return state;
}

static void count_most_anew() { most_in_use = in_use.load(); }

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

// NumPy's large arrays from the pool, by a handler in the sense of NEP 49. Small ones, and all of other sizes, stay with
// the allocator that NumPy had: a pointer tells whose it is by where it lies in its page, and then by a list.
namespace numpy_memory {

struct Allocator {  // PyDataMemAllocator
    void* ctx;
    void* (*malloc)(void* ctx, std::size_t size);
    void* (*calloc)(void* ctx, std::size_t count, std::size_t size);
    void* (*realloc)(void* ctx, void* data, std::size_t size);
    void (*free)(void* ctx, void* data, std::size_t size);
};
struct Handler {  // PyDataMem_Handler, version 1
    char name[127];
    std::uint8_t version;
    Allocator allocator;
};

Allocator before;  // NumPy's own

bool ours(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % page == alignment && owned(data); }

void* allocate(void*, std::size_t size) {
    if (size < mapped) return before.malloc(before.ctx, size);
    void* data = take(size);
    if (data && !own(data)) {
        pool_give(data);
        return nullptr;
    }
    return data;
}

void* allocate_zeros(void*, std::size_t count, std::size_t size) {
    std::size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    if (bytes < mapped) return before.calloc(before.ctx, count, size);
    void* data = allocate(nullptr, bytes);
    if (data && !header_of(data).fresh) std::memset(data, 0, bytes);
    return data;
}

void release(void*, void* data, std::size_t size) {
    if (data && ours(data)) {
        disown(data);
        pool_give(data);
    } else {
        before.free(before.ctx, data, size);
    }
}

void* reallocate(void*, void* data, std::size_t size) {
    if (!data) return allocate(nullptr, size);
    if (!ours(data)) return before.realloc(before.ctx, data, size);
    const std::size_t had = header_of(data).bytes;
    if (size <= had && size >= had / 2) return data;
    void* moved = allocate(nullptr, size);
    if (moved) {
        std::memcpy(moved, data, std::min(had, size));
        release(nullptr, data, had);
    }
    return moved;
}

Handler handler = {"workbench_pool", 1, {nullptr, allocate, allocate_zeros, reallocate, release}};

// Makes NumPy take large arrays from the pool in the current context; says whether it does.
bool install() {
    constexpr int set_slot = 304, get_slot = 305, feature_slot = 211, oldest = 0x0000000f;  // of NumPy's C interface
    nb::object table = nb::module_::import_("numpy._core._multiarray_umath").attr("_ARRAY_API");
    void** interface = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
    if (!interface) {
        PyErr_Clear();
        return false;
    }
    if (reinterpret_cast<unsigned (*)()>(interface[feature_slot])() < oldest) return false;
    const auto set = reinterpret_cast<PyObject* (*)(PyObject*)>(interface[set_slot]);
    const auto get = reinterpret_cast<PyObject* (*)()>(interface[get_slot]);
    nb::object present = nb::steal(get());
    if (!present.is_valid()) throw nb::python_error();
    const auto* found = static_cast<Handler*>(PyCapsule_GetPointer(present.ptr(), "mem_handler"));
    if (!found) throw nb::python_error();
    if (found == &handler) return true;
    if (std::strcmp(found->name, "default_allocator") != 0) return false;  // somebody else's: leave it
    before = found->allocator;
    nb::object capsule = nb::steal(PyCapsule_New(&handler, "mem_handler", nullptr));
    if (!capsule.is_valid()) throw nb::python_error();
    nb::object last = nb::steal(set(capsule.ptr()));
    if (!last.is_valid()) throw nb::python_error();
    return true;
}

}  // namespace numpy_memory

static void give_back_free_memory() {
    release_pool();
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// The bytes of the last cache that this CPU sees. The C library is not asked: on some CPUs it adds up every core's share.
static std::int64_t last_cache_bytes() {
    std::int64_t kibibytes = 0;
    std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> kibibytes;
    return kibibytes > 0 ? kibibytes << 10 : std::int64_t{32} << 20;
}

bool outgrows_caches(std::int64_t floats) {
    static const std::int64_t cache = last_cache_bytes();
    return floats * 4 > cache;
}

void bind_memory(nb::module_& module) {
    module.def("pool_state", &pool_state);
    module.def("count_most_anew", &count_most_anew);
    module.def("give_back_free_memory", &give_back_free_memory);
    module.def("pool_numpy_arrays", &numpy_memory::install);
    module.def("keep_large_blocks", &keep_large_blocks, nb::arg("keep_bytes"));
}

}  // namespace workbench
