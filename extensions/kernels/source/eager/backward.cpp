#include "backward.hpp"

#include "types.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace workbench::eager {
namespace {

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

// The number of outputs, -1 with an exception.
int outputs_of(PyObject* op) {
    int outputs = -1;
    if (!PyObject_TypeCheck(op, op_base)) return whole(op, "outputs", outputs) ? outputs : -1;
    auto* own = reinterpret_cast<Op*>(op);
    return own->prepared || prepare(own) ? own->outputs : -1;
}

// Says whether the rule reads no numbers of values: such a call can be gone through again.
bool saves_nothing(const Node* node, PyObject* op) {
    if (!PyObject_TypeCheck(op, op_base)) return false;
    auto* own = reinterpret_cast<Op*>(op);
    if (own->saves_nothing) return true;
    if (!own->saves_others || !some(node->inputs)) return false;
    int values = 0; // of a product with a number the gradient reads that number alone
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(node->inputs); ++i) values += is_value(PyTuple_GET_ITEM(node->inputs, i));
    return values == 1;
}

// Where on the tape a value is: the number of its call, or the leaf's address, as a negative number.
long long place_of(PyObject* value) {
    auto* own = as_value(value);
    if (some(own->grad_fn)) return as_node(own->grad_fn)->serial;
    return -static_cast<long long>(reinterpret_cast<std::intptr_t>(some(own->leaf) ? own->leaf : value));
}

// The inputs of a call on the places that they had when it was recorded; an empty reference with an exception.
Ref sources_of(PyObject* self) {
    auto* node = as_node(self);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(node->inputs); ++i) {
        PyObject* one = PyTuple_GET_ITEM(node->inputs, i);
        if (!is_value(one) || !(some(as_value(one)->past) || as_value(one)->since > node->serial)) continue;
        Ref moved(PyObject_CallMethod(self, "sources", nullptr));
        if (moved && !PyTuple_Check(moved.object)) {
            PyErr_Format(PyExc_TypeError, "the sources of %R are no tuple", self);
            return Ref();
        }
        return moved;
    }
    return Ref(Py_NewRef(node->inputs));
}

bool asks(PyObject* one) { return is_value(one) && as_value(one)->requires_grad; }

// The places on some way to what is asked for: no other gradient need be computed.
class Leading {
   public:
    // Goes through the tape from the first values of `pairs`; false with an exception.
    bool find(PyObject* pairs, PyObject* asked) {
        long long oldest = -1; // what is older than all that is asked for does not lead to it; of leaves that is not known
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(asked); ++i) {
            const long long place = place_of(PyTuple_GET_ITEM(asked, i));
            places_.insert(place);
            oldest = i == 0 || oldest > place ? place : oldest;
        }
        oldest = std::max(oldest, -1LL);
        std::vector<Ref> pending;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs); ++i)
            reach(PyTuple_GET_ITEM(PyTuple_GET_ITEM(pairs, i), 0), pending);
        // Calls, and the places that they lead to; none where a call was freed.
        std::unordered_map<long long, std::vector<long long>> found;
        std::vector<long long> calls;
        while (!pending.empty()) {
            Ref node = std::move(pending.back());
            pending.pop_back();
            const long long serial = as_node(node.object)->serial;
            auto [entry, fresh] = found.try_emplace(serial);
            if (!fresh) continue;
            calls.push_back(serial);
            if (!some(as_node(node.object)->inputs)) { // it is walked to, and says so
                places_.insert(serial);
                continue;
            }
            Ref sources = sources_of(node.object);
            if (!sources) return false;
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sources.object); ++i) {
                PyObject* one = PyTuple_GET_ITEM(sources.object, i);
                if (!asks(one)) continue;
                const long long place = place_of(one);
                if (place > 0 && place < oldest) continue;
                entry->second.push_back(place);
                reach(one, pending);
            }
        }
        std::sort(calls.begin(), calls.end()); // what a call was given is older than the call
        for (const long long call : calls) {
            const auto& to = found[call];
            if (std::any_of(to.begin(), to.end(), [&](long long one) { return places_.count(one); })) places_.insert(call);
        }
        return true;
    }

    bool holds(PyObject* value) const { return places_.count(place_of(value)); }

    // Says whether a call leads to what is asked for; -1 with an exception.
    int goes_on(PyObject* self) const {
        if (!some(as_node(self)->inputs)) return 1; // it was freed: that is not known
        Ref sources = sources_of(self);
        if (!sources) return -1;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sources.object); ++i) {
            PyObject* one = PyTuple_GET_ITEM(sources.object, i);
            if (asks(one) && holds(one)) return 1;
        }
        return 0;
    }

   private:
    static void reach(PyObject* value, std::vector<Ref>& pending) {
        if (some(as_value(value)->grad_fn)) pending.emplace_back(Py_NewRef(as_value(value)->grad_fn));
    }

    std::unordered_set<long long> places_;
};

struct Walk {
    PyObject *call_type, *add, *fitting, *hooks, *after, *sink;
    bool retain;
    // Newest call first. Two calls of one number (copies) are two still.
    std::map<std::pair<long long, PyObject*>, Arrived, std::greater<>> pending;
    std::vector<std::pair<Ref, Ref>> leaves;      // and the sums of their gradients, in the order of first arrival
    std::unordered_map<PyObject*, size_t> places; // of leaves
    bool limited = false;                         // to what is asked for
    Leading leading;
    std::map<std::pair<PyObject*, int>, Ref> stops; // values asked for that are no leaves, by call and output

    // Limits the walk to the ways to `asked`, a tuple of values.
    bool limit(PyObject* pairs, PyObject* asked) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(asked); ++i) {
            PyObject* one = PyTuple_GET_ITEM(asked, i);
            if (!is_value(one)) {
                PyErr_SetString(PyExc_TypeError, "a walk is limited to values");
                return false;
            }
            if (some(as_value(one)->grad_fn))
                stops.insert_or_assign({as_value(one)->grad_fn, as_value(one)->output}, Ref(Py_NewRef(one)));
        }
        limited = true;
        return leading.find(pairs, asked);
    }

    // Hands out the gradients of those outputs of a call that were asked for.
    bool hand_out(const Arrived& arrived) {
        for (size_t i = 0; i < arrived.gradients.size(); ++i) {
            PyObject* gradient = arrived.gradients[i].object;
            auto wanted = stops.find({arrived.node.object, static_cast<int>(i)});
            if (wanted == stops.end() || !some(gradient)) continue;
            PyObject* both[] = {wanted->second.object, gradient};
            if (!Ref(call_python(sink, both, 2, nullptr))) return false;
        }
        return true;
    }
    bool stops_at(const Arrived& arrived) const {
        auto first = stops.lower_bound({arrived.node.object, 0});
        return first != stops.end() && first->first.first == arrived.node.object;
    }

    // The needs of a call without those that lead to nothing that is asked for: rules leave these out.
    Ref led(PyObject* inputs, PyObject* needs) {
        const Py_ssize_t n = PyTuple_GET_SIZE(needs);
        Ref fewer(PyTuple_New(n));
        for (Py_ssize_t i = 0; fewer && i < n; ++i) {
            PyObject* one = PyTuple_GET_ITEM(inputs, i);
            const bool need = PyTuple_GET_ITEM(needs, i) == Py_True && is_value(one) && leading.holds(one);
            PyTuple_SET_ITEM(fewer.object, i, Py_NewRef(need ? Py_True : Py_False));
        }
        return fewer;
    }

    bool plus(Ref& sum, Ref gradient) {
        if (!sum || sum.object == Py_None) {
            sum = std::move(gradient);
            return true;
        }
        PyObject* both[] = {sum.object, gradient.object};
        sum = Ref(call_python(add, both, 2, nullptr));
        return bool(sum);
    }

    // Brings a gradient to the type of its value, where that needs thought.
    bool fit(PyObject* reached, Ref& gradient) {
        auto* value = as_value(reached);
        auto* given = as_value(gradient.object);
        if (has_array(value) && has_array(given) &&
            PyArray_DESCR(as_array(value->array)) == PyArray_DESCR(as_array(given->array)))
            return true;
        PyObject* both[] = {gradient.object, reached};
        gradient = Ref(call_python(fitting, both, 2, nullptr));
        return bool(gradient);
    }

    // Takes a gradient that has reached `reached`; both are values.
    bool arrive(PyObject* reached, Ref gradient) {
        if (!fit(reached, gradient)) return false;
        auto* value = as_value(reached);
        if (!some(value->grad_fn)) {
            PyObject* leaf = some(value->leaf) ? value->leaf : reached;
            auto [place, fresh] = places.try_emplace(leaf, leaves.size());
            if (fresh) leaves.emplace_back(Ref(Py_NewRef(leaf)), Ref());
            return plus(leaves[place->second].second, std::move(gradient));
        }
        Node* node = as_node(value->grad_fn);
        int output = value->output;
        Arrived& arrived = pending[{node->serial, value->grad_fn}];
        if (!arrived.node) {
            arrived.node = Ref(Py_NewRef(value->grad_fn));
            Ref op(Py_NewRef(node->op ? node->op : Py_None));
            int outputs = outputs_of(op.object);
            if (outputs < 0) return false;
            arrived.gradients.resize(outputs);
        }
        if (output < 0 || static_cast<size_t>(output) >= arrived.gradients.size()) {
            PyErr_Format(PyExc_RuntimeError, "a value is output %d of %R, which has %zu", output, node->op,
                         arrived.gradients.size());
            return false;
        }
        return plus(arrived.gradients[output], std::move(gradient));
    }

    // Lets the hooks on a call's outputs see, and replace, the gradients of these.
    bool run_hooks(Arrived& arrived, bool before = true) {
        auto outputs = static_cast<Py_ssize_t>(arrived.gradients.size());
        Ref list(PyList_New(outputs));
        if (!list) return false;
        for (Py_ssize_t i = 0; i < outputs; ++i) {
            PyObject* one = arrived.gradients[i].object;
            PyList_SET_ITEM(list.object, i, Py_NewRef(one ? one : Py_None));
        }
        PyObject* three[] = {arrived.node.object, list.object, before ? Py_True : Py_False};
        if (!Ref(call_python(hooks, three, 3, nullptr))) return false;
        if (PyList_GET_SIZE(list.object) != outputs) {
            PyErr_Format(PyExc_RuntimeError, "the hooks of %R gave %zd gradients for %zd outputs", arrived.node.object,
                         PyList_GET_SIZE(list.object), outputs);
            return false;
        }
        for (Py_ssize_t i = 0; i < outputs; ++i)
            arrived.gradients[i] = Ref(Py_NewRef(PyList_GET_ITEM(list.object, i)));
        return true;
    }

    // The call as its rule sees it.
    Ref recalled(PyObject* node) {
        PyObject* pair[] = {node, call_type};
        Ref call(recall(nullptr, pair, 2));
        if (call && call.object == Py_None) call = Ref(PyObject_CallMethod(node, "call", nullptr));
        if (call && !PyObject_TypeCheck(call.object, recorded_base)) {
            PyErr_Format(PyExc_TypeError, "%R recalled %.200s instead of a call", node, Py_TYPE(call.object)->tp_name);
            return Ref();
        }
        return call;
    }

    // Runs the rule of one call, and sends on what it gives.
    bool step(Arrived arrived) {
        Node* node = as_node(arrived.node.object);
        if (limited) {
            const int goes_on = leading.goes_on(arrived.node.object);
            if (goes_on < 0) return false;
            // Gradients end here, since they were asked for: they are handed out as the hooks leave them.
            if (!goes_on) {
                if (!stops_at(arrived)) return true;
                return (!some(node->hooks) || run_hooks(arrived, false)) && hand_out(arrived);
            }
            // Where they go on they are handed out as they arrived.
            if (!stops.empty() && !hand_out(arrived)) return false;
        }
        if ((some(node->hooks) || some(node->before)) && !run_hooks(arrived)) return false;
        Ref call = recalled(arrived.node.object);
        if (!call) return false;
        // What the rule is told of is what its results are for, whatever it does to the call.
        auto* recorded = reinterpret_cast<Recorded*>(call.object);
        Ref inputs(Py_XNewRef(recorded->inputs)), needs(Py_XNewRef(recorded->needs));
        if (!inputs || !needs || !PyTuple_Check(inputs.object) || !PyTuple_Check(needs.object) ||
            PyTuple_GET_SIZE(inputs.object) != PyTuple_GET_SIZE(needs.object)) {
            PyErr_Format(PyExc_TypeError, "%R recalled a call without a tuple of inputs and as many needs",
                         arrived.node.object);
            return false;
        }
        if (limited) {
            needs = led(inputs.object, needs.object);
            if (!needs) return false;
            Py_XSETREF(recorded->needs, Py_NewRef(needs.object));
        }
        Ref op(Py_NewRef(node->op ? node->op : Py_None));
        Ref rule(rule_of(op.object));
        if (!rule) return false;
        size_t outputs = arrived.gradients.size();
        std::vector<PyObject*> arguments(outputs + 1);
        arguments[0] = call.object;
        for (size_t i = 0; i < outputs; ++i) {
            PyObject* one = arrived.gradients[i].object;
            arguments[i + 1] = one ? one : Py_None;
        }
        Ref results(call_python(rule.object, arguments.data(), arguments.size(), nullptr));
        if (!results) return false;
        if (!retain && !saves_nothing(node, op.object)) {
            Py_CLEAR(node->inputs);
            Py_CLEAR(node->saved);
            Py_CLEAR(node->packed);
        }
        if (some(node->after)) {
            if (!as_tuple(results, op.object)) return false;
            Ref seen(PyTuple_New(outputs));
            if (!seen) return false;
            for (size_t i = 0; i < outputs; ++i) PyTuple_SET_ITEM(seen.object, i, Py_NewRef(arguments[i + 1]));
            PyObject* three[] = {arrived.node.object, results.object, seen.object};
            results = Ref(call_python(after, three, 3, nullptr));
        }
        if (!results || !as_tuple(results, op.object)) return false;
        arrived.gradients.clear(); // memory goes as the walk goes
        return send_on(inputs.object, needs.object, results.object, op.object);
    }

    // What a rule gives is a tuple, or can be made one. A single value can, too, by its rows: that is not meant.
    bool as_tuple(Ref& results, PyObject* op) {
        if (PyTuple_Check(results.object)) return true;
        if (is_value(results.object)) {
            PyErr_Format(PyExc_RuntimeError, "the gradient rule of %R gave a single value: give a tuple, one an input", op);
            return false;
        }
        results = Ref(PySequence_Tuple(results.object));
        return bool(results);
    }

    bool send_on(PyObject* inputs, PyObject* needs, PyObject* results, PyObject* op) {
        Py_ssize_t n = PyTuple_GET_SIZE(inputs);
        if (PyTuple_GET_SIZE(results) != n) {
            PyErr_Format(PyExc_RuntimeError, "the gradient rule of %R gave %zd gradients for %zd inputs", op,
                         PyTuple_GET_SIZE(results), n);
            return false;
        }
        for (Py_ssize_t i = 0; i < n; ++i) {
            PyObject* gradient = PyTuple_GET_ITEM(results, i);
            PyObject* reached = PyTuple_GET_ITEM(inputs, i);
            if (gradient == Py_None || PyTuple_GET_ITEM(needs, i) != Py_True || !is_value(reached)) continue;
            if (!is_value(gradient)) {
                PyErr_Format(PyExc_RuntimeError, "the gradient rule of %R gave %.200s as the gradient of input %zd: give a "
                             "tensor, or None", op, Py_TYPE(gradient)->tp_name, i);
                return false;
            }
            if (!arrive(reached, Ref(Py_NewRef(gradient)))) return false;
        }
        return true;
    }

    bool start(PyObject* starts, PyObject* asked) {
        Ref pairs(PyList_AsTuple(starts)); // a copy: a list may change under the walk
        for (Py_ssize_t i = 0; pairs && i < PyTuple_GET_SIZE(pairs.object); ++i) {
            PyObject* pair = PyTuple_GET_ITEM(pairs.object, i);
            if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 || !is_value(PyTuple_GET_ITEM(pair, 0)) ||
                !is_value(PyTuple_GET_ITEM(pair, 1))) {
                PyErr_SetString(PyExc_TypeError, "walk starts at pairs of a value and its gradient");
                return false;
            }
        }
        if (!pairs || (asked != Py_None && !limit(pairs.object, asked))) return false;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs.object); ++i) {
            PyObject* pair = PyTuple_GET_ITEM(pairs.object, i);
            if (!arrive(PyTuple_GET_ITEM(pair, 0), Ref(Py_NewRef(PyTuple_GET_ITEM(pair, 1))))) return false;
        }
        return true;
    }

    bool run() {
        while (!pending.empty()) {
            auto newest = pending.begin();
            Arrived arrived = std::move(newest->second);
            pending.erase(newest);
            if (!step(std::move(arrived))) return false;
        }
        for (auto& [leaf, gradient] : leaves) {
            PyObject* both[] = {leaf.object, gradient.object};
            if (!Ref(call_python(sink, both, 2, nullptr))) return false;
        }
        return true;
    }
};

} // namespace

PyObject* walk(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n != 9 || !PyList_Check(args[0]) || !(args[8] == Py_None || PyTuple_Check(args[8]))) {
        PyErr_SetString(PyExc_TypeError, "walk takes a list of pairs, six arguments, a sink, and what it is limited to");
        return nullptr;
    }
    int retain = PyObject_IsTrue(args[1]);
    if (retain < 0) return nullptr;
    try {
        Walk walk{args[2], args[3], args[4], args[5], args[6], args[7], retain == 1, {}, {}, {}, false, {}, {}};
        if (!walk.start(args[0], args[8]) || !walk.run()) return nullptr;
    } catch (const std::exception&) { // no memory for the walk's own lists
        return PyErr_Occurred() ? nullptr : PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

} // namespace workbench::eager
