// One step of an optimizer for all parameters of a group: what belongs to each is found here, so that Python does not
// look at them one by one.
//
// What is not as expected (no state yet, an array of another kind, memory that is not dense) is left to Python, which
// gets it back in a list. Nothing is written before everything has been looked at.
#include "optimizer_step.hpp"

#include "types.hpp"

#include "../optimizers.hpp"
#include "../threads.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace workbench::eager {
namespace {

constexpr int numbers = 7, flags = 4;

struct Keys {
    PyObject* arrays[most_state]; // nullptr where this group has no such state
    PyObject* step;
    PyObject* product;
    bool any() const { return arrays[0] || arrays[1] || arrays[2] || step || product; }
};

// One parameter and all that belongs to it: the values whose versions rise, and the arrays, which stay alive while the
// GIL is let go of, whatever else is put into the values meanwhile.
struct Found {
    StepPiece piece{};
    PyArrayObject *step = nullptr, *product = nullptr;
    std::vector<Ref> written;
    Ref parameter, gradient, state[most_state];
};

bool read_settings(PyObject* given, StepSettings& settings) {
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != numbers + flags) {
        PyErr_SetString(PyExc_TypeError, "settings are a tuple of seven numbers and four flags");
        return false;
    }
    double* places[numbers] = {&settings.rate,  &settings.beta1,    &settings.beta2, &settings.epsilon,
                               &settings.decay, &settings.momentum, &settings.other};
    for (int i = 0; i < numbers; ++i) {
        *places[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(given, i));
        if (*places[i] == -1 && PyErr_Occurred()) return false;
    }
    bool* said[flags] = {&settings.nesterov, &settings.maximize, &settings.decoupled, &settings.variant};
    for (int i = 0; i < flags; ++i) {
        const int truth = PyObject_IsTrue(PyTuple_GET_ITEM(given, numbers + i));
        if (truth < 0) return false;
        *said[i] = truth == 1;
    }
    return true;
}

bool read_keys(PyObject* given, Keys& keys) {
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != most_state + 2) {
        PyErr_SetString(PyExc_TypeError, "keys are a tuple of three arrays, the step and the product");
        return false;
    }
    const auto at = [&](Py_ssize_t i) {
        PyObject* key = PyTuple_GET_ITEM(given, i);
        return key == Py_None ? nullptr : key;
    };
    for (int i = 0; i < most_state; ++i) keys.arrays[i] = at(i);
    keys.step = at(most_state);
    keys.product = at(most_state + 1);
    return true;
}

bool same_shape(PyArrayObject* one, PyArrayObject* other) {
    return PyArray_NDIM(one) == PyArray_NDIM(other) &&
           PyArray_CompareLists(PyArray_DIMS(one), PyArray_DIMS(other), PyArray_NDIM(one));
}

// Whether two arrays of one shape lie in memory in one order; the stride of a dim of size 1 does not matter.
bool lie_alike(PyArrayObject* one, PyArrayObject* other) {
    if (PyArray_IS_C_CONTIGUOUS(one) && PyArray_IS_C_CONTIGUOUS(other)) return true;
    for (int i = 0; i < PyArray_NDIM(one); ++i)
        if (PyArray_DIM(one, i) != 1 && PyArray_STRIDE(one, i) != PyArray_STRIDE(other, i)) return false;
    return true;
}

// Whether an array's elements lie without gaps, in whatever order of dims.
bool dense(PyArrayObject* array) {
    if (PyArray_IS_C_CONTIGUOUS(array)) return true;
    std::vector<std::pair<npy_intp, npy_intp>> dims;
    for (int i = 0; i < PyArray_NDIM(array); ++i)
        if (PyArray_DIM(array, i) != 1) dims.emplace_back(PyArray_STRIDE(array, i), PyArray_DIM(array, i));
    std::sort(dims.begin(), dims.end());
    npy_intp expected = PyArray_ITEMSIZE(array);
    for (const auto& [stride, size] : dims) {
        if (stride != expected) return false;
        expected *= size;
    }
    return true;
}

// The array of a plain value that may be written; nullptr where it is something else.
PyArrayObject* writable(PyObject* value) {
    if (!value || !is_value(value) || !has_array(as_value(value))) return nullptr;
    PyArrayObject* array = as_array(as_value(value)->array);
    return PyArray_ISBEHAVED(array) ? array : nullptr;
}

// The same of a value with a single number, which is a float or a double.
PyArrayObject* scalar(PyObject* value) {
    PyArrayObject* array = writable(value);
    const bool fits = array && PyArray_SIZE(array) == 1 &&
                      (PyArray_TYPE(array) == NPY_FLOAT || PyArray_TYPE(array) == NPY_DOUBLE);
    return fits ? array : nullptr;
}

double number_in(PyArrayObject* array) {
    return PyArray_TYPE(array) == NPY_FLOAT ? *static_cast<float*>(PyArray_DATA(array))
                                            : *static_cast<double*>(PyArray_DATA(array));
}

void put_number(PyArrayObject* array, double number) {
    if (PyArray_TYPE(array) == NPY_FLOAT)
        *static_cast<float*>(PyArray_DATA(array)) = static_cast<float>(number);
    else
        *static_cast<double*>(PyArray_DATA(array)) = number;
}

enum class Answer { taken, no_gradient, left, error };

// Finds what belongs to a parameter.
Answer find(PyObject* parameter, PyObject* state, const Keys& keys, PyObject* grad_word, Found& found) {
    Ref gradient(look_up(parameter, grad_word));
    if (!gradient) return Answer::error;
    if (gradient.object == Py_None) return Answer::no_gradient;
    PyArrayObject* own = writable(parameter);
    if (!own || !is_value(gradient.object) || !has_array(as_value(gradient.object))) return Answer::left;
    const int type = PyArray_TYPE(own);
    const bool is_complex = type == NPY_CFLOAT || type == NPY_CDOUBLE; // two real numbers each
    if (type != NPY_FLOAT && type != NPY_DOUBLE && !is_complex) return Answer::left;
    if (!dense(own)) return Answer::left;
    found.parameter = Ref(Py_NewRef(reinterpret_cast<PyObject*>(own)));

    PyArrayObject* slope = as_array(as_value(gradient.object)->array);
    if (PyArray_TYPE(slope) != type || !same_shape(own, slope)) return Answer::left;
    if (!PyArray_ISBEHAVED_RO(slope) || !lie_alike(own, slope)) {
        Ref held(Py_NewRef(reinterpret_cast<PyObject*>(slope))); // NumPy copies without the GIL
        found.gradient = Ref(PyArray_NewLikeArray(own, NPY_KEEPORDER, nullptr, 0));
        if (!found.gradient || PyArray_CopyInto(as_array(found.gradient.object), slope) < 0) return Answer::error;
        slope = as_array(found.gradient.object);
        if (!lie_alike(own, slope)) return Answer::left;
    } else {
        found.gradient = Ref(Py_NewRef(reinterpret_cast<PyObject*>(slope)));
    }

    if (keys.any()) {
        PyObject* entry = PyDict_GetItemWithError(state, parameter);
        if (!entry) return PyErr_Occurred() ? Answer::error : Answer::left;
        if (!PyDict_Check(entry)) return Answer::left;
        const auto look = [&](PyObject* key) {
            PyObject* value = PyDict_GetItemWithError(entry, key);
            if (value) found.written.emplace_back(Py_NewRef(value));
            return value;
        };
        for (int i = 0; i < most_state; ++i) {
            if (!keys.arrays[i]) continue;
            PyArrayObject* array = writable(look(keys.arrays[i]));
            if (PyErr_Occurred()) return Answer::error;
            if (!array || PyArray_TYPE(array) != type || !same_shape(own, array) || !lie_alike(own, array))
                return Answer::left;
            found.piece.state[i] = PyArray_DATA(array);
            found.state[i] = Ref(Py_NewRef(reinterpret_cast<PyObject*>(array)));
        }
        if (keys.step && !(found.step = scalar(look(keys.step)))) return PyErr_Occurred() ? Answer::error : Answer::left;
        if (keys.product && !(found.product = scalar(look(keys.product))))
            return PyErr_Occurred() ? Answer::error : Answer::left;
    }
    found.piece.parameter = PyArray_DATA(own);
    found.piece.gradient = PyArray_DATA(slope);
    found.piece.count = PyArray_SIZE(own) * (is_complex ? 2 : 1);
    found.piece.wide = type == NPY_DOUBLE || type == NPY_CDOUBLE;
    found.written.emplace_back(Py_NewRef(parameter));
    return Answer::taken;
}

// Whether any two parameters share memory: then they are moved one after the other.
bool overlap(const std::vector<StepPiece>& pieces) {
    std::vector<std::pair<const char*, const char*>> spans;
    spans.reserve(pieces.size());
    for (const StepPiece& piece : pieces) {
        const auto* begin = static_cast<const char*>(piece.parameter);
        spans.emplace_back(begin, begin + piece.count * (piece.wide ? 8 : 4));
    }
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i)
        if (spans[i].first < spans[i - 1].second) return true;
    return false;
}

// Tells the tape that a value was changed.
bool tell(PyObject* changed, PyObject* version_word) {
    Value* value = as_value(changed);
    Value* owner = some(value->owner) ? as_value(value->owner) : value;
    if (!some(owner->grad_fn) && !some(owner->past) && !some(owner->mirrors)) {
        ++owner->changes;
        return true;
    }
    Ref version(look_up(changed, version_word)), one(PyLong_FromLong(1));
    if (!version || !one) return false;
    Ref next(PyNumber_Add(version.object, one.object));
    return next && PyObject_SetAttr(changed, version_word, next.object) == 0;
}

PyObject* make_step(const StepRule& rule, PyObject* state, PyObject* parameters, const Keys& keys,
                    const StepSettings& settings, bool first) {
    static PyObject* const grad_word = PyUnicode_InternFromString("_grad");
    static PyObject* const version_word = PyUnicode_InternFromString("_version");
    if (!grad_word || !version_word) return nullptr;
    Ref left(PyList_New(0));
    if (!left) return nullptr;
    std::vector<Found> all;
    all.reserve(static_cast<std::size_t>(PyList_GET_SIZE(parameters)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parameters); ++i) {
        Ref parameter(Py_NewRef(PyList_GET_ITEM(parameters, i)));
        Found found;
        switch (find(parameter.object, state, keys, grad_word, found)) {
        case Answer::error: return nullptr;
        case Answer::no_gradient: break;
        case Answer::left:
            if (PyList_Append(left.object, parameter.object) < 0) return nullptr;
            break;
        case Answer::taken: all.push_back(std::move(found)); break;
        }
    }
    std::vector<StepPiece> pieces;
    pieces.reserve(all.size());
    for (Found& found : all) {
        double step = 0, product = 1;
        if (found.step) put_number(found.step, number_in(found.step) + 1), step = number_in(found.step);
        if (found.product) product = number_in(found.product);
        prepare_step(rule, settings, step, first, &product, found.piece);
        if (found.product) put_number(found.product, product);
        pieces.push_back(found.piece);
    }
    const bool in_order = pieces.size() > 1 && overlap(pieces);
    {
        KernelScope scope;
        run_step(rule, settings, pieces, in_order);
    }
    for (const Found& found : all)
        for (const Ref& value : found.written)
            if (!tell(value.object, version_word)) return nullptr;
    return left.release();
}

} // namespace

PyObject* optimizer_step(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n != 6 || !PyUnicode_Check(args[0]) || !PyDict_Check(args[1]) || !PyList_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "optimizer_step takes a rule, a dict, a list, keys, settings and a flag");
        return nullptr;
    }
    const char* name = PyUnicode_AsUTF8(args[0]);
    if (!name) return nullptr;
    const StepRule* rule = step_rule(name);
    if (!rule) return PyErr_Format(PyExc_ValueError, "there is no compiled step called %R", args[0]);
    StepSettings settings;
    Keys keys;
    if (!read_settings(args[4], settings) || !read_keys(args[3], keys)) return nullptr;
    const int first = PyObject_IsTrue(args[5]);
    if (first < 0) return nullptr;
    try {
        return make_step(*rule, args[1], args[2], keys, settings, first == 1);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

} // namespace workbench::eager
