#include "writes.hpp"

#include "call.hpp"
#include "subscript.hpp"
#include "views.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace workbench::eager {
namespace {

constexpr npy_intp MOST = 1 << 13;          // values: more of them are worth the processor's widest instructions
constexpr long long EXACT = 1LL << 24;      // whole numbers up to here are floats of every type

// Says whether the memory of a value may be written to without the tape knowing, and its change be counted here.
// What others are told of (mirrors, calls that saved this memory, former places on the tape) is Python's.
bool may_write(Value* target, bool grad) {
    if (!has_array(target) || target->inference) return false;
    Value* owner = some(target->owner) ? as_value(target->owner) : target;
    if (some(owner->mirrors) || some(owner->grad_fn) || some(owner->past)) return false;
    // A view of what asks for a gradient may have to be refused, or to find its place on the tape first.
    bool free = !grad && !some(target->view);
    for (const Value* one = target; one; one = viewed_by(one))
        if (some(one->past) || (one->requires_grad && !free)) return false;
    return true;
}

void count_change(Value* target) { ++(some(target->owner) ? as_value(target->owner) : target)->changes; }

// Says whether a value can be read without the tape knowing.
bool may_read(const Value* source, bool grad) {
    return has_array(source) && !some(source->names) && !source->inference && !(grad && (source->requires_grad || stale(source)));
}

// The first byte of an array's memory, and the byte after the last.
void bounds(PyArrayObject* array, const char*& low, const char*& high) {
    low = PyArray_BYTES(array);
    high = low + PyArray_ITEMSIZE(array);
    for (int d = 0; d < PyArray_NDIM(array); ++d) {
        npy_intp reach = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
        (reach < 0 ? low : high) += reach;
    }
}

bool apart(PyArrayObject* a, PyArrayObject* b) {
    if (PyArray_SIZE(a) == 0 || PyArray_SIZE(b) == 0) return true;
    const char *low, *high, *other_low, *other_high;
    bounds(a, low, high);
    bounds(b, other_low, other_high);
    return high <= other_low || other_high <= low;
}

bool same_place(PyArrayObject* a, PyArrayObject* b) { return a == b || PyArray_DATA(a) == PyArray_DATA(b); }

bool same_sizes(PyArrayObject* a, PyArrayObject* b) {
    return PyArray_NDIM(a) == PyArray_NDIM(b) && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

// Says whether every entry has a place of its own that can be written to, one after the other.
bool in_rows(PyArrayObject* array) { return PyArray_ISCARRAY(array); }

// Reads a number as the type of an array holds it exactly enough that it does not matter who rounds it; false where it
// takes more thought.
bool as_number(PyObject* one, int type, double& real, long long& whole) {
    if (PyFloat_CheckExact(one)) {
        real = PyFloat_AS_DOUBLE(one);
        return type == NPY_DOUBLE || (type == NPY_FLOAT && !(std::abs(real) > std::numeric_limits<float>::max() && std::isfinite(real)));
    }
    if (!PyLong_CheckExact(one)) return false;
    int overflow = 0;
    whole = PyLong_AsLongLongAndOverflow(one, &overflow);
    if (overflow) return false;
    real = static_cast<double>(whole);
    return type == NPY_INT64 || ((type == NPY_FLOAT || type == NPY_DOUBLE) && whole >= -EXACT && whole <= EXACT);
}

// Goes through all rows of an array along its last dim: f(start, count, stride).
template <class F>
void each_row(PyArrayObject* array, F f) {
    int dims = PyArray_NDIM(array);
    if (PyArray_SIZE(array) == 0) return;
    char* at = PyArray_BYTES(array);
    if (dims == 0) return f(at, npy_intp(1), npy_intp(0));
    npy_intp place[NPY_MAXDIMS] = {};
    npy_intp count = PyArray_DIM(array, dims - 1), stride = PyArray_STRIDE(array, dims - 1);
    for (;;) {
        f(at, count, stride);
        int d = dims - 2;
        for (; d >= 0; --d) {
            at += PyArray_STRIDE(array, d);
            if (++place[d] < PyArray_DIM(array, d)) break;
            at -= place[d] * PyArray_STRIDE(array, d);
            place[d] = 0;
        }
        if (d < 0) return;
    }
}

template <class T>
void fill(PyArrayObject* array, T number) {
    each_row(array, [number](char* at, npy_intp count, npy_intp stride) {
        if (stride == sizeof(T))
            std::fill_n(reinterpret_cast<T*>(at), count, number);
        else
            for (npy_intp i = 0; i < count; ++i) *reinterpret_cast<T*>(at + i * stride) = number;
    });
}

// Writes a number to every entry; false where it takes more thought.
bool fill_with(PyArrayObject* array, PyObject* number) {
    double real = 0;
    long long whole = 0;
    int type = PyArray_TYPE(array);
    if (!PyArray_ISBEHAVED(array) || PyArray_SIZE(array) > MOST || !as_number(number, type, real, whole)) return false;
    if (type == NPY_FLOAT)
        fill(array, static_cast<float>(real));
    else if (type == NPY_DOUBLE)
        fill(array, real);
    else
        fill(array, static_cast<npy_int64>(whole));
    return true;
}

template <class T, class F>
void each(T* out, const T* a, npy_intp step_a, const T* b, npy_intp step_b, npy_intp n, F f) {
    // Told apart so that the compiler makes loops over vectors of them.
    if (step_a && step_b)
        for (npy_intp i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
    else if (step_a)
        for (npy_intp i = 0; i < n; ++i) out[i] = f(a[i], *b);
    else
        for (npy_intp i = 0; i < n; ++i) out[i] = f(*a, b[i]);
}

template <class T>
bool compute(Small small, T* out, const T* a, npy_intp step_a, const T* b, npy_intp step_b, npy_intp n) {
    switch (small) {
        case Small::add: each(out, a, step_a, b, step_b, n, [](T x, T y) { return x + y; }); return true;
        case Small::sub: each(out, a, step_a, b, step_b, n, [](T x, T y) { return x - y; }); return true;
        case Small::mul: each(out, a, step_a, b, step_b, n, [](T x, T y) { return x * y; }); return true;
        case Small::div: each(out, a, step_a, b, step_b, n, [](T x, T y) { return x / y; }); return true;
        default: return false;
    }
}

// One operand of what is computed in place: an array as the target is, or a number.
template <class T>
struct Operand {
    T number = 0;
    const T* values = nullptr;
    npy_intp step = 0;

    bool read(PyObject* one, PyArrayObject* target, bool grad) {
        double real = 0;
        long long whole = 0;
        if (is_value(one)) {
            auto* value = as_value(one);
            if (!may_read(value, grad)) return false;
            PyArrayObject* array = as_array(value->array);
            if (PyArray_TYPE(array) != PyArray_TYPE(target) || !PyArray_ISCARRAY_RO(array) || !same_sizes(array, target)) return false;
            if (!same_place(array, target) && !apart(array, target)) return false;
            values = static_cast<const T*>(PyArray_DATA(array));
            step = 1;
            return true;
        }
        if (!as_number(one, PyArray_TYPE(target), real, whole)) return false;
        number = static_cast<T>(real);
        values = &number;
        return true;
    }
};

template <class T>
bool compute_into(PyArrayObject* target, Small small, PyObject* operands, bool grad) {
    Operand<T> a, b;
    if (!a.read(PyTuple_GET_ITEM(operands, 0), target, grad) || !b.read(PyTuple_GET_ITEM(operands, 1), target, grad)) return false;
    if (!a.step && !b.step) return false;
    return compute<T>(small, static_cast<T*>(PyArray_DATA(target)), a.values, a.step, b.values, b.step, PyArray_SIZE(target));
}

// Says whether writing is common here and now; -1 with an exception.
int common_target(PyObject* target, bool& grad) {
    if (!is_value(target)) return 0;
    int common = common_state(grad);
    return common > 0 ? may_write(as_value(target), grad) : common;
}

// Says whether every entry has a place of its own: each dim steps over all that the finer ones reach.
bool own_places(PyArrayObject* array) {
    npy_intp reached = PyArray_ITEMSIZE(array);
    bool counted[NPY_MAXDIMS] = {};
    for (int turn = 0; turn < PyArray_NDIM(array); ++turn) {
        int finest = -1;
        for (int d = 0; d < PyArray_NDIM(array); ++d)
            if (!counted[d] && (finest < 0 || std::abs(PyArray_STRIDE(array, d)) < std::abs(PyArray_STRIDE(array, finest))))
                finest = d;
        counted[finest] = true;
        npy_intp size = PyArray_DIM(array, finest), stride = std::abs(PyArray_STRIDE(array, finest));
        if (size == 1) continue;
        if (stride < reached) return false;
        reached += stride * (size - 1);
    }
    return true;
}

// Copies the numbers of one array into another of the same type and sizes that lies apart; -1 with an exception.
int copy_into(PyArrayObject* target, PyArrayObject* source) {
    if (PyArray_TYPE(target) != PyArray_TYPE(source) || !same_sizes(target, source) || !apart(target, source)) return 0;
    if (!PyArray_ISBEHAVED(target) || !own_places(target)) return 0;
    // NumPy copies without the GIL, and meanwhile another thread may give either value new memory.
    Ref kept(Py_NewRef(reinterpret_cast<PyObject*>(source))), written(Py_NewRef(reinterpret_cast<PyObject*>(target)));
    if (PyArray_ISCARRAY(target) && PyArray_ISCARRAY_RO(source)) {
        std::memcpy(PyArray_DATA(target), PyArray_DATA(source), PyArray_NBYTES(target));
        return 1;
    }
    return PyArray_CopyInto(target, source) < 0 ? -1 : 1;
}

PyObject* as_bool(int done, PyObject* target) {
    if (done < 0) return nullptr;
    if (done) count_change(as_value(target));
    return PyBool_FromLong(done);
}

PyObject* refuse(const char* words) {
    PyErr_SetString(PyExc_TypeError, words);
    return nullptr;
}

} // namespace

int set_part(PyObject* target, PyObject* key, PyObject* value) {
    bool grad = false;
    int common = common_target(target, grad);
    if (common <= 0) return common;
    Ref held(Py_NewRef(as_value(target)->array)); // over the new objects that follow
    Ref whole(simple_key(key, PyArray_NDIM(as_array(held.object))));
    if (!whole) return PyErr_Occurred() ? -1 : 0;
    Ref shown(part(held.object, whole.object));
    if (!shown) return PyErr_Occurred() ? -1 : 0;
    int done = 0;
    if (!is_value(value))
        done = fill_with(as_array(shown.object), value);
    else if (may_read(as_value(value), grad))
        done = copy_into(as_array(shown.object), as_array(as_value(value)->array));
    if (done > 0) count_change(as_value(target));
    return done;
}

PyObject* written(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n != 3 || !PyObject_TypeCheck(args[1], op_base) || !PyTuple_Check(args[2]))
        return refuse("written takes a value, an op and a tuple of operands");
    auto* op = reinterpret_cast<Op*>(args[1]);
    if (!op->prepared && !prepare(op)) return nullptr;
    bool grad = false;
    int common = PyTuple_GET_SIZE(args[2]) == 2 ? common_target(args[0], grad) : 0;
    if (common <= 0) return as_bool(common, args[0]);
    auto* target = as_value(args[0]);
    PyArrayObject* array = as_array(target->array);
    if (some(target->names) || !in_rows(array) || PyArray_SIZE(array) > MOST) Py_RETURN_FALSE;
    bool done = PyArray_TYPE(array) == NPY_FLOAT    ? compute_into<float>(array, op->small, args[2], grad)
                : PyArray_TYPE(array) == NPY_DOUBLE ? compute_into<double>(array, op->small, args[2], grad)
                                                    : false;
    return as_bool(done, args[0]);
}

PyObject* filled(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n != 2) return refuse("filled takes a value and a number");
    bool grad = false;
    int common = common_target(args[0], grad);
    if (common > 0) common = fill_with(as_array(as_value(args[0])->array), args[1]);
    return as_bool(common, args[0]);
}

PyObject* copied(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n != 2) return refuse("copied takes a value and what it is to hold");
    bool grad = false;
    int common = is_value(args[1]) ? common_target(args[0], grad) : 0;
    if (common > 0) {
        auto *target = as_value(args[0]), *source = as_value(args[1]);
        common = !some(target->names) && may_read(source, grad) ? copy_into(as_array(target->array), as_array(source->array)) : 0;
    }
    return as_bool(common, args[0]);
}

} // namespace workbench::eager
