#include "backward.hpp"

#include "types.hpp"

#include <exception>
#include <functional>
#include <map>
#include <unordered_map>
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

struct Walk {
    PyObject *call_type, *add, *fitting, *hooks, *after, *sink;
    bool retain;
    // Newest call first. Two calls of one number (copies) are two still.
    std::map<std::pair<long long, PyObject*>, Arrived, std::greater<>> pending;
    std::vector<std::pair<Ref, Ref>> leaves;      // and the sums of their gradients, in the order of first arrival
    std::unordered_map<PyObject*, size_t> places; // of leaves

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
    bool run_hooks(Arrived& arrived) {
        auto outputs = static_cast<Py_ssize_t>(arrived.gradients.size());
        Ref list(PyList_New(outputs));
        if (!list) return false;
        for (Py_ssize_t i = 0; i < outputs; ++i) {
            PyObject* one = arrived.gradients[i].object;
            PyList_SET_ITEM(list.object, i, Py_NewRef(one ? one : Py_None));
        }
        PyObject* both[] = {arrived.node.object, list.object};
        if (!Ref(call_python(hooks, both, 2, nullptr))) return false;
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

    bool start(PyObject* starts) {
        Ref pairs(PyList_AsTuple(starts)); // a copy: a list may change under the walk
        for (Py_ssize_t i = 0; pairs && i < PyTuple_GET_SIZE(pairs.object); ++i) {
            PyObject* pair = PyTuple_GET_ITEM(pairs.object, i);
            if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 || !is_value(PyTuple_GET_ITEM(pair, 0)) ||
                !is_value(PyTuple_GET_ITEM(pair, 1))) {
                PyErr_SetString(PyExc_TypeError, "walk starts at pairs of a value and its gradient");
                return false;
            }
            if (!arrive(PyTuple_GET_ITEM(pair, 0), Ref(Py_NewRef(PyTuple_GET_ITEM(pair, 1))))) return false;
        }
        return bool(pairs);
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
    if (n != 8 || !PyList_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "walk takes a list of pairs and seven arguments more");
        return nullptr;
    }
    int retain = PyObject_IsTrue(args[1]);
    if (retain < 0) return nullptr;
    try {
        Walk walk{args[2], args[3], args[4], args[5], args[6], args[7], retain == 1, {}, {}, {}};
        if (!walk.start(args[0]) || !walk.run()) return nullptr;
    } catch (const std::exception&) { // no memory for the walk's own lists
        return PyErr_Occurred() ? nullptr : PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

} // namespace workbench::eager
