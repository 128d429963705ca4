// Whether attributes of modules and numbers of tensors are those of then: asked at each call of a compiled function.
//
// It only says yes where nothing can have changed, by identity and counts. For all else it leaves the look to Python.
#include "../eager/types.hpp"

#include <vector>

#include <nanobind/stl/vector.h>

#include "watch.hpp"

namespace workbench::compiled {
namespace {

namespace nb = nanobind;
using eager::Value;

// The attributes of one module, in the order of its dict, without those that it keeps to save work.
struct Attributes {
    nb::object own, then, passing;
    std::vector<std::pair<PyObject*, PyObject*>> items;  // kept alive by `then`

    Attributes(nb::handle own, nb::handle then, nb::handle passing)
        : own(nb::borrow(own)), then(nb::borrow(then)), passing(nb::borrow(passing)) {
        if (!PyDict_Check(own.ptr()) || !PyDict_Check(then.ptr()) || !PyTuple_Check(passing.ptr()))
            throw nb::type_error("a watch takes the dict of a module, a copy of it, and a tuple of names");
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(then.ptr(), &at, &key, &value);) items.emplace_back(key, value);
    }
    bool passes(PyObject* key) const {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(passing.ptr()); ++i)
            if (PyTuple_GET_ITEM(passing.ptr(), i) == key) return true;
        return false;
    }
    bool hold() const {
        std::size_t count = 0;
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(own.ptr(), &at, &key, &value);) {
            if (count < items.size() && items[count].first == key && items[count].second == value)
                ++count;
            else if (!passes(key))
                return false;
        }
        return count == items.size();
    }
};

// What `core/lending.py` calls what it knows.
struct Words {
    nb::object lending = nb::steal(PyUnicode_InternFromString("_lending"));
    nb::object for_good = nb::steal(PyUnicode_InternFromString("for_good"));
    nb::object times = nb::steal(PyUnicode_InternFromString("times"));
};

struct Numbers {
    nb::object value, owner, array, lending, times;
    long long changes;

    Numbers(nb::handle tensor, const Words& words) {
        if (!eager::is_value(tensor.ptr())) throw nb::type_error("a watch takes tensors");
        const Value* seen = eager::as_value(tensor.ptr());
        value = nb::borrow(tensor), owner = nb::borrow(eager::some(seen->owner) ? seen->owner : tensor.ptr());
        array = nb::borrow(seen->array), changes = eager::version_of(seen);
        lending = lending_of(words);
        if (!lending.is_none()) times = nb::steal(PyObject_GetAttr(lending.ptr(), words.times.ptr()));
    }
    bool hold() const {
        const Value* seen = eager::as_value(value.ptr());
        PyObject* now = eager::some(seen->owner) ? seen->owner : value.ptr();
        return now == owner.ptr() && seen->array == array.ptr() && eager::as_value(now)->changes == changes;
    }
    // What is known of others who own the memory, or None.
    nb::object lending_of(const Words& words) const {
        nb::object found = nb::steal(PyObject_GetAttr(owner.ptr(), words.lending.ptr()));
        if (!found.is_valid()) throw nb::python_error();
        return found;
    }
    // Whether somebody may have come since who writes into the memory, without its owner counting it.
    bool lent_since(const Words& words) const {
        const nb::object now = lending_of(words);
        if (!now.is(lending)) return true;
        if (now.is_none()) return false;
        const nb::object for_good = nb::steal(PyObject_GetAttr(now.ptr(), words.for_good.ptr()));
        const nb::object often = nb::steal(PyObject_GetAttr(now.ptr(), words.times.ptr()));
        if (!for_good.is_valid() || !often.is_valid()) throw nb::python_error();
        return for_good.ptr() != Py_False || !often.equal(times);
    }
};

class Watch {
   public:
    // `unsure` are the numbers of tensors that others may write into already.
    Watch(const nb::list& attributes, const nb::list& tensors, std::vector<std::size_t> unsure) : unsure_(std::move(unsure)) {
        for (nb::handle one : attributes) attributes_.emplace_back(one[0], one[1], one[2]);
        for (nb::handle one : tensors) tensors_.emplace_back(one, words_);
    }
    // The numbers of tensors of which nobody can tell without a look; None where something may be another.
    nb::object doubtful() const {
        for (const Attributes& one : attributes_)
            if (!one.hold()) return nb::none();
        nb::list found;
        for (const std::size_t one : unsure_) found.append(one);
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            if (!tensors_[i].hold()) return nb::none();
            if (tensors_[i].lent_since(words_)) found.append(i);
        }
        return found;
    }

   private:
    std::vector<Attributes> attributes_;
    Words words_;
    std::vector<Numbers> tensors_;
    std::vector<std::size_t> unsure_;
};

}  // namespace

void bind_watch(nb::module_& room) {
    nb::class_<Watch>(room, "Watch").def(nb::init<const nb::list&, const nb::list&, std::vector<std::size_t>>()).def("doubtful", &Watch::doubtful);
}

}  // namespace workbench::compiled
