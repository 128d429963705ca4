"""Which ops XLA does not compute, and why."""

from __future__ import annotations

__all__ = ["ABSENT"]

_REASONS: dict[str, str] = {
    "JAX has no such function": (
        "bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
        "scaled_modified_bessel_k1 gamma_quantile_curvature gamma_quantile_slope gammaincinv geqrf "
        "linalg_ldl_factor linalg_ldl_solve linalg_lstsq"
    ),
    "it draws from a generator of NumPy's": "binomial poisson standard_gamma von_mises",
    "it reads memory by strides, and XLA's arrays have none": "as_strided as_strided_scatter strided_sum",
    "sparse tensors stay on the CPU": ("embedding_sparse sparse_coo sparse_csr sparse_product sparse_values"),
    "quantized tensors stay on the CPU": (
        "int_repr quantize_per_channel quantize_per_group quantize_per_tensor quantized_add quantized_add_scalar "
        "quantized_clone quantized_conv1d quantized_conv2d quantized_conv3d quantized_conv_transpose1d "
        "quantized_conv_transpose2d quantized_conv_transpose3d quantized_embedding quantized_embedding_bag "
        "quantized_gelu quantized_gelu_tanh "
        "quantized_group_norm quantized_gru "
        "quantized_hardswish quantized_layer_norm quantized_leaky_relu quantized_linear quantized_linear_dynamic "
        "quantized_linear_weight_only quantized_lstm quantized_matmul quantized_max_pool2d quantized_mish "
        "quantized_mul quantized_mul_scalar quantized_resample quantized_rms_norm quantized_rnn quantized_silu "
        "quantized_softmax"
    ),
    "its array code goes by the numbers": (
        "bag_max bag_of cdist_gradient class_set ctc_loss ctc_loss_gradient embedding_share fractional_max_pool "
        "histc linalg_cofactors linalg_eig linalg_eigvals linalg_lu_factor max_unpool mode permutation_matrix"
    ),
}
ABSENT: dict[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Ops that XLA does not compute, each with the reason."""
