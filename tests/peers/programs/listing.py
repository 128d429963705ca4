"""Public programs that nobody here wrote, by repository and revision: what `drive` runs, sources unchanged.

Their sources are never part of this project: `sources` clones them where they can be had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator], Any]

REVISIONS = {
    "eriklindernoren/PyTorch-GAN": "36d3c77e5ff20ebe0aeefd322326a134a279b93e",
    "graykode/nlp-tutorial": "d05e31ec81d56d70c1db89b99ab07e948f7ebc11",
    "hyunwoongko/transformer": "63286547b9cd174a6cfc204832271814d685181f",
    "jadore801120/attention-is-all-you-need-pytorch": "132907dd272e2cc92e3c10e6c4e783a87ff8893d",
    "johnma2006/mamba-minimal": "03de542a36d873f6e6c4057ad687278cc6ae944d",
    "karpathy/minGPT": "37baab71b9abea1b76ab957409a1cc2fbfba8a26",
    "karpathy/nanoGPT": "3adf61e154c3fe3fca428ad6bc3818b27a3b8291",
    "kuangliu/pytorch-cifar": "49b7aa97b0c12fe0d4054e670403a16b6b834ddd",
    "locuslab/TCN": "2f8c2b817050206397458dfd1f5a25ce8a32fe65",
    "lucidrains/vit-pytorch": "69d24fe9e3024c0d4b02761123b8583a24ebed1e",
    "milesial/Pytorch-UNet": "21d7850f2af30a9695bbeea75f3136aa538cfc4a",
    "openai/guided-diffusion": "22e0df8183507e13a7813f8d38d51b072ca1e67c",
    "pytorch/examples": "77f55b912142e11fcfdf5b530231fb9c52f181e8",
    "rtqichen/torchdiffeq": "657943acefa826ef04c025ebeb1ff5e9d60dc268",
    "tkipf/pygcn": "1600b5b748b3976413d1e307540ccc62605b4d6d",
    "yunjey/pytorch-tutorial": "0500d3df5a2a8080ccfccbc00aca0eacc21818db",
}
"""The revision of each repository that is run."""


@dataclass(frozen=True)
class Program:
    """A script of a repository, or a model of one of its modules with inputs to train it on."""

    name: str
    repository: str
    """Empty for one of our own."""
    folder: str = "."
    """Where Python starts, for its imports."""
    script: str = ""
    """The file that is run, from the repository's top."""
    arguments: tuple[str, ...] = ()
    module: str = ""
    make: Callable[[Any], Any] = lambda module: None
    """The model, of the module."""
    inputs: tuple[Draw, ...] = ()
    rate: float = 0.01


def numbers(*shape: int) -> Draw:
    """Draw float32 numbers."""
    return lambda draw: draw.normal(size=shape).astype(np.float32)


def words(most: int, *shape: int) -> Draw:
    """Draw whole numbers below `most`."""
    return lambda draw: draw.integers(0, most, shape)


VIT = {"image_size": 32, "patch_size": 8, "num_classes": 10, "dim": 32, "depth": 2, "heads": 2, "mlp_dim": 48}
PICTURE = (numbers(2, 3, 32, 32),)


def _vit(module: str, name: str, inputs: tuple[Draw, ...] = PICTURE, **settings: Any) -> Program:
    return Program(
        f"vit-pytorch/{module}",
        "lucidrains/vit-pytorch",
        folder="vit_pytorch",
        module=module,
        make=lambda found: getattr(found, name)(**settings),
        inputs=inputs,
    )


def _without(*names: str, **more: Any) -> dict[str, Any]:
    return {key: value for key, value in VIT.items() if key not in names} | more


def _cifar(module: str, name: str, call: Callable[[Any], Any] | None = None) -> Program:
    return Program(
        f"pytorch-cifar/{module}",
        "kuangliu/pytorch-cifar",
        folder="models",
        module=module,
        make=call or (lambda found: getattr(found, name)()),
        inputs=(numbers(4, 3, 32, 32),),
    )


def _script(name: str, repository: str, file: str, *arguments: str) -> Program:
    return Program(name, repository, folder=file.rpartition("/")[0] or ".", script=file, arguments=arguments)


def _nlp(name: str, file: str) -> Program:
    return _script(f"nlp-tutorial/{name}", "graykode/nlp-tutorial", file)


def _gan(folder: str, name: str, make: Callable[[Any], Any], *inputs: Draw) -> Program:
    where = f"implementations/{folder}"
    return Program(
        f"PyTorch-GAN/{name}", "eriklindernoren/PyTorch-GAN", where, module="models", make=make, inputs=inputs
    )


PROGRAMS = [
    _vit("vit", "ViT", **VIT),
    _vit("simple_vit", "SimpleViT", **VIT),
    _vit("deepvit", "DeepViT", **VIT),
    _vit("cait", "CaiT", **VIT, cls_depth=1),
    _vit("parallel_vit", "ViT", **VIT),
    _vit("rvt", "RvT", **VIT),
    _vit("scalable_vit", "ScalableViT", (numbers(2, 3, 64, 64),), num_classes=10, dim=16, depth=(1, 1), heads=(1, 2),
         reduction_factor=(4, 2), window_size=(8, None)),
    _vit("crossformer", "CrossFormer", (numbers(2, 3, 64, 64),), num_classes=10, dim=(32, 32, 32, 32),
         depth=(1, 1, 1, 1), global_window_size=(4, 2, 2, 1), local_window_size=2),
    _vit("pit", "PiT", **_without("depth", depth=(1, 1))),
    _vit("xcit", "XCiT", **VIT, cls_depth=1),
    _vit("levit", "LeViT", (numbers(2, 3, 64, 64),), image_size=64, num_classes=10, stages=2,
         dim=(32, 48), depth=1, heads=(2, 3), mlp_mult=2),
    _vit("simple_vit_with_qk_norm", "SimpleViT", **VIT),
    _vit("simple_vit_with_register_tokens", "SimpleViT", **VIT),
    _vit("simple_vit_with_fft", "SimpleViT", **VIT, freq_patch_size=8),
    _vit("simple_uvit", "SimpleUViT", **VIT),
    _vit("vit_for_small_dataset", "ViT", **VIT),
    _vit("vit_with_patch_merger", "ViT", **VIT),
    _vit("vit_1d", "ViT", (numbers(2, 3, 64),), **_without("image_size", seq_len=64)),
    _vit("vit_3d", "ViT", (numbers(2, 3, 4, 32, 32),),
         **_without("patch_size", image_patch_size=8, frames=4, frame_patch_size=2)),
    _vit("vivit", "ViViT", (numbers(2, 3, 4, 32, 32),),
         **_without("patch_size", "depth", image_patch_size=8, frames=4, frame_patch_size=2, spatial_depth=1,
                    temporal_depth=1)),
    _vit("jumbo_vit", "JumboViT", **VIT),
    _vit("normalized_vit", "nViT", **VIT),
    _vit("nest", "NesT", image_size=32, patch_size=4, num_classes=10, dim=24, heads=2, num_hierarchies=2,
         block_repeats=(1, 1)),
    _vit("twins_svt", "TwinsSVT", (numbers(1, 3, 64, 64),), num_classes=10, s1_emb_dim=16, s2_emb_dim=24, s3_emb_dim=32,
         s4_emb_dim=32, s1_local_patch_size=4, s2_local_patch_size=4, s3_local_patch_size=2, s4_local_patch_size=2,
         s1_depth=1, s3_depth=1, s4_depth=1, s2_global_k=4, s1_global_k=4, s3_global_k=2, s4_global_k=2),
    _vit("mobile_vit", "MobileViT", (numbers(1, 3, 64, 64),), image_size=(64, 64), dims=[24, 32, 40],
         channels=[8, 8, 12, 12, 16, 16, 24, 24, 32, 32, 48], num_classes=10),
    _vit("cct", "CCT", img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=3, num_layers=2, num_heads=2,
         mlp_ratio=2, num_classes=10, positional_embedding="learnable", stochastic_depth_rate=0.0),
    _cifar("lenet", "LeNet"),
    _cifar("mobilenetv2", "MobileNetV2"),
    _cifar("shufflenetv2", "ShuffleNetV2", lambda found: found.ShuffleNetV2(net_size=0.5)),
    _cifar("senet", "SENet18"),
    _cifar("regnet", "RegNetX_200MF"),
    _cifar("preact_resnet", "PreActResNet18"),
    _cifar("efficientnet", "EfficientNetB0"),
    _cifar("dla_simple", "SimpleDLA"),
    _cifar("vgg", "VGG", lambda found: found.VGG("VGG11")),
    _nlp("NNLM", "1-1.NNLM/NNLM.py"),
    _nlp("TextCNN", "2-1.TextCNN/TextCNN.py"),
    _nlp("TextRNN", "3-1.TextRNN/TextRNN.py"),
    _nlp("TextLSTM", "3-2.TextLSTM/TextLSTM.py"),
    _nlp("Bi-LSTM", "3-3.Bi-LSTM/Bi-LSTM.py"),
    _nlp("Seq2Seq", "4-1.Seq2Seq/Seq2Seq.py"),
    _nlp("Seq2Seq-Attention", "4-2.Seq2Seq(Attention)/Seq2Seq(Attention).py"),
    _nlp("Bi-LSTM-Attention", "4-3.Bi-LSTM(Attention)/Bi-LSTM(Attention).py"),
    _nlp("Transformer", "5-1.Transformer/Transformer.py"),
    _nlp("Transformer-Greedy", "5-1.Transformer/Transformer(Greedy_decoder).py"),
    _nlp("BERT", "5-2.BERT/BERT.py"),
    _script("examples/regression", "pytorch/examples", "regression/main.py"),
    Program("examples/super_resolution", "pytorch/examples", "super_resolution", module="model",
            make=lambda found: found.Net(upscale_factor=3), inputs=(numbers(2, 1, 16, 16),)),
    Program("examples/word_language_model", "pytorch/examples", "word_language_model", module="model",
            make=lambda found: found.TransformerModel(20, 16, 2, 24, 2, dropout=0.0), inputs=(words(20, 7, 3),)),
    Program("examples/fast_neural_style", "pytorch/examples", "fast_neural_style/neural_style",
            module="transformer_net", make=lambda found: found.TransformerNet(), inputs=(numbers(1, 3, 16, 16),)),
    Program("minGPT", "karpathy/minGPT", module="mingpt.model", make=lambda found: _min_gpt(found),
            inputs=(words(20, 2, 8), words(20, 2, 8))),
    Program("nanoGPT", "karpathy/nanoGPT", module="model",
            make=lambda found: found.GPT(found.GPTConfig(block_size=16, vocab_size=20, n_layer=2, n_head=2, n_embd=16,
                                                         dropout=0.0)),
            inputs=(words(20, 2, 8), words(20, 2, 8))),
    Program("UNet", "milesial/Pytorch-UNet", module="unet", make=lambda found: found.UNet(3, 2),
            inputs=(numbers(1, 3, 32, 32),)),
    _gan("pix2pix", "pix2pix", lambda found: found.Discriminator(), numbers(1, 3, 32, 32), numbers(1, 3, 32, 32)),
    _gan("cyclegan", "cyclegan", lambda found: found.GeneratorResNet((3, 32, 32), 1), numbers(1, 3, 32, 32)),
    _gan("stargan", "stargan", lambda found: found.GeneratorResNet((3, 32, 32), 1, 5), numbers(1, 3, 32, 32),
         numbers(1, 5)),
    _gan("context_encoder", "context_encoder", lambda found: found.Discriminator(), numbers(2, 3, 32, 32)),
    Program("torchdiffeq", "rtqichen/torchdiffeq", script="examples/ode_demo.py",
            arguments=("--niters", "20", "--data_size", "100")),
    _script("pytorch-tutorial/linear_regression", "yunjey/pytorch-tutorial",
            "tutorials/01-basics/linear_regression/main.py"),
    Program("pygcn", "tkipf/pygcn", module="pygcn.models", make=lambda found: found.GCN(6, 8, 3, 0.0), rate=1e-4,
            inputs=(numbers(5, 6), numbers(5, 5))),
    Program("TCN", "locuslab/TCN", "TCN", module="tcn",
            make=lambda found: found.TemporalConvNet(4, [6, 6], dropout=0.0), inputs=(numbers(2, 4, 12),)),
    Program("attention-is-all-you-need", "jadore801120/attention-is-all-you-need-pytorch", module="transformer.Models",
            make=lambda found: found.Transformer(20, 20, 0, 0, d_word_vec=16, d_model=16, d_inner=24, n_layers=1,
                                                 n_head=2, d_k=8, d_v=8),
            inputs=(words(20, 2, 8), words(20, 2, 8))),
    Program("hyunwoongko-transformer", "hyunwoongko/transformer", module="models.model.transformer",
            make=lambda found: found.Transformer(0, 0, 1, 20, 20, 16, 2, 16, 24, 1, 0.0, "cpu"),
            inputs=(words(20, 2, 8), words(20, 2, 8))),
    Program("mamba-minimal", "johnma2006/mamba-minimal", module="model",
            make=lambda found: found.Mamba(found.ModelArgs(d_model=16, n_layer=1, vocab_size=20)),
            inputs=(words(20, 2, 8),)),
    Program("guided-diffusion", "openai/guided-diffusion", module="guided_diffusion.unet",
            make=lambda found: found.UNetModel(16, 3, 32, 3, 1, (2,), num_heads=2), rate=0.001,
            inputs=(numbers(2, 3, 16, 16), words(100, 2))),
]  # fmt: skip


OWN = [
    Program(f"own/{name}", "", script=f"{name}.py")
    for name in (
        "attention", "diffusion", "flow", "gan", "graph_convolution", "maml", "neural_ode", "reinforce", "sequence",
        "siren", "vae", "word_vectors",
    )
]  # fmt: skip
"""Scripts of our own after the same papers, which are always there: `tests/programs/scripts`."""


def _min_gpt(found: Any) -> Any:
    config = found.GPT.get_default_config()
    config.model_type, config.n_layer, config.n_head, config.n_embd = None, 2, 2, 16
    config.vocab_size, config.block_size = 20, 16
    return found.GPT(config)
