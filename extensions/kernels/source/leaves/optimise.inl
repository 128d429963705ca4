// Optimizer updates in place. Included once per instruction set; see dispatch.hpp.

static void adam_run(const AdamStep& step, float* __restrict p, const float* __restrict g, float* __restrict mean,
                     float* __restrict square, std::int64_t count) {
    const float shrink = step.decoupled ? 1.f - step.rate * step.decay : 1.f;
    const float coupled = step.decoupled ? 0.f : step.decay;
    const float size = step.rate / step.correction1, root = 1.f / step.correction2_root;
    for (std::int64_t i = 0; i < count; ++i) {
        const float gradient = g[i] + coupled * p[i];
        const float m = mean[i] + (1.f - step.beta1) * (gradient - mean[i]);
        const float s = step.beta2 * square[i] + (1.f - step.beta2) * gradient * gradient;
        mean[i] = m;
        square[i] = s;
        p[i] = p[i] * shrink - size * m / (__builtin_sqrtf(s) * root + step.epsilon);
    }
}

static void sgd_run(float rate, float momentum, float dampening, float decay, bool nesterov, bool first,
                    float* __restrict p, const float* __restrict g, float* __restrict velocity, std::int64_t count) {
    if (momentum == 0.f) {
        for (std::int64_t i = 0; i < count; ++i) p[i] -= rate * (g[i] + decay * p[i]);
        return;
    }
    const float keep = first ? 0.f : momentum, take = first ? 1.f : 1.f - dampening;
    for (std::int64_t i = 0; i < count; ++i) {
        const float gradient = g[i] + decay * p[i];
        const float v = keep * (first ? 0.f : velocity[i]) + take * gradient;
        velocity[i] = v;
        p[i] -= rate * (nesterov ? gradient + momentum * v : v);
    }
}
