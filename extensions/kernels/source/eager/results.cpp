// Arrays around what kernels have computed. nanobind makes them through Python's protocols, which takes longer than a kernel on
// few values.
#include "types.hpp"

#include "../layout.hpp"

#include <cstring>

namespace workbench {
namespace {

constexpr npy_intp COPIED = 4096; // bytes up to which a copy costs less than an owner of the memory

int type_of(char kind, std::size_t size) {
    switch (kind) {
        case 'f': return size == 4 ? NPY_FLOAT : size == 8 ? NPY_DOUBLE : NPY_NOTYPE;
        case 'i': return size == 1 ? NPY_INT8 : size == 2 ? NPY_INT16 : size == 4 ? NPY_INT32 : size == 8 ? NPY_INT64 : NPY_NOTYPE;
        case 'u': return size == 1 ? NPY_UINT8 : size == 2 ? NPY_UINT16 : size == 4 ? NPY_UINT32 : size == 8 ? NPY_UINT64 : NPY_NOTYPE;
        case 'b': return NPY_BOOL;
        default: return NPY_NOTYPE;
    }
}

} // namespace

nb::object array_around(Buffer<char>& memory, char kind, std::size_t size, const Dims& shape, const Dims& strides) {
    PyArray_Descr* type = PyArray_DescrFromType(type_of(kind, size));
    if (!type) throw nb::python_error();
    const npy_intp bytes = static_cast<npy_intp>(size);
    npy_intp sizes[NPY_MAXDIMS], steps[NPY_MAXDIMS], count = 1;
    const int dims = static_cast<int>(shape.size());
    if (dims > NPY_MAXDIMS) {
        Py_DECREF(type);
        refuse("an array of " + std::to_string(dims) + " dimensions");
    }
    for (int d = 0; d < dims; ++d) {
        const std::size_t at = static_cast<std::size_t>(d);
        sizes[d] = shape[at], steps[d] = strides[at] * bytes, count *= shape[at];
    }
    const bool copied = count * bytes <= COPIED;
    nb::object made = nb::steal(PyArray_NewFromDescr(&PyArray_Type, type, dims, sizes, steps, copied ? nullptr : memory.data(),
                                                     copied ? 0 : NPY_ARRAY_WRITEABLE, nullptr));
    if (!made.is_valid()) throw nb::python_error();
    auto* array = reinterpret_cast<PyArrayObject*>(made.ptr());
    if (copied) {
        std::memcpy(PyArray_DATA(array), memory.data(), static_cast<std::size_t>(count * bytes));
        return made;
    }
    nb::capsule owner(memory.data(), [](void* block) noexcept { pool_give(block); });
    memory.release();
    if (PyArray_SetBaseObject(array, owner.release().ptr()) != 0) throw nb::python_error();
    return made;
}

} // namespace workbench
