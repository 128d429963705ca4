"""Linear algebra: against NumPy, names, what is refused with which words, and gradients of Hermitian matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.autograd import grad

LinAlgError = wb.linalg.LinAlgError


def _random(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)


def _positive(*batch: int, n: int = 3, dtype: Any = np.float64) -> np.ndarray:
    a = _random(*batch, n, n, dtype=dtype)
    return (a @ a.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (4, 3, 3), (2, 2, 20, 20), (40, 40)])
def test_against_numpy_and_in_its_type(dtype: Any, shape: tuple[int, ...]) -> None:
    a = (_random(*shape, dtype=dtype) + 3 * np.eye(shape[-1])).astype(dtype)
    b = _random(*shape[:-1], 2, dtype=dtype)
    x, y = wb.from_numpy(a), wb.from_numpy(b)
    close = {"rtol": 2e-3, "atol": 2e-3} if np.finfo(dtype).eps > 1e-10 else {"rtol": 1e-8, "atol": 1e-8}

    def check(ours: Any, theirs: np.ndarray) -> None:
        assert ours.payload.dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(ours.numpy(), theirs, **close)

    check(wb.linalg.inv(x), np.linalg.inv(a))
    check(wb.linalg.solve(x, y), np.linalg.solve(a, b))
    scale = abs(np.linalg.det(a).astype(np.complex128)).max()
    check(wb.linalg.det(x) / float(scale), (np.linalg.det(a) / np.asarray(scale, a.real.dtype)).astype(dtype))
    check(wb.linalg.svdvals(x), np.linalg.svd(a, compute_uv=False))
    u, s, vh = wb.linalg.svd(x, full_matrices=False)
    check((u * s.unsqueeze(-2).to(u.dtype)) @ vh, a)
    q, r = wb.linalg.qr(x)
    check(q @ r, a)
    h = a @ a.conj().swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)
    low = wb.linalg.cholesky(wb.from_numpy(h))
    check(low @ low.mH, h)
    values, vectors = wb.linalg.eigh(wb.from_numpy(h))
    check(values, np.linalg.eigvalsh(h))
    check(vectors @ (values.unsqueeze(-1).to(vectors.dtype) * vectors.mH), h)
    check(wb.linalg.eigvalsh(wb.from_numpy(h)), np.linalg.eigvalsh(h))
    p, low, up = wb.linalg.lu(x)
    check(p @ low @ up, a)
    check(wb.linalg.lu_solve(*wb.linalg.lu_factor(x), y), np.linalg.solve(a, b))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_a_matrix_by_itself_is_decomposed_as_exactly_as_in_a_batch(dtype: Any) -> None:
    """Gradients of vectors divide by what lies between two values: the last digits of a lone matrix were lost."""
    a = _random(2, 5, 5, dtype=dtype)
    for x in (a, a + a.conj().swapaxes(-1, -2)):
        batch, alone = wb.from_numpy(x), wb.from_numpy(x[0].copy())
        pairs = [*zip(wb.linalg.svd(batch), wb.linalg.svd(alone), strict=True)]
        pairs.append((wb.linalg.svdvals(batch), wb.linalg.svdvals(alone)))
        if x is not a:
            pairs += [*zip(wb.linalg.eigh(batch), wb.linalg.eigh(alone), strict=True)]
            pairs.append((wb.linalg.eigvalsh(batch), wb.linalg.eigvalsh(alone)))
        for several, one in pairs:
            np.testing.assert_array_equal(several[0].numpy(), one.numpy())


def test_names_follow_the_spaces() -> None:
    a = wb.from_numpy(_positive()).rename("out", "in")
    assert wb.linalg.inv(a).names == ("in", "out")
    assert wb.linalg.pinv(a).names == ("in", "out")
    assert wb.linalg.matrix_power(a, 2).names == ("out", "in")
    assert wb.linalg.matrix_power(a, -1).names == ("in", "out")
    assert wb.linalg.solve(a, wb.ones(out=3, K=2).to(wb.float64)).names == ("in", "K")
    assert wb.linalg.solve(a, wb.ones(out=3).to(wb.float64)).names == ("in",)
    u, s, vh = wb.linalg.svd(a)
    assert (u.names, s.names, vh.names) == (("out", None), (None,), (None, "in"))
    assert wb.linalg.cholesky(a).names == ("out", None)
    batch = wb.ones(B=2, M=3, N=3) + wb.eye(3)
    assert wb.linalg.det(batch).names == ("B",)
    assert wb.linalg.matrix_norm(batch, dim=("M", "N")).names == ("B",)
    assert wb.linalg.matrix_norm(batch, "nuc", dim=("M", "N"), keepdim=True).names == ("B", "M", "N")
    assert wb.linalg.vector_norm(batch, dim="M").names == ("B", "N")
    assert wb.linalg.lstsq(wb.ones(M=3, N=2), wb.ones(M=3, K=1)).solution.names == ("N", "K")
    assert wb.kron(wb.ones(N=2, C=3), wb.ones(1, 2)).names == ("N", None)
    assert wb.outer(wb.ones(N=2), wb.ones(N=2)).names == (None, "N")
    with pytest.raises(wb.DimensionError, match="do not match"):
        wb.linalg.solve(batch, wb.ones(D=2, M=3, K=1))


ZERO = np.zeros((3, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda z: wb.linalg.inv(z), LinAlgError, "linalg.inv: The diagonal element 1 is zero, the inversion"),
        (lambda z: wb.linalg.inv(z.expand(2, 3, 3)), LinAlgError, r"linalg.inv: \(Batch element 0\): The diagonal"),
        (lambda z: wb.linalg.solve(z, z), LinAlgError, "The solver failed because the input matrix is singular"),
        (lambda z: wb.linalg.cholesky(z), LinAlgError, r"leading minor of order 1 is not positive-definite"),
        (lambda z: wb.linalg.lu_factor(z), LinAlgError, r"U\[1,1\] is zero and using it on lu_solve"),
        (lambda z: wb.linalg.lu_factor(z, pivot=False), RuntimeError, "LU without pivoting is not implemented"),
        (lambda z: wb.linalg.svd(z / 0), LinAlgError, "the input matrix contained non-finite values"),
        (lambda z: wb.linalg.eig(z / 0), RuntimeError, "input tensor should not contain infs or NaNs"),
        (lambda z: wb.linalg.inv(wb.ones(3, 4)), RuntimeError, "A must be batches of square matrices"),
        (lambda z: wb.linalg.inv(wb.ones(3)), RuntimeError, "The input tensor A must have at least 2 dimensions"),
        (lambda z: wb.linalg.det(z.long()), RuntimeError, "Expected a floating point or complex tensor"),
        (lambda z: wb.linalg.eigh(z, UPLO="X"), RuntimeError, "Expected UPLO argument to be 'L' or 'U', but got X"),
        (lambda z: wb.linalg.qr(z, mode="foo"), RuntimeError, "qr received unrecognized mode 'foo'"),
        (lambda z: wb.linalg.norm(z, 0), RuntimeError, "linalg.matrix_norm: Order 0 not supported."),
        (lambda z: wb.linalg.norm(z, "foo"), RuntimeError, "linalg.matrix_norm: Order foo not supported."),
        (lambda z: wb.linalg.norm(z[0], "fro"), RuntimeError, "The input tensor A must have at least 2 dimensions"),
        (lambda z: wb.linalg.norm(z.expand(2, 3, 3), 2), RuntimeError, "the input must be 1D or 2D. Got 3D."),
        (lambda z: wb.linalg.matrix_norm(z, dim=(0, 0)), RuntimeError, r"dims must be different. Got \(0, 0\)"),
        (lambda z: wb.linalg.vector_norm(wb.ones(0), float("inf")), RuntimeError, "cannot compute the inf norm"),
        (lambda z: wb.linalg.solve(z, wb.ones(4, 2)), RuntimeError, r"for the equation AX = B \(3x3 and 4x2\)"),
        (lambda z: wb.linalg.multi_dot([z]), RuntimeError, "expected at least 2 tensors but got 1"),
        (lambda z: wb.linalg.cross(wb.ones(2), wb.ones(2)), RuntimeError, "must have length 3. Got 2 and 2"),
        (lambda z: wb.linalg.tensorinv(wb.ones(2, 3), ind=0), RuntimeError, "strictly positive integer for 'ind'"),
        (lambda z: wb.linalg.lstsq(z, wb.ones(4, 2)), RuntimeError, r"input.size\(-2\) should match other.size\(-2\)"),
        (lambda z: wb.linalg.lstsq(z, z, driver="x"), RuntimeError, "should be one of"),
        (lambda z: wb.mm(wb.ones(2, 3), wb.ones(2, 3)), RuntimeError, r"shapes cannot be multiplied \(2x3 and 2x3\)"),
        (lambda z: wb.mm(z, z.double()), RuntimeError, "expected m1 and m2 to have the same dtype"),
        (lambda z: wb.bmm(wb.ones(2, 3, 4), wb.ones(3, 4, 5)), RuntimeError, "Expected size for first two dimensions"),
        (lambda z: wb.dot(wb.ones(2), wb.ones(3)), RuntimeError, "inconsistent tensor size"),
        (lambda z: wb.outer(z, z[0]), RuntimeError, "outer: Expected 1-D argument self, but got 2-D"),
        (lambda z: wb.addmm(wb.ones(2, 5), wb.ones(2, 3), wb.ones(3, 4)), RuntimeError, "The expanded size"),
    ],
)  # fmt: skip
def test_refusals(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words), np.errstate(all="ignore"):
        call(wb.from_numpy(ZERO))


@pytest.mark.parametrize("dtype", [wb.float16, wb.bfloat16])
def test_sixteen_bits_are_for_products_and_norms(dtype: Any) -> None:
    x = wb.eye(3).to(dtype)
    for function in (wb.linalg.inv, wb.linalg.svd, wb.linalg.eigh, wb.linalg.qr, wb.linalg.det):
        with pytest.raises(RuntimeError, match=r"Low precision dtypes not supported. Got (Half|BFloat16)"):
            function(x)
    with pytest.raises(RuntimeError, match="expected a tensor with 2 or more dimensions of float"):
        wb.linalg.pinv(x)
    assert wb.linalg.norm(x).dtype is dtype
    assert wb.einsum("ij,jk->ik", x, x).dtype is dtype


def test_failures_are_told_without_raising() -> None:
    zero = wb.zeros(2, 3, 3)
    assert wb.linalg.inv_ex(zero).info.tolist() == [1, 1]
    assert wb.linalg.cholesky_ex(zero).info.tolist() == [1, 1]
    assert wb.linalg.lu_factor_ex(zero).info.tolist() == [1, 1]
    assert wb.linalg.solve_ex(zero, zero).info.dtype is wb.int32
    assert wb.linalg.slogdet(zero).sign.tolist() == [0, 0]
    assert wb.linalg.slogdet(zero).logabsdet.tolist() == [-np.inf, -np.inf]
    assert float(wb.linalg.cond(zero[0], 1)) == np.inf
    assert wb.linalg.matrix_rank(zero).tolist() == [0, 0]


def _difference(function: Any, a: np.ndarray, direction: np.ndarray) -> float:
    step = 1e-6
    up, down = (float(function(wb.from_numpy(a + sign * step * direction))) for sign in (1, -1))
    return (up - down) / (2 * step)


def _of_cholesky(x: Any) -> Any:
    low = wb.linalg.cholesky(x)
    return (low.abs() * low.abs() * wb.from_numpy(_random(3, 3, seed=5))).sum() + low.real.sum()


def _of_eigenvalues(x: Any) -> Any:
    return (wb.linalg.eigh(x).eigenvalues * wb.from_numpy(_random(3, seed=5))).sum()


def _of_eigenvectors(x: Any) -> Any:
    size = wb.linalg.eigh(x).eigenvectors.abs()
    return (size * size * wb.from_numpy(_random(3, 3, seed=5))).sum()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("function", [_of_cholesky, _of_eigenvalues, _of_eigenvectors])
def test_gradients_of_hermitian_matrices(function: Any, dtype: Any) -> None:
    a = _positive(dtype=dtype)
    direction = _random(3, 3, dtype=dtype, seed=2)
    direction = direction + direction.conj().T
    if function is _of_cholesky and dtype == np.complex128:
        function = lambda x: (wb.linalg.cholesky(x).abs() * wb.from_numpy(_random(3, 3, seed=5))).sum()
    x = wb.from_numpy(a).requires_grad_()
    gradient = grad(function(x), x)[0].numpy()
    np.testing.assert_allclose(
        np.sum(gradient.conj() * direction).real, _difference(function, a, direction), rtol=1e-5
    )


@pytest.mark.parametrize("dtype", [wb.float16, wb.bfloat16])
def test_an_exponential_in_16_bits_is_that_in_32_rounded_once(dtype: Any) -> None:
    x = wb.from_numpy(_random(2, 3, 3, dtype=np.float32)).to(dtype).requires_grad_()
    wide = x.detach().float().requires_grad_()
    result, expected = wb.matrix_exp(x), wb.matrix_exp(wide)
    assert result.dtype is dtype
    assert result.tolist() == expected.to(dtype).tolist()
    weight = wb.from_numpy(_random(2, 3, 3, dtype=np.float32, seed=1)).to(dtype)
    (gradient,) = grad((result * weight).sum(), x)
    (wanted,) = grad((expected * weight.float()).sum(), wide)
    assert gradient.tolist() == wanted.to(dtype).tolist()
    assert x.detach().matrix_exp().dtype is dtype


@pytest.mark.parametrize(
    "function",
    [
        lambda x: wb.linalg.inv(x).abs().sum(),
        lambda x: wb.linalg.det(x).abs(),
        lambda x: wb.linalg.slogdet(x).logabsdet + wb.linalg.slogdet(x).sign.real,
        lambda x: wb.linalg.svdvals(x).sum(),
        lambda x: (wb.linalg.svd(x).U.abs() ** 2 * wb.from_numpy(_random(3, 3, seed=4))).sum(),
        lambda x: (wb.linalg.qr(x).R.abs() * wb.from_numpy(_random(3, 3, seed=4))).sum(),
        lambda x: (wb.linalg.lu(x).L.abs() + wb.linalg.lu(x).U.abs()).sum(),
        lambda x: (wb.linalg.eig(x).eigenvectors.abs() ** 3).sum(),
        lambda x: wb.linalg.pinv(x[:, :2]).abs().sum(),
        lambda x: wb.linalg.matrix_exp(x).abs().sum(),
        lambda x: wb.linalg.matrix_norm(x, "nuc") + wb.linalg.vector_norm(x, 3),
        lambda x: wb.linalg.lstsq(x[:, :2], x[:, 2:], driver="gelsd").residuals.sum(),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradients_along_a_direction(function: Any, dtype: Any) -> None:
    a, direction = _random(3, 3, dtype=dtype, seed=1) + 2 * np.eye(3), _random(3, 3, dtype=dtype, seed=2)
    x = wb.from_numpy(a).requires_grad_()
    gradient = grad(function(x), x)[0].numpy()
    np.testing.assert_allclose(
        np.sum(gradient.conj() * direction).real, _difference(function, a, direction), rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: wb.linalg.svd(x).U.real.sum(), "svd_backward: The singular vectors in the complex case"),
        (
            lambda x: wb.linalg.eigh(x + x.mH).eigenvectors.real.sum(),
            "linalg_eigh_backward: The eigenvectors",
        ),
        (lambda x: wb.linalg.eig(x).eigenvectors.real.sum(), "linalg_eig_backward: The eigenvectors"),
        (
            lambda x: wb.linalg.qr(x, mode="r").R.abs().sum(),
            "depends on Q, which is not computed when mode='r'",
        ),
        (
            lambda x: wb.linalg.qr(x[:, :2], mode="complete").R.abs().sum(),
            "not differentiable when mode='complete'",
        ),
    ],
)
def test_losses_without_a_gradient(function: Any, words: str) -> None:
    x = wb.from_numpy(_random(3, 3, dtype=np.complex128)).requires_grad_()
    with pytest.raises(RuntimeError, match=words):
        function(x).backward()


def test_determinant_of_singular_matrices_has_a_gradient() -> None:
    x = wb.tensor([[1.0, 2.0], [2.0, 4.0]], requires_grad=True)
    wb.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4, -2], [-2, 1]], atol=1e-5)


def test_norms_of_kinds() -> None:
    a = np.array([[1.0, -2.0], [3.0, 4.0]])
    x = wb.from_numpy(a)
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        assert float(wb.linalg.norm(x, order)) == pytest.approx(np.linalg.norm(a, order))
        assert float(wb.linalg.cond(x, order)) == pytest.approx(np.linalg.cond(a, order))
    for order in (0, 1, 2, 3.5, -1, np.inf, -np.inf):
        assert float(wb.linalg.norm(x[0], order)) == pytest.approx(np.linalg.norm(a[0], order))
    assert float(wb.linalg.norm(x)) == pytest.approx(np.linalg.norm(a))
    zero = wb.zeros(3, requires_grad=True)
    wb.linalg.norm(zero).backward()
    assert zero.grad.tolist() == [0, 0, 0]


def test_ldl_solves_what_it_factored() -> None:
    for dtype, hermitian in ((np.float64, False), (np.complex128, True), (np.complex128, False)):
        a = _random(4, 4, dtype=dtype)
        a = a + (a.conj().T if hermitian else a.T)
        b = _random(4, 2, dtype=dtype)
        factors = wb.linalg.ldl_factor(wb.from_numpy(a), hermitian=hermitian)
        out = wb.linalg.ldl_solve(*factors, wb.from_numpy(b), hermitian=hermitian)
        np.testing.assert_allclose(out.numpy(), np.linalg.solve(a, b), rtol=1e-8)


def test_reflectors_make_an_orthonormal_matrix() -> None:
    a = _random(5, 3)
    reflectors, tau = wb.geqrf(wb.from_numpy(a))
    q = wb.linalg.householder_product(reflectors, tau)
    np.testing.assert_allclose((q @ reflectors[:3].triu()).numpy(), a, atol=1e-12)
    c = wb.from_numpy(_random(5, 2))
    whole = wb.ormqr(reflectors, tau, wb.eye(5).double())
    np.testing.assert_allclose(wb.ormqr(reflectors, tau, c).numpy(), (whole @ c).numpy(), atol=1e-12)
    np.testing.assert_allclose(
        wb.ormqr(reflectors, tau, c, transpose=True).numpy(), (whole.mT @ c).numpy(), atol=1e-12
    )


def test_old_names() -> None:
    a = wb.from_numpy(_random(4, 3))
    u, s, v = wb.svd(a)
    np.testing.assert_allclose(((u * s) @ v.mT).numpy(), a.numpy(), atol=1e-12)
    assert [one.shape for one in wb.svd(a, compute_uv=False)] == [(4, 4), (3,), (3, 3)]
    assert wb.qr(a, some=False).Q.shape == (4, 4)
    assert wb.inverse(a[:3]).shape == (3, 3)
    assert wb.lu(a[:3]).pivots.dtype is wb.int32
    out = wb.zeros(3, 3).double()
    assert wb.mm(a.mT, a, out=out) is out


def test_beta_of_zero_does_not_look_at_the_input() -> None:
    nothing = wb.full((2, 2), float("nan"))
    assert wb.addmm(nothing, wb.eye(2), wb.eye(2), beta=0).tolist() == [[1, 0], [0, 1]]
