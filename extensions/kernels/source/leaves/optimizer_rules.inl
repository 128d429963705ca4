// The rules, in the type REAL: p is the parameter, g its gradient, a to c are the state, `own` the numbers of this step.
// Factors such as 1 - beta are taken from doubles, so that no digits of a beta near 1 are lost.

#define STEP_RULE(name)                                                                                             \
    static void RULE(name)(const StepSettings& set, const double* own, REAL* __restrict p, const REAL* __restrict g, \
                           REAL* __restrict a, REAL* __restrict b, REAL* __restrict c, std::int64_t count)
// A part of the way from one number to another, measured from the nearer one: near the end no digits of it are lost.
#define TOWARD(from, to, part) \
    ((part < REAL(0.5) ? (from) : (to)) + (part < REAL(0.5) ? part : part - 1) * ((to) - (from)))
// A variance. Where a finite mean's square leaves the type, the mean square has left it before: infinity, also where the
// product is rounded by itself.
#define SPREAD(square, mean) \
    ((square) > LARGEST && MAGNITUDE(mean) <= LARGEST ? (square) : (square) - (mean) * (mean))
// NaN stays, on either side.
#define LARGER(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))
#define UNUSED(name) static_cast<void>(name)
// Without decay the parameter is left out: 0 times an infinite one is no number.
#define GRADIENT(i) (sign * g[i] + decay * (decay != 0 ? p[i] : 0))

STEP_RULE(sgd) {
    UNUSED(b), UNUSED(c);
    const REAL sign = set.maximize ? -1 : 1, decay = static_cast<REAL>(set.decay), rate = static_cast<REAL>(set.rate);
    if (!a) {
        for (std::int64_t i = 0; i < count; ++i) p[i] -= rate * (GRADIENT(i));
        return;
    }
    const REAL momentum = static_cast<REAL>(set.momentum);
    if (own[0] != 0) { // the first step: what the velocity held is not read, it may be anything
        const REAL ahead = set.nesterov ? 1 + momentum : 1;
        for (std::int64_t i = 0; i < count; ++i) {
            a[i] = GRADIENT(i);
            p[i] -= rate * (ahead * a[i]);
        }
        return;
    }
    const REAL take = static_cast<REAL>(1 - set.other);
    // With momentum ahead, p moves by the gradient and momentum times the velocity.
    const bool ahead = set.nesterov;
    const REAL by_velocity = ahead ? momentum : 1;
    for (std::int64_t i = 0; i < count; ++i) {
        const REAL gradient = GRADIENT(i);
        a[i] = momentum * a[i] + take * gradient;
        p[i] -= rate * ((ahead ? gradient : 0) + by_velocity * a[i]);
    }
}

STEP_RULE(adam) {
    const REAL sign = set.maximize ? -1 : 1;
    const REAL shrink = static_cast<REAL>(set.decoupled ? 1 - set.rate * set.decay : 1);
    const REAL decay = static_cast<REAL>(set.decoupled ? 0 : set.decay);
    const REAL take1 = static_cast<REAL>(1 - set.beta1), keep2 = static_cast<REAL>(set.beta2);
    const REAL take2 = static_cast<REAL>(1 - set.beta2), epsilon = static_cast<REAL>(set.epsilon);
    const REAL size = static_cast<REAL>(own[0]), root = static_cast<REAL>(own[1]);
    if (set.variant) {
        for (std::int64_t i = 0; i < count; ++i) {
            const REAL gradient = GRADIENT(i);
            a[i] = TOWARD(a[i], gradient, take1);
            b[i] = keep2 * b[i] + take2 * gradient * gradient;
            c[i] = LARGER(c[i], b[i]);
            p[i] = p[i] * shrink - size * a[i] / (ROOT(c[i]) * root + epsilon);
        }
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        const REAL gradient = GRADIENT(i);
        a[i] = TOWARD(a[i], gradient, take1);
        b[i] = keep2 * b[i] + take2 * gradient * gradient;
        p[i] = p[i] * shrink - size * a[i] / (ROOT(b[i]) * root + epsilon);
    }
}

STEP_RULE(nadam) {
    UNUSED(c);
    const REAL sign = set.maximize ? -1 : 1;
    const REAL shrink = static_cast<REAL>(set.decoupled ? 1 - set.rate * set.decay : 1);
    const REAL decay = static_cast<REAL>(set.decoupled ? 0 : set.decay);
    const REAL take1 = static_cast<REAL>(1 - set.beta1), keep2 = static_cast<REAL>(set.beta2);
    const REAL take2 = static_cast<REAL>(1 - set.beta2), epsilon = static_cast<REAL>(set.epsilon);
    const REAL by_gradient = static_cast<REAL>(own[0]), by_mean = static_cast<REAL>(own[1]);
    const REAL correction = static_cast<REAL>(own[2]);
    for (std::int64_t i = 0; i < count; ++i) {
        const REAL gradient = GRADIENT(i);
        a[i] = TOWARD(a[i], gradient, take1);
        b[i] = keep2 * b[i] + take2 * gradient * gradient;
        p[i] = p[i] * shrink - (by_gradient * gradient + by_mean * a[i]) / (ROOT(b[i] * correction) + epsilon);
    }
}

STEP_RULE(radam) {
    UNUSED(c);
    const REAL sign = set.maximize ? -1 : 1;
    const REAL shrink = static_cast<REAL>(set.decoupled ? 1 - set.rate * set.decay : 1);
    const REAL decay = static_cast<REAL>(set.decoupled ? 0 : set.decay);
    const REAL take1 = static_cast<REAL>(1 - set.beta1), keep2 = static_cast<REAL>(set.beta2);
    const REAL take2 = static_cast<REAL>(1 - set.beta2), epsilon = static_cast<REAL>(set.epsilon);
    const REAL size = static_cast<REAL>(own[0]);
    if (own[1] != 0) { // the variance is known well enough to divide by
        for (std::int64_t i = 0; i < count; ++i) {
            const REAL gradient = GRADIENT(i);
            a[i] = TOWARD(a[i], gradient, take1);
            b[i] = keep2 * b[i] + take2 * gradient * gradient;
            p[i] = p[i] * shrink - size * a[i] / (ROOT(b[i]) + epsilon);
        }
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        const REAL gradient = GRADIENT(i);
        a[i] = TOWARD(a[i], gradient, take1);
        b[i] = keep2 * b[i] + take2 * gradient * gradient;
        p[i] = p[i] * shrink - size * a[i];
    }
}

STEP_RULE(adamax) {
    UNUSED(c);
    const REAL sign = set.maximize ? -1 : 1, decay = static_cast<REAL>(set.decay);
    const REAL take1 = static_cast<REAL>(1 - set.beta1), keep2 = static_cast<REAL>(set.beta2);
    const REAL epsilon = static_cast<REAL>(set.epsilon), size = static_cast<REAL>(own[0]);
    for (std::int64_t i = 0; i < count; ++i) {
        const REAL gradient = GRADIENT(i);
        a[i] = TOWARD(a[i], gradient, take1);
        const REAL kept = keep2 * b[i], now = MAGNITUDE(gradient) + epsilon;
        b[i] = LARGER(kept, now);
        p[i] -= size * a[i] / b[i];
    }
}

STEP_RULE(rmsprop) {
    UNUSED(own);
    const REAL sign = set.maximize ? -1 : 1, decay = static_cast<REAL>(set.decay), rate = static_cast<REAL>(set.rate);
    const REAL keep = static_cast<REAL>(set.beta2), take = static_cast<REAL>(1 - set.beta2);
    const REAL epsilon = static_cast<REAL>(set.epsilon), momentum = static_cast<REAL>(set.momentum);
    if (b && c) {
        for (std::int64_t i = 0; i < count; ++i) {
            const REAL gradient = GRADIENT(i);
            a[i] = keep * a[i] + take * gradient * gradient;
            c[i] = TOWARD(c[i], gradient, take);
            b[i] = momentum * b[i] + gradient / (ROOT(SPREAD(a[i], c[i])) + epsilon);
            p[i] -= rate * b[i];
        }
    } else if (c) {
        for (std::int64_t i = 0; i < count; ++i) {
            const REAL gradient = GRADIENT(i);
            a[i] = keep * a[i] + take * gradient * gradient;
            c[i] = TOWARD(c[i], gradient, take);
            p[i] -= rate * gradient / (ROOT(SPREAD(a[i], c[i])) + epsilon);
        }
    } else if (b) {
        for (std::int64_t i = 0; i < count; ++i) {
            const REAL gradient = GRADIENT(i);
            a[i] = keep * a[i] + take * gradient * gradient;
            b[i] = momentum * b[i] + gradient / (ROOT(a[i]) + epsilon);
            p[i] -= rate * b[i];
        }
    } else {
        for (std::int64_t i = 0; i < count; ++i) {
            const REAL gradient = GRADIENT(i);
            a[i] = keep * a[i] + take * gradient * gradient;
            p[i] -= rate * gradient / (ROOT(a[i]) + epsilon);
        }
    }
}

STEP_RULE(adagrad) {
    UNUSED(b), UNUSED(c);
    const REAL sign = set.maximize ? -1 : 1, decay = static_cast<REAL>(set.decay);
    const REAL epsilon = static_cast<REAL>(set.epsilon), size = static_cast<REAL>(own[0]);
    for (std::int64_t i = 0; i < count; ++i) {
        const REAL gradient = GRADIENT(i);
        a[i] += gradient * gradient;
        p[i] -= size * gradient / (ROOT(a[i]) + epsilon);
    }
}

STEP_RULE(adadelta) {
    UNUSED(own), UNUSED(c);
    const REAL sign = set.maximize ? -1 : 1, decay = static_cast<REAL>(set.decay), rate = static_cast<REAL>(set.rate);
    const REAL keep = static_cast<REAL>(set.beta2), take = static_cast<REAL>(1 - set.beta2);
    const REAL epsilon = static_cast<REAL>(set.epsilon);
    for (std::int64_t i = 0; i < count; ++i) {
        const REAL gradient = GRADIENT(i);
        a[i] = keep * a[i] + take * gradient * gradient;
        const REAL change = ROOT(b[i] + epsilon) / ROOT(a[i] + epsilon) * gradient;
        b[i] = keep * b[i] + take * change * change;
        p[i] -= rate * change;
    }
}

#undef STEP_RULE
#undef UNUSED
#undef GRADIENT
#undef LARGER
#undef SPREAD
#undef TOWARD
