// Eager dispatch without Python in the way: the common call of an op (plain arrays of one type, no interpreter
// looking on) from its arguments to its recorded result.
//
// Whatever is not common goes to `workbench.core.dispatch.apply`, which does the same for every call, and says what is
// wrong with one that cannot be done. The two must agree; tests/core compares them.

#include "eager.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace workbench {
namespace {

// What `workbench.core` tells about itself, once.
struct Known {
  PyObject* state = nullptr;         // the context variable
  PyObject* default_state = nullptr; // what it is where nothing was set
  PyObject* value_type = nullptr;    // the type of new values
  PyObject* node_type = nullptr;
  PyObject* apply = nullptr;    // the whole dispatch
  PyObject* names_of = nullptr; // (op, inputs, params) -> names of each output
  PyObject* record = nullptr;   // (op, inputs, params, results)
  PyObject* tape = nullptr;     // the tape's module dict: `watching`
  PyObject* warnings = nullptr; // NumPy's context variable of what to do about invalid numbers
  PyObject* quiet = nullptr;    // and its value for nothing
} known;

long long serial = 0;
constexpr npy_intp LARGE = 4096; // bytes; as in workbench.core.tape
constexpr Py_ssize_t MOST_INPUTS = 8;
constexpr Py_ssize_t MOST_CACHED = 512;

PyObject* word_kernel = nullptr;
PyObject* word_accepts = nullptr;
PyObject* word_run = nullptr;
PyObject* word_least = nullptr;
PyObject* word_watching = nullptr;

// ------------------------------------------------------------------------------------------------- values

struct Value {
  PyObject_HEAD
  PyObject* array;
  PyObject* names;
  PyObject* grad_fn;
  PyObject* view;
  PyObject* owner;
  PyObject* leaf;
  PyObject* past;
  long long changes;
  long long seen;
  int output;
  char requires_grad;
  char inference;
};

PyTypeObject* value_base = nullptr;

int value_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* value = reinterpret_cast<Value*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(value->array);
  Py_VISIT(value->names);
  Py_VISIT(value->grad_fn);
  Py_VISIT(value->view);
  Py_VISIT(value->owner);
  Py_VISIT(value->leaf);
  Py_VISIT(value->past);
  return 0;
}

int value_clear(PyObject* self) {
  auto* value = reinterpret_cast<Value*>(self);
  Py_CLEAR(value->array);
  Py_CLEAR(value->names);
  Py_CLEAR(value->grad_fn);
  Py_CLEAR(value->view);
  Py_CLEAR(value->owner);
  Py_CLEAR(value->leaf);
  Py_CLEAR(value->past);
  return 0;
}

template <int (*clear)(PyObject*)>
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_TRASHCAN_BEGIN(self, dealloc<clear>) // long chains of calls are not freed by recursion
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
  Py_TRASHCAN_END
}

PyMemberDef value_members[] = {
    {"_array", T_OBJECT, offsetof(Value, array), 0, nullptr},
    {"_names", T_OBJECT, offsetof(Value, names), 0, nullptr},
    {"_grad_fn", T_OBJECT, offsetof(Value, grad_fn), 0, nullptr},
    {"_view", T_OBJECT, offsetof(Value, view), 0, nullptr},
    {"_owner", T_OBJECT, offsetof(Value, owner), 0, nullptr},
    {"_leaf", T_OBJECT, offsetof(Value, leaf), 0, nullptr},
    {"_past", T_OBJECT, offsetof(Value, past), 0, nullptr},
    {"_changes", T_LONGLONG, offsetof(Value, changes), 0, nullptr},
    {"_seen", T_LONGLONG, offsetof(Value, seen), 0, nullptr},
    {"_output", T_INT, offsetof(Value, output), 0, nullptr},
    {"_requires_grad", T_BOOL, offsetof(Value, requires_grad), 0, nullptr},
    {"_inference", T_BOOL, offsetof(Value, inference), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot value_slots[] = {
    {Py_tp_members, value_members},
    {Py_tp_traverse, reinterpret_cast<void*>(value_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(value_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<value_clear>)},
    {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_doc, const_cast<char*>("What dispatch keeps of a value.")},
    {0, nullptr},
};
PyType_Spec value_spec = {"workbench._kernels.ValueBase", sizeof(Value), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, value_slots};

// -------------------------------------------------------------------------------------------------- nodes

struct Node {
  PyObject_HEAD
  PyObject* op;
  PyObject* inputs;
  PyObject* params;
  PyObject* saved;
  PyObject* versions;
  PyObject* packed;
  PyObject* hooks;
  PyObject* before;
  PyObject* after;
  long long serial;
};

int node_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* node = reinterpret_cast<Node*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(node->op);
  Py_VISIT(node->inputs);
  Py_VISIT(node->params);
  Py_VISIT(node->saved);
  Py_VISIT(node->versions);
  Py_VISIT(node->packed);
  Py_VISIT(node->hooks);
  Py_VISIT(node->before);
  Py_VISIT(node->after);
  return 0;
}

int node_clear(PyObject* self) {
  auto* node = reinterpret_cast<Node*>(self);
  Py_CLEAR(node->op);
  Py_CLEAR(node->inputs);
  Py_CLEAR(node->params);
  Py_CLEAR(node->saved);
  Py_CLEAR(node->versions);
  Py_CLEAR(node->packed);
  Py_CLEAR(node->hooks);
  Py_CLEAR(node->before);
  Py_CLEAR(node->after);
  return 0;
}

PyMemberDef node_members[] = {
    {"op", T_OBJECT, offsetof(Node, op), 0, nullptr},
    {"inputs", T_OBJECT, offsetof(Node, inputs), 0, nullptr},
    {"params", T_OBJECT, offsetof(Node, params), 0, nullptr},
    {"saved", T_OBJECT, offsetof(Node, saved), 0, nullptr},
    {"versions", T_OBJECT, offsetof(Node, versions), 0, nullptr},
    {"packed", T_OBJECT, offsetof(Node, packed), 0, nullptr},
    {"hooks", T_OBJECT, offsetof(Node, hooks), 0, nullptr},
    {"before", T_OBJECT, offsetof(Node, before), 0, nullptr},
    {"after", T_OBJECT, offsetof(Node, after), 0, nullptr},
    {"serial", T_LONGLONG, offsetof(Node, serial), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot node_slots[] = {
    {Py_tp_members, node_members},
    {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<node_clear>)},
    {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_doc, const_cast<char*>("What the tape keeps of a call.")},
    {0, nullptr},
};
PyType_Spec node_spec = {"workbench._kernels.NodeBase", sizeof(Node), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, node_slots};

// ---------------------------------------------------------------------------------------------------- ops

// What small arrays are computed with right here: for them a call of NumPy costs more than the numbers.
enum class Small { none, add, sub, mul, div, neg, relu, relu_gradient, sum, sum_to, expand };

struct Op {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* forward;
  PyObject* cache; // names of the outputs by dims of the inputs and parameters
  PyObject* vjp;
  Small small; // what is computed here when the arrays are small
  int skip;
  int outputs;
  bool prepared, keeps, same, elementwise, widens, view, differentiable, saves_output, saves_part;
};

PyTypeObject* op_base = nullptr;

int op_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* op = reinterpret_cast<Op*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(op->forward);
  Py_VISIT(op->cache);
  Py_VISIT(op->vjp);
  return 0;
}

int op_clear(PyObject* self) {
  auto* op = reinterpret_cast<Op*>(self);
  Py_CLEAR(op->forward);
  Py_CLEAR(op->cache);
  Py_CLEAR(op->vjp);
  return 0;
}

bool truth(PyObject* owner, const char* name, bool& out) {
  PyObject* found = PyObject_GetAttrString(owner, name);
  if (!found) return false;
  int value = PyObject_IsTrue(found);
  Py_DECREF(found);
  out = value == 1;
  return value >= 0;
}

bool whole(PyObject* owner, const char* name, int& out) {
  PyObject* found = PyObject_GetAttrString(owner, name);
  if (!found) return false;
  out = static_cast<int>(PyLong_AsLong(found));
  Py_DECREF(found);
  return !(out == -1 && PyErr_Occurred());
}

Small small_of(PyObject* op) {
  PyObject* name = PyObject_GetAttrString(op, "name");
  const char* text = name ? PyUnicode_AsUTF8(name) : nullptr;
  std::string_view word = text ? text : "";
  Py_XDECREF(name);
  if (!text) PyErr_Clear();
  static const std::pair<std::string_view, Small> known_words[] = {
      {"add", Small::add}, {"sub", Small::sub},   {"mul", Small::mul},
      {"div", Small::div}, {"neg", Small::neg},   {"relu", Small::relu},
      {"sum", Small::sum}, {"sum_to", Small::sum_to}, {"expand", Small::expand},
      {"relu_gradient", Small::relu_gradient}};
  for (const auto& [known_word, small] : known_words)
    if (word == known_word) return small;
  return Small::none;
}

bool prepare(Op* op) {
  auto* self = reinterpret_cast<PyObject*>(op);
  PyObject* rule = PyObject_GetAttrString(self, "dtype");
  PyObject* saves = PyObject_GetAttrString(self, "saves");
  PyObject* properties = PyObject_GetAttrString(self, "properties");
  PyObject* elementwise = PyUnicode_FromString("elementwise");
  PyObject* common = rule ? PyObject_GetAttrString(rule, "common") : nullptr;
  PyObject* inputs = saves ? PyObject_GetAttrString(saves, "inputs") : nullptr;
  op->forward = PyObject_GetAttrString(self, "forward");
  op->vjp = PyObject_GetAttrString(self, "vjp");
  op->cache = PyDict_New();
  op->small = small_of(self);
  bool crossed = false;
  bool good = rule && saves && properties && elementwise && common && inputs && op->forward && op->vjp && op->cache &&
              whole(rule, "skip", op->skip) && whole(self, "outputs", op->outputs) && truth(self, "same", op->same) &&
              truth(self, "widens", op->widens) && truth(self, "view", op->view) &&
              truth(self, "vjp", op->differentiable) && truth(saves, "output", op->saves_output) &&
              truth(saves, "crossed", crossed);
  if (good) {
    op->keeps = common == Py_None;
    op->elementwise = PySet_Contains(properties, elementwise) == 1;
    op->saves_part = crossed || inputs != Py_None;
    op->prepared = true;
  }
  for (PyObject* one : {rule, saves, properties, elementwise, common, inputs}) Py_XDECREF(one);
  return good;
}

PyObject* whole_way(PyObject* op, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Py_ssize_t words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  std::array<PyObject*, 32> few;
  std::unique_ptr<PyObject*[]> many;
  PyObject** all = few.data();
  if (n + words + 1 > static_cast<Py_ssize_t>(few.size())) {
    many.reset(new PyObject*[n + words + 1]);
    all = many.get();
  }
  all[0] = op;
  for (Py_ssize_t i = 0; i < n + words; ++i) all[i + 1] = args[i];
  return PyObject_Vectorcall(known.apply, all, n + 1, kwnames);
}

// Clears an ordinary exception, so that the whole way can say what is wrong; leaves an interrupt.
bool recoverable() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
  PyErr_Clear();
  return true;
}

PyObject* parameters(PyObject* const* values, PyObject* kwnames) {
  PyObject* params = PyDict_New();
  if (!params || !kwnames) return params;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i)
    if (PyDict_SetItem(params, PyTuple_GET_ITEM(kwnames, i), values[i]) < 0) {
      Py_DECREF(params);
      return nullptr;
    }
  return params;
}

// Says by its owner's count of changes whether a view's place on the tape is right.
bool stale(const Value* value) {
  if (!value->view || value->view == Py_None) return false;
  const Value* owner = value->owner && value->owner != Py_None ? reinterpret_cast<Value*>(value->owner) : value;
  return owner->changes != value->seen;
}

// --------------------------------------------------------------------------------------------- small arrays

constexpr npy_intp SMALL = 1024; // values

bool simple(PyObject* array) {
  return PyArray_CheckExact(array) && PyArray_ISCARRAY_RO(reinterpret_cast<PyArrayObject*>(array));
}

// Says whether the dims of `b` are the last ones of `a`: then b repeats along a's memory.
bool ends_with(PyArrayObject* a, PyArrayObject* b) {
  int extra = PyArray_NDIM(a) - PyArray_NDIM(b);
  if (extra < 0) return false;
  for (int d = 0; d < PyArray_NDIM(b); ++d)
    if (PyArray_DIM(a, d + extra) != PyArray_DIM(b, d)) return false;
  return true;
}

template <class T, class F>
void each_pair(const T* a, npy_intp na, const T* b, npy_intp nb, T* out, npy_intp n, F f) {
  if (na == n && nb == n) {
    for (npy_intp i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (na == n) {
    for (npy_intp i = 0, j = 0; i < n; ++i, j = j + 1 == nb ? 0 : j + 1) out[i] = f(a[i], b[j]);
  } else {
    for (npy_intp i = 0, j = 0; i < n; ++i, j = j + 1 == na ? 0 : j + 1) out[i] = f(a[j], b[i]);
  }
}

template <class T>
void small_binary(Small small, const T* a, npy_intp na, const T* b, npy_intp nb, T* out, npy_intp n) {
  switch (small) {
    case Small::add: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x + y; });
    case Small::sub: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x - y; });
    case Small::mul: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x * y; });
    case Small::div: return each_pair(a, na, b, nb, out, n, [](T x, T y) { return x / y; });
    default: return each_pair(a, na, b, nb, out, n, [](T g, T y) { return y > 0 ? g : T(0); });
  }
}

template <class T>
void small_unary(Small small, const T* a, T* out, npy_intp n) {
  if (small == Small::neg)
    for (npy_intp i = 0; i < n; ++i) out[i] = -a[i];
  else
    for (npy_intp i = 0; i < n; ++i) out[i] = a[i] > 0 || a[i] != a[i] ? a[i] : T(0);
}

// Sums blocks of n values that lie one after the other.
template <class T>
void small_sum(const T* a, npy_intp blocks, T* out, npy_intp n) {
  double sums[SMALL] = {};
  for (npy_intp block = 0; block < blocks; ++block)
    for (npy_intp i = 0; i < n; ++i) sums[i] += a[block * n + i];
  for (npy_intp i = 0; i < n; ++i) out[i] = static_cast<T>(sums[i]);
}

template <class T>
T* data(PyObject* array) {
  return static_cast<T*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
}

// One operand of small arithmetic: an array, or a number kept as one value of the type.
template <class T>
struct Operand {
  T number;
  const T* values = nullptr;
  npy_intp count = 0;
  PyArrayObject* array = nullptr;

  explicit Operand(PyObject* one) {
    if (PyFloat_CheckExact(one)) {
      number = static_cast<T>(PyFloat_AS_DOUBLE(one));
      values = &number;
      count = 1;
    } else if (simple(one)) {
      array = reinterpret_cast<PyArrayObject*>(one);
      values = data<T>(one);
      count = PyArray_SIZE(array);
    }
  }
  Operand(const Operand&) = delete;
};

template <class T>
PyObject* small_pair(Small small, int type, PyObject* x, PyObject* y) {
  Operand<T> a(x), b(y);
  if (!a.values || !b.values) return nullptr;
  PyArrayObject* like = a.array && (!b.array || ends_with(a.array, b.array)) ? a.array
                        : b.array && (!a.array || ends_with(b.array, a.array)) ? b.array
                                                                               : nullptr;
  if (!like || PyArray_SIZE(like) > SMALL || PyArray_SIZE(like) == 0) return nullptr;
  PyObject* out = PyArray_SimpleNew(PyArray_NDIM(like), PyArray_DIMS(like), type);
  if (out) small_binary<T>(small, a.values, a.count, b.values, b.count, data<T>(out), PyArray_SIZE(like));
  return out;
}

// Computes a small call; nullptr (without an exception) where it is none.
PyObject* small_call(Small small, PyObject* const* arrays, Py_ssize_t n, PyObject* kwnames) {
  PyObject* first = PyArray_CheckExact(arrays[0]) ? arrays[0] : n > 1 ? arrays[1] : nullptr;
  if (!first || !PyArray_CheckExact(first)) return nullptr;
  auto* array = reinterpret_cast<PyArrayObject*>(first);
  int type = PyArray_TYPE(array);
  if ((type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_SIZE(array) > SMALL) return nullptr;
  Py_ssize_t words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  bool single = type == NPY_FLOAT;
  if (n == 2 && words == 0)
    return single ? small_pair<float>(small, type, arrays[0], arrays[1]) : small_pair<double>(small, type, arrays[0], arrays[1]);
  if (n != 1) return nullptr;
  npy_intp size = PyArray_SIZE(array);
  if (small == Small::neg || small == Small::relu) {
    if (words || !simple(first)) return nullptr;
    PyObject* out = PyArray_SimpleNew(PyArray_NDIM(array), PyArray_DIMS(array), type);
    if (!out) return nullptr;
    single ? small_unary(small, data<float>(first), data<float>(out), size)
           : small_unary(small, data<double>(first), data<double>(out), size);
    return out;
  }
  if (!simple(first) || size == 0) return nullptr;
  npy_intp sizes[NPY_MAXDIMS];
  int dims = 0;
  npy_intp kept = 1;
  if (small == Small::sum) { // over all dims, none kept
    if (words != 2 || !PyTuple_Check(arrays[1]) || PyTuple_GET_SIZE(arrays[1]) != PyArray_NDIM(array) || arrays[2] != Py_False)
      return nullptr;
  } else { // to the sizes of the last dims
    if (words != 1 || !PyTuple_Check(arrays[1])) return nullptr;
    dims = static_cast<int>(PyTuple_GET_SIZE(arrays[1]));
    int extra = PyArray_NDIM(array) - dims;
    if (extra < 0) return nullptr;
    for (int d = 0; d < dims; ++d) {
      sizes[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(arrays[1], d));
      if (PyErr_Occurred()) {
        PyErr_Clear();
        return nullptr;
      }
      if (sizes[d] != PyArray_DIM(array, d + extra)) return nullptr;
      kept *= sizes[d];
    }
    if (!extra) return nullptr;
  }
  PyObject* out = PyArray_SimpleNew(dims, sizes, type);
  if (!out) return nullptr;
  single ? small_sum(data<float>(first), size / kept, data<float>(out), kept)
         : small_sum(data<double>(first), size / kept, data<double>(out), kept);
  return out;
}

PyObject* stretch(PyObject* array, PyObject* sizes);

struct Call {
  Op* op;
  PyObject* const* args;
  Py_ssize_t n;
  PyObject* kwnames;
  std::array<PyObject*, MOST_INPUTS + 16> arrays; // then the parameters, as for a vectorcall
  bool recorded = false;                          // some input requires a gradient
  bool moved = false;                             // some input's memory was changed, or is shared
  bool large = false;                             // some input is too large to be kept for nothing
  bool wants_rule = false;                        // some input has names that only the dims rule can put together
  npy_intp size = 0;

  // Looks at the inputs; false where this call is not a common one.
  bool look() {
    if (n < 1 || n > MOST_INPUTS) return false;
    int type = -1;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* one = args[i];
      if (PyObject_TypeCheck(one, value_base)) {
        auto* value = reinterpret_cast<Value*>(one);
        if (!value->array || !PyArray_CheckExact(value->array) || stale(value)) return false;
        auto* array = reinterpret_cast<PyArrayObject*>(value->array);
        int number = PyArray_TYPE(array);
        if (op->keeps ? op->widens && (number == NPY_HALF || number >= NPY_USERDEF) : i >= op->skip) {
          if (op->keeps || (number != NPY_FLOAT && number != NPY_DOUBLE) || (type >= 0 && number != type)) return false;
          type = number;
        }
        if (value->inference) return false;
        recorded |= value->requires_grad;
        moved |= value->changes != 0 || (value->owner && value->owner != Py_None);
        large |= PyArray_NBYTES(array) > LARGE;
        size = std::max(size, PyArray_SIZE(array));
        arrays[i] = value->array;
      } else if (PyFloat_CheckExact(one) || PyLong_CheckExact(one) || one == Py_None) {
        arrays[i] = one;
      } else {
        return false;
      }
    }
    return op->keeps || type >= 0;
  }

  // Finds the names of an elementwise result, if they need no thought.
  bool simple_names(PyObject*& names) {
    names = nullptr;
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!PyObject_TypeCheck(args[i], value_base)) continue;
      auto* value = reinterpret_cast<Value*>(args[i]);
      int dims = PyArray_NDIM(reinterpret_cast<PyArrayObject*>(value->array));
      PyObject* here = value->names && value->names != Py_None ? value->names : nullptr;
      if (!here || dims == 0) {
        if (dims != 0) wants_rule = true;
        continue;
      }
      if (!names) {
        names = here;
      } else if (names != here) {
        int equal = PyObject_RichCompareBool(names, here, Py_EQ);
        if (equal != 1) {
          if (equal < 0) PyErr_Clear();
          return false;
        }
      }
    }
    return !(wants_rule && names); // named and unnamed together: the rule knows
  }

  // Finds the names of the outputs by the dims rule, or from what it said of the same dims before.
  PyObject* names_by_rule() {
    Py_ssize_t words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject* key = PyTuple_New(2 * n + 2 * words);
    if (!key) return nullptr;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject *names = Py_None, *shape = Py_None;
      Py_INCREF(names);
      if (PyObject_TypeCheck(args[i], value_base)) {
        auto* value = reinterpret_cast<Value*>(args[i]);
        auto* array = reinterpret_cast<PyArrayObject*>(value->array);
        if (value->names) {
          Py_DECREF(names);
          names = Py_NewRef(value->names);
        }
        shape = PyTuple_New(PyArray_NDIM(array));
        for (int d = 0; shape && d < PyArray_NDIM(array); ++d)
          PyTuple_SET_ITEM(shape, d, PyLong_FromSsize_t(PyArray_DIM(array, d)));
      } else {
        Py_INCREF(shape);
      }
      PyTuple_SET_ITEM(key, 2 * i, names);
      PyTuple_SET_ITEM(key, 2 * i + 1, shape);
    }
    for (Py_ssize_t i = 0; i < words; ++i) {
      PyTuple_SET_ITEM(key, 2 * n + 2 * i, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
      PyTuple_SET_ITEM(key, 2 * n + 2 * i + 1, Py_NewRef(args[n + i]));
    }
    PyObject* found = PyDict_GetItemWithError(op->cache, key);
    bool cached = !PyErr_Occurred();
    if (!cached) PyErr_Clear(); // a parameter that has no hash, such as a slice or an array
    if (found) {
      Py_DECREF(key);
      return Py_NewRef(found);
    }
    PyObject* inputs = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(inputs, i, Py_NewRef(args[i]));
    PyObject* params = parameters(args + n, kwnames);
    PyObject* arguments[] = {reinterpret_cast<PyObject*>(op), inputs, params};
    found = params ? PyObject_Vectorcall(known.names_of, arguments, 3, nullptr) : nullptr;
    Py_DECREF(inputs);
    Py_XDECREF(params);
    if (found && cached) {
      if (PyDict_GET_SIZE(op->cache) >= MOST_CACHED) PyDict_Clear(op->cache);
      if (PyDict_SetItem(op->cache, key, found) < 0) PyErr_Clear();
    }
    Py_DECREF(key);
    return found;
  }

  // Runs the kernel, where there is one that takes the call, or the op's own array code.
  PyObject* compute() {
    Py_ssize_t words = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < words; ++i) arrays[n + i] = args[n + i];
    if (op->small != Small::none && (size <= SMALL || op->small == Small::expand)) {
      PyObject* out = op->small == Small::expand ? n == 1 && words == 1 ? stretch(arrays[0], arrays[1]) : nullptr
                                                 : small_call(op->small, arrays.data(), n, kwnames);
      if (out || PyErr_Occurred()) return out;
    }
    PyObject* kernel = PyObject_GetAttr(reinterpret_cast<PyObject*>(op), word_kernel);
    if (!kernel) return nullptr;
    if (kernel != Py_None) {
      PyObject* least = PyObject_GetAttr(kernel, word_least);
      npy_intp bound = least ? PyLong_AsSsize_t(least) : 0;
      Py_XDECREF(least);
      if (PyErr_Occurred()) PyErr_Clear();
      if (size >= bound) {
        PyObject* accepts = PyObject_GetAttr(kernel, word_accepts);
        PyObject* answer = accepts ? PyObject_Vectorcall(accepts, arrays.data(), n, kwnames) : nullptr;
        int yes = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(accepts);
        Py_XDECREF(answer);
        PyObject* run = yes == 1 ? PyObject_GetAttr(kernel, word_run) : nullptr;
        if (yes != 0) {
          Py_DECREF(kernel);
          PyObject* out = run ? PyObject_Vectorcall(run, arrays.data(), n, kwnames) : nullptr;
          Py_XDECREF(run);
          return out;
        }
      }
    }
    Py_DECREF(kernel);
    // Infinities and NaN are values like others: an op does not warn of them.
    PyObject* token = PyContextVar_Set(known.warnings, known.quiet);
    if (!token) return nullptr;
    PyObject* out = PyObject_Vectorcall(op->forward, arrays.data(), n, kwnames);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    int reset = PyContextVar_Reset(known.warnings, token);
    Py_DECREF(token);
    if (reset < 0) PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return out;
  }
};

// A view with dims of size 1 (and new ones on the left) repeated without copying. nullptr without an exception where the
// sizes do not fit.
PyObject* stretch(PyObject* one, PyObject* wanted) {
  if (!PyArray_CheckExact(one) || !PyTuple_Check(wanted)) return nullptr;
  auto* array = reinterpret_cast<PyArrayObject*>(one);
  int dims = static_cast<int>(PyTuple_GET_SIZE(wanted));
  int extra = dims - PyArray_NDIM(array);
  if (extra < 0 || dims > NPY_MAXDIMS) return nullptr;
  npy_intp sizes[NPY_MAXDIMS], strides[NPY_MAXDIMS];
  for (int d = 0; d < dims; ++d) {
    sizes[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(wanted, d));
    if (PyErr_Occurred()) return nullptr;
    npy_intp here = d < extra ? 1 : PyArray_DIM(array, d - extra);
    if (here != sizes[d] && here != 1) return nullptr;
    strides[d] = here == sizes[d] && d >= extra ? PyArray_STRIDE(array, d - extra) : 0;
  }
  PyArray_Descr* type = PyArray_DESCR(array);
  Py_INCREF(type);
  // Several values at one place are not to be written to.
  PyObject* view = PyArray_NewFromDescr(&PyArray_Type, type, dims, sizes, strides, PyArray_DATA(array), 0, nullptr);
  if (view && PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(view), Py_NewRef(one)) < 0) Py_CLEAR(view);
  return view;
}

Value* made(PyObject* array, PyObject* names) {
  auto* type = reinterpret_cast<PyTypeObject*>(known.value_type);
  auto* value = reinterpret_cast<Value*>(type->tp_alloc(type, 0));
  if (!value) return nullptr;
  value->array = Py_NewRef(array);
  value->names = Py_XNewRef(names == Py_None ? nullptr : names);
  return value;
}

// Remembers that `result` views the first input, if it does share its memory.
bool see(const Call& call, Value* result) {
  PyObject* base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(result->array));
  if (!base || !PyObject_TypeCheck(call.args[0], value_base)) return true;
  auto* viewed = reinterpret_cast<Value*>(call.args[0]);
  if (base != viewed->array && base != PyArray_BASE(reinterpret_cast<PyArrayObject*>(viewed->array))) return true;
  PyObject* owner = viewed->owner && viewed->owner != Py_None ? viewed->owner : call.args[0];
  PyObject* params = parameters(call.args + call.n, call.kwnames);
  if (!params) return false;
  result->owner = Py_NewRef(owner);
  result->view = PyTuple_Pack(3, call.args[0], reinterpret_cast<PyObject*>(call.op), params);
  result->seen = reinterpret_cast<Value*>(owner)->changes;
  Py_DECREF(params);
  return result->view != nullptr;
}

bool floating(PyObject* value) {
  int number = PyArray_TYPE(reinterpret_cast<PyArrayObject*>(reinterpret_cast<Value*>(value)->array));
  return PyTypeNum_ISFLOAT(number) || PyTypeNum_ISCOMPLEX(number) || number >= NPY_USERDEF;
}

// Puts the call on the tape, as workbench.core.tape.record does.
bool on_tape(const Call& call, PyObject* results) {
  PyObject* inputs = PyTuple_New(call.n);
  PyObject* params = inputs ? parameters(call.args + call.n, call.kwnames) : nullptr;
  if (!params) {
    Py_XDECREF(inputs);
    return false;
  }
  for (Py_ssize_t i = 0; i < call.n; ++i) PyTuple_SET_ITEM(inputs, i, Py_NewRef(call.args[i]));
  PyObject* watching = PyDict_GetItemWithError(known.tape, word_watching);
  bool watched = watching && PyObject_IsTrue(watching) == 1;
  bool good = true;
  if (watched || (call.large && call.op->saves_part)) {
    PyObject* arguments[] = {reinterpret_cast<PyObject*>(call.op), inputs, params, results};
    PyObject* done = PyObject_Vectorcall(known.record, arguments, 4, nullptr);
    good = done != nullptr;
    Py_XDECREF(done);
    Py_DECREF(inputs);
    Py_DECREF(params);
    return good;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(known.node_type);
  auto* node = reinterpret_cast<Node*>(type->tp_alloc(type, 0));
  if (!node) {
    Py_DECREF(inputs);
    Py_DECREF(params);
    return false;
  }
  node->op = Py_NewRef(reinterpret_cast<PyObject*>(call.op));
  node->inputs = inputs;
  node->params = params;
  node->serial = serial++;
  Py_ssize_t outputs = PyTuple_GET_SIZE(results);
  if (call.op->saves_output) {
    node->saved = PyTuple_New(outputs);
    for (Py_ssize_t i = 0; node->saved && i < outputs; ++i)
      PyTuple_SET_ITEM(node->saved, i, Py_NewRef(reinterpret_cast<Value*>(PyTuple_GET_ITEM(results, i))->array));
    good = node->saved != nullptr;
  }
  if (good && call.moved) {
    node->versions = PyTuple_New(call.n);
    for (Py_ssize_t i = 0; node->versions && i < call.n; ++i) {
      long long version = 0;
      if (PyObject_TypeCheck(call.args[i], value_base)) {
        auto* value = reinterpret_cast<Value*>(call.args[i]);
        version = value->owner && value->owner != Py_None ? reinterpret_cast<Value*>(value->owner)->changes : value->changes;
      }
      PyTuple_SET_ITEM(node->versions, i, PyLong_FromLongLong(version));
    }
    good = node->versions != nullptr;
  }
  for (Py_ssize_t i = 0; good && i < outputs; ++i) {
    auto* value = reinterpret_cast<Value*>(PyTuple_GET_ITEM(results, i));
    if (!floating(PyTuple_GET_ITEM(results, i))) continue; // indices beside values
    value->requires_grad = 1;
    Py_XSETREF(value->grad_fn, Py_NewRef(reinterpret_cast<PyObject*>(node)));
    value->output = static_cast<int>(i);
  }
  Py_DECREF(node);
  return good;
}

// Wraps what was computed: a value, or a tuple of values. nullptr without an exception where that is not plain.
PyObject* wrap(const Call& call, PyObject* out, PyObject* names) {
  if (call.op->outputs == 1) {
    PyObject* array = out;
    if (PyArray_CheckExact(out)) {
      Py_INCREF(array);
    } else if (PyArray_IsScalar(out, Generic)) {
      array = PyArray_FromScalar(out, nullptr);
      if (!array) return nullptr;
    } else {
      return nullptr;
    }
    Value* result = made(array, names);
    Py_DECREF(array);
    if (result && call.op->view && !see(call, result)) Py_CLEAR(result);
    return reinterpret_cast<PyObject*>(result);
  }
  if (!PyTuple_Check(out) || PyTuple_GET_SIZE(out) != call.op->outputs) return nullptr;
  PyObject* several = PyTuple_New(call.op->outputs);
  for (Py_ssize_t i = 0; several && i < call.op->outputs; ++i) {
    PyObject* one = PyTuple_GET_ITEM(out, i);
    PyObject* array = PyArray_CheckExact(one) ? Py_NewRef(one) : PyArray_FromAny(one, nullptr, 0, 0, 0, nullptr);
    Value* result = array ? made(array, names ? PyTuple_GET_ITEM(names, i) : nullptr) : nullptr;
    Py_XDECREF(array);
    if (!result) {
      Py_DECREF(several);
      return nullptr;
    }
    PyTuple_SET_ITEM(several, i, reinterpret_cast<PyObject*>(result));
  }
  return several;
}

PyObject* call_op(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  auto* op = reinterpret_cast<Op*>(self);
  Py_ssize_t n = PyVectorcall_NARGS(flags);
  if (!op->prepared && !prepare(op)) return nullptr;
  PyObject* state = nullptr;
  if (PyContextVar_Get(known.state, known.default_state, &state) < 0) return nullptr;
  bool grad = PyTuple_GET_ITEM(state, 0) == Py_True;
  bool common = PyTuple_GET_ITEM(state, 1) == Py_None && PyTuple_GET_ITEM(state, 2) != Py_True;
  Py_DECREF(state);
  Call call{op, args, n, kwnames, {}};
  if (!common || (kwnames && PyTuple_GET_SIZE(kwnames) > 16) || !call.look()) return whole_way(self, args, n, kwnames);

  PyObject* owned = nullptr; // what the rule said
  PyObject* names = nullptr;
  if (op->same) {
    names = PyObject_TypeCheck(args[0], value_base) ? reinterpret_cast<Value*>(args[0])->names : nullptr;
  } else if (!(op->elementwise && op->outputs == 1 && call.simple_names(names))) {
    owned = call.names_by_rule();
    if (!owned) return recoverable() ? whole_way(self, args, n, kwnames) : nullptr;
    names = op->outputs == 1 ? PyTuple_GET_ITEM(owned, 0) : owned;
  }
  PyObject* out = call.compute();
  PyObject* result = out ? wrap(call, out, names) : nullptr;
  Py_XDECREF(out);
  Py_XDECREF(owned);
  if (!result) return !PyErr_Occurred() || recoverable() ? whole_way(self, args, n, kwnames) : nullptr;
  if (grad && call.recorded && op->differentiable) {
    PyObject* results = op->outputs == 1 ? PyTuple_Pack(1, result) : Py_NewRef(result);
    bool good = results && (!floating(PyTuple_GET_ITEM(results, 0)) || on_tape(call, results));
    Py_XDECREF(results);
    if (!good) {
      Py_DECREF(result);
      return nullptr;
    }
  }
  return result;
}

PyObject* op_new(PyTypeObject* type, PyObject*, PyObject*) {
  auto* op = reinterpret_cast<Op*>(type->tp_alloc(type, 0));
  if (op) op->vectorcall = call_op;
  return reinterpret_cast<PyObject*>(op);
}

PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Op, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot op_slots[] = {
    {Py_tp_members, op_members},
    {Py_tp_new, reinterpret_cast<void*>(op_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(op_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(op_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<op_clear>)},
    {Py_tp_doc, const_cast<char*>("An op that is called without Python in the way.")},
    {0, nullptr},
};
PyType_Spec op_spec = {"workbench._kernels.OpBase", sizeof(Op), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, op_slots};

// -------------------------------------------------------------------------------------- calls, for backward

// One call as a gradient rule sees it.
struct Recorded {
  PyObject_HEAD
  PyObject* op;
  PyObject* inputs;
  PyObject* params;
  PyObject* outs;
  PyObject* out;
  PyObject* needs;
};

int recorded_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* call = reinterpret_cast<Recorded*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(call->op);
  Py_VISIT(call->inputs);
  Py_VISIT(call->params);
  Py_VISIT(call->outs);
  Py_VISIT(call->out);
  Py_VISIT(call->needs);
  return 0;
}

int recorded_clear(PyObject* self) {
  auto* call = reinterpret_cast<Recorded*>(self);
  Py_CLEAR(call->op);
  Py_CLEAR(call->inputs);
  Py_CLEAR(call->params);
  Py_CLEAR(call->outs);
  Py_CLEAR(call->out);
  Py_CLEAR(call->needs);
  return 0;
}

PyMemberDef recorded_members[] = {
    {"op", T_OBJECT, offsetof(Recorded, op), 0, nullptr},       {"inputs", T_OBJECT, offsetof(Recorded, inputs), 0, nullptr},
    {"params", T_OBJECT, offsetof(Recorded, params), 0, nullptr}, {"outs", T_OBJECT, offsetof(Recorded, outs), 0, nullptr},
    {"out", T_OBJECT, offsetof(Recorded, out), 0, nullptr},     {"needs", T_OBJECT, offsetof(Recorded, needs), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot recorded_slots[] = {
    {Py_tp_members, recorded_members},
    {Py_tp_traverse, reinterpret_cast<void*>(recorded_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(recorded_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<recorded_clear>)},
    {Py_tp_new, reinterpret_cast<void*>(PyType_GenericNew)},
    {Py_tp_doc, const_cast<char*>("One call of an op, as a gradient rule sees it.")},
    {0, nullptr},
};
PyType_Spec recorded_spec = {"workbench._kernels.CallBase", sizeof(Recorded), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, recorded_slots};

bool some(PyObject* object) { return object && object != Py_None; }

long long version_of(const Value* value) {
  return some(value->owner) ? reinterpret_cast<Value*>(value->owner)->changes : value->changes;
}

// The same value on the same place of the tape, without names.
PyObject* bare(Value* value) {
  Value* other = made(value->array ? value->array : Py_None, nullptr);
  if (!other) return nullptr;
  other->owner = Py_NewRef(some(value->owner) ? value->owner : reinterpret_cast<PyObject*>(value));
  if (value->requires_grad) {
    other->requires_grad = 1;
    if (some(value->grad_fn)) {
      other->grad_fn = Py_NewRef(value->grad_fn);
      other->output = value->output;
    } else {
      other->leaf = Py_NewRef(some(value->leaf) ? value->leaf : reinterpret_cast<PyObject*>(value));
    }
  }
  return reinterpret_cast<PyObject*>(other);
}

// recall(node, call_type): the recorded call, connected to the tape; None where something about it wants thought.
PyObject* recall(PyObject*, PyObject* const* args, Py_ssize_t) {
  auto* node = reinterpret_cast<Node*>(args[0]);
  auto* type = reinterpret_cast<PyTypeObject*>(args[1]);
  if (!some(node->inputs) || some(node->packed)) Py_RETURN_NONE;
  Py_ssize_t n = PyTuple_GET_SIZE(node->inputs);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* one = PyTuple_GET_ITEM(node->inputs, i);
    if (!PyObject_TypeCheck(one, value_base)) continue;
    auto* value = reinterpret_cast<Value*>(one);
    long long expected = some(node->versions) ? PyLong_AsLongLong(PyTuple_GET_ITEM(node->versions, i)) : 0;
    if (some(value->past) || version_of(value) != expected) Py_RETURN_NONE;
  }
  PyObject* inputs = PyTuple_New(n);
  PyObject* needs = PyTuple_New(n);
  PyObject* outs = nullptr;
  bool good = inputs && needs;
  for (Py_ssize_t i = 0; good && i < n; ++i) {
    PyObject* one = PyTuple_GET_ITEM(node->inputs, i);
    bool value = PyObject_TypeCheck(one, value_base);
    auto* held = reinterpret_cast<Value*>(one);
    PyTuple_SET_ITEM(needs, i, Py_NewRef(value && held->requires_grad ? Py_True : Py_False));
    PyObject* seen = value && some(held->names) ? bare(held) : Py_NewRef(one);
    PyTuple_SET_ITEM(inputs, i, seen);
    good = seen != nullptr;
  }
  if (good && some(node->saved)) {
    Py_ssize_t m = PyTuple_GET_SIZE(node->saved);
    outs = PyTuple_New(m);
    for (Py_ssize_t i = 0; outs && i < m; ++i) {
      Value* out = made(PyTuple_GET_ITEM(node->saved, i), nullptr);
      if (!out) {
        Py_CLEAR(outs);
        break;
      }
      out->grad_fn = Py_NewRef(args[0]);
      out->output = static_cast<int>(i);
      out->requires_grad = 1;
      PyTuple_SET_ITEM(outs, i, reinterpret_cast<PyObject*>(out));
    }
    good = outs != nullptr;
  }
  auto* call = good ? reinterpret_cast<Recorded*>(type->tp_alloc(type, 0)) : nullptr;
  if (!call) {
    Py_XDECREF(inputs);
    Py_XDECREF(needs);
    Py_XDECREF(outs);
    return nullptr;
  }
  call->op = Py_XNewRef(node->op);
  call->inputs = inputs;
  call->needs = needs;
  call->params = Py_XNewRef(node->params);
  call->outs = outs;
  call->out = outs ? Py_NewRef(PyTuple_GET_ITEM(outs, 0)) : nullptr;
  return reinterpret_cast<PyObject*>(call);
}

// ------------------------------------------------------------------------------------------- the walk back

// A reference that is given back.
struct Ref {
  PyObject* object = nullptr;
  Ref() = default;
  explicit Ref(PyObject* owned) : object(owned) {}
  Ref(Ref&& other) noexcept : object(std::exchange(other.object, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  Ref(const Ref&) = delete;
  ~Ref() { Py_XDECREF(object); }
  explicit operator bool() const { return object != nullptr; }
};

struct Arrived {
  Ref node;
  std::vector<Ref> gradients; // one an output
};

// What made a recorded call may be an op of the table, or something else with the same attributes: a custom function.
PyObject* rule_of(PyObject* op) {
  if (!PyObject_TypeCheck(op, op_base)) return PyObject_GetAttrString(op, "vjp");
  auto* own = reinterpret_cast<Op*>(op);
  return own->prepared || prepare(own) ? Py_NewRef(own->vjp) : nullptr;
}

int outputs_of(PyObject* op) {
  int outputs = -1;
  if (!PyObject_TypeCheck(op, op_base)) return whole(op, "outputs", outputs) ? outputs : -1;
  auto* own = reinterpret_cast<Op*>(op);
  return own->prepared || prepare(own) ? own->outputs : -1;
}

struct Walk {
  PyObject *add, *fitting, *hooks, *after, *sink;
  std::map<long long, Arrived, std::greater<>> pending; // newest call first
  std::vector<std::pair<Ref, Ref>> leaves;              // and the sums of their gradients, in the order of first arrival
  std::unordered_map<PyObject*, size_t> places;         // of leaves

  bool plus(Ref& sum, Ref gradient) {
    if (!sum) {
      sum = std::move(gradient);
      return true;
    }
    PyObject* both[] = {sum.object, gradient.object};
    sum = Ref(PyObject_Vectorcall(add, both, 2, nullptr));
    return bool(sum);
  }

  // Takes a gradient that has reached `value`.
  bool arrive(PyObject* reached, Ref gradient) {
    auto* value = reinterpret_cast<Value*>(reached);
    auto* given = reinterpret_cast<Value*>(gradient.object);
    bool alike = value->array && given->array && PyArray_CheckExact(value->array) && PyArray_CheckExact(given->array) &&
                 PyArray_DESCR(reinterpret_cast<PyArrayObject*>(value->array)) ==
                     PyArray_DESCR(reinterpret_cast<PyArrayObject*>(given->array));
    if (!alike) {
      PyObject* both[] = {gradient.object, reached};
      gradient = Ref(PyObject_Vectorcall(fitting, both, 2, nullptr));
      if (!gradient) return false;
    }
    if (some(value->grad_fn)) {
      auto* node = reinterpret_cast<Node*>(value->grad_fn);
      Arrived& arrived = pending[node->serial];
      if (!arrived.node) {
        arrived.node = Ref(Py_NewRef(value->grad_fn));
        int outputs = outputs_of(node->op);
        if (outputs < 0) return false;
        arrived.gradients.resize(outputs);
      }
      return plus(arrived.gradients.at(value->output), std::move(gradient));
    }
    PyObject* leaf = some(value->leaf) ? value->leaf : reached;
    auto [place, fresh] = places.try_emplace(leaf, leaves.size());
    if (fresh) leaves.emplace_back(Ref(Py_NewRef(leaf)), Ref());
    return plus(leaves[place->second].second, std::move(gradient));
  }

  // Runs the rule of one call, and sends on what it gives.
  bool step(Arrived arrived, bool retain, PyObject* call_type) {
    auto* node = reinterpret_cast<Node*>(arrived.node.object);
    Py_ssize_t outputs = static_cast<Py_ssize_t>(arrived.gradients.size());
    std::vector<PyObject*> arguments(outputs + 1);
    if (some(node->hooks) || some(node->before)) {
      Ref list(PyList_New(outputs));
      if (!list) return false;
      for (Py_ssize_t i = 0; i < outputs; ++i) {
        PyObject* one = arrived.gradients[i].object;
        PyList_SET_ITEM(list.object, i, Py_NewRef(one ? one : Py_None));
      }
      PyObject* both[] = {arrived.node.object, list.object};
      Ref done(PyObject_Vectorcall(hooks, both, 2, nullptr));
      if (!done) return false;
      for (Py_ssize_t i = 0; i < outputs; ++i) arrived.gradients[i] = Ref(Py_NewRef(PyList_GET_ITEM(list.object, i)));
    }
    PyObject* pair[] = {arrived.node.object, call_type};
    Ref call(recall(nullptr, pair, 2));
    if (!call) return false;
    if (call.object == Py_None) call = Ref(PyObject_CallMethod(arrived.node.object, "call", nullptr));
    if (!call) return false;
    Ref rule(rule_of(node->op));
    if (!rule) return false;
    arguments[0] = call.object;
    for (Py_ssize_t i = 0; i < outputs; ++i) {
      PyObject* one = arrived.gradients[i].object;
      arguments[i + 1] = one ? one : Py_None;
    }
    Ref results(PyObject_Vectorcall(rule.object, arguments.data(), arguments.size(), nullptr));
    if (results && !PyTuple_Check(results.object)) results = Ref(PySequence_Tuple(results.object));
    if (!results) return false;
    if (!retain) {
      Py_CLEAR(node->inputs);
      Py_CLEAR(node->saved);
      Py_CLEAR(node->packed);
    }
    if (some(node->after)) {
      Ref seen(PyTuple_New(outputs));
      if (!seen) return false;
      for (Py_ssize_t i = 0; i < outputs; ++i) PyTuple_SET_ITEM(seen.object, i, Py_NewRef(arguments[i + 1]));
      PyObject* three[] = {arrived.node.object, results.object, seen.object};
      results = Ref(PyObject_Vectorcall(after, three, 3, nullptr));
      if (!results) return false;
    }
    arrived.gradients.clear(); // memory goes as the walk goes
    auto* recorded = reinterpret_cast<Recorded*>(call.object);
    Py_ssize_t n = PyTuple_GET_SIZE(recorded->inputs);
    if (PyTuple_GET_SIZE(results.object) != n) {
      PyErr_Format(PyExc_RuntimeError, "the gradient rule of %R gave %zd gradients for %zd inputs", node->op,
                   PyTuple_GET_SIZE(results.object), n);
      return false;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* gradient = PyTuple_GET_ITEM(results.object, i);
      if (gradient == Py_None || PyTuple_GET_ITEM(recorded->needs, i) != Py_True) continue;
      if (!arrive(PyTuple_GET_ITEM(recorded->inputs, i), Ref(Py_NewRef(gradient)))) return false;
    }
    return true;
  }
};

// walk(starts, retain, call_type, add, fitting, hooks, after, sink): the plain walk over the tape, from pairs of a value
// and its gradient to the leaves, each of which `sink` is told of with the sum of its gradients.
PyObject* walk(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 8) {
    PyErr_SetString(PyExc_TypeError, "walk takes eight arguments");
    return nullptr;
  }
  Walk walk{args[3], args[4], args[5], args[6], args[7], {}, {}, {}};
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); ++i) {
    PyObject* pair = PyList_GET_ITEM(args[0], i);
    if (!walk.arrive(PyTuple_GET_ITEM(pair, 0), Ref(Py_NewRef(PyTuple_GET_ITEM(pair, 1))))) return nullptr;
  }
  while (!walk.pending.empty()) {
    auto newest = walk.pending.begin();
    Arrived arrived = std::move(newest->second);
    walk.pending.erase(newest);
    if (!walk.step(std::move(arrived), args[1] == Py_True, args[2])) return nullptr;
  }
  for (auto& [leaf, gradient] : walk.leaves) {
    PyObject* both[] = {leaf.object, gradient.object};
    Ref done(PyObject_Vectorcall(walk.sink, both, 2, nullptr));
    if (!done) return nullptr;
  }
  Py_RETURN_NONE;
}

// ------------------------------------------------------------------------------------------------ functions

// stretched(array, sizes): `stretch` for Python; None where the sizes do not fit.
PyObject* stretched(PyObject*, PyObject* const* args, Py_ssize_t n) {
  PyObject* view = n == 2 ? stretch(args[0], args[1]) : nullptr;
  if (!view && !PyErr_Occurred()) Py_RETURN_NONE;
  return view;
}

// new(array, names=None): a value around an array.
PyObject* new_value(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n < 1 || n > 2 || !known.value_type) {
    PyErr_SetString(PyExc_TypeError, "new takes an array and names");
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(made(args[0], n == 2 ? args[1] : nullptr));
}

PyObject* next_serial(PyObject*, PyObject*) { return PyLong_FromLongLong(serial++); }

// connect(state, default_state, node_type, apply, names_of, record, tape, warnings, quiet): what core knows.
PyObject* connect(PyObject*, PyObject* args) {
  PyObject *state, *default_state, *node_type, *apply, *names_of, *record, *tape, *warnings, *quiet;
  if (!PyArg_ParseTuple(args, "OOOOOOOOO", &state, &default_state, &node_type, &apply, &names_of, &record, &tape, &warnings,
                        &quiet))
    return nullptr;
  known.warnings = Py_NewRef(warnings);
  known.quiet = Py_NewRef(quiet);
  known.state = Py_NewRef(state);
  known.default_state = Py_NewRef(default_state);
  known.node_type = Py_NewRef(node_type);
  known.apply = Py_NewRef(apply);
  known.names_of = Py_NewRef(names_of);
  known.record = Py_NewRef(record);
  known.tape = Py_NewRef(tape);
  Py_RETURN_NONE;
}

PyObject* use_value_type(PyObject*, PyObject* type) {
  Py_XSETREF(known.value_type, Py_NewRef(type));
  Py_RETURN_NONE;
}

// Python 3.11 does not let a class inherit that its instances are called without building a tuple.
PyObject* call_directly(PyObject*, PyObject* type) {
  reinterpret_cast<PyTypeObject*>(type)->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(reinterpret_cast<PyTypeObject*>(type));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"new_value", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(new_value)), METH_FASTCALL, "A value around an array."},
    {"walk", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(walk)), METH_FASTCALL, "The walk over the tape."},
    {"recall", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(recall)), METH_FASTCALL, "A recorded call, for its gradient rule."},
    {"stretched", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(stretched)), METH_FASTCALL, "A view with dims of size 1 repeated."},
    {"next_serial", next_serial, METH_NOARGS, "The next number of a recorded call."},
    {"connect", connect, METH_VARARGS, "Tell what core knows."},
    {"use_value_type", use_value_type, METH_O, "Set the type of new values."},
    {"call_directly", call_directly, METH_O, "Let calls of a type's instances go straight to their code."},
    {nullptr, nullptr, 0, nullptr},
};

} // namespace

bool add_eager(PyObject* module) {
  import_array1(false);
  word_kernel = PyUnicode_InternFromString("kernel");
  word_accepts = PyUnicode_InternFromString("accepts");
  word_run = PyUnicode_InternFromString("run");
  word_least = PyUnicode_InternFromString("least");
  word_watching = PyUnicode_InternFromString("watching");
  value_base = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&value_spec));
  PyObject* node = PyType_FromSpec(&node_spec);
  PyObject* op = PyType_FromSpec(&op_spec);
  op_base = reinterpret_cast<PyTypeObject*>(op);
  PyObject* call = PyType_FromSpec(&recorded_spec);
  return value_base && node && op && call && PyModule_AddObjectRef(module, "CallBase", call) == 0 && PyModule_AddObjectRef(module, "ValueBase", reinterpret_cast<PyObject*>(value_base)) == 0 &&
         PyModule_AddObjectRef(module, "NodeBase", node) == 0 && PyModule_AddObjectRef(module, "OpBase", op) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

} // namespace workbench
