"""JAX's modules, imported when something is first computed: JAX starts threads, after which a process must not fork."""

from __future__ import annotations

from workbench.base.lazy import Lazy

__all__ = ["jax", "jnp", "lax", "linalg", "special"]

jax = Lazy("jax")
jnp = Lazy("jax.numpy")
lax = Lazy("jax.lax")
linalg = Lazy("jax.scipy.linalg")
special = Lazy("jax.scipy.special")
