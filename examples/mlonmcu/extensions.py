"""A plug-in for MLonMCU: target_arch as framework, backend, platform and targets.

Put this file into the folder `plugins` of an environment (`environment.yml` beside it is one), and allow
extensions there. It calls the program `target-arch`, which may be installed elsewhere: the variable `exe` in
the environment names it. A target is a SoC with a port. Validation is that of `target-arch verify`: the
reference of the model's own format, on random inputs.
"""

import importlib.util
import json
import shutil
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

from mlonmcu.artifact import Artifact, ArtifactFormat
from mlonmcu.flow import SUPPORTED_BACKENDS, SUPPORTED_FRAMEWORK_BACKENDS, SUPPORTED_FRAMEWORKS
from mlonmcu.flow.backend import Backend
from mlonmcu.flow.framework import Framework
from mlonmcu.models import SUPPORTED_FRONTENDS
from mlonmcu.models.model import ModelFormats
from mlonmcu.platform import register_platform
from mlonmcu.platform.platform import CompilePlatform, TargetPlatform
from mlonmcu.target import register_target
from mlonmcu.target.metrics import Metrics
from mlonmcu.target.target import Target

NAME = "target_arch"
BUNDLE = "bundle"
DEFAULT_EXE = "target-arch"
TARGETS = {
    "target_arch_host": ("zynq_edge", "host"),
    "target_arch_cortex_m7": ("mcu_m7", "qemu_mps2"),
    "target_arch_cortex_m55": ("mcu_m55", "qemu_mps2"),
}
"""SoC and port of every target; `<target>.soc` in the configuration replaces the SoC."""


class TargetArchFramework(Framework):
    """There is nothing to install or clone for it."""

    name = NAME
    REQUIRED: ClassVar[set[str]] = set()


class TargetArchBackend(Backend):
    """Compiles a model into a bundle."""

    name = NAME
    DEFAULTS: ClassVar[dict[str, Any]] = {"exe": DEFAULT_EXE, "soc": None, "port": None}

    def __init__(self, features: Any = None, config: Any = None) -> None:
        super().__init__(framework=NAME, features=features, config=config)
        self.supported_formats = [ModelFormats.TFLITE, ModelFormats.ONNX]
        self._model = Path()

    @property
    def needs_target(self) -> bool:
        return True

    def load_model(self, model: str | Path, **_: Any) -> None:
        self._model = Path(model)

    def generate(self) -> tuple[dict[str, Any], dict[str, Any]]:
        folder = self._model.parent / f"{BUNDLE}_as_compiled"
        shutil.rmtree(folder, ignore_errors=True)
        said = _said(
            self.config["exe"], "compile", self._model, "--soc", self.config["soc"],
            "--port", self.config["port"], "-o", folder, "--format=json",
        )  # fmt: skip
        held = BytesIO()
        with tarfile.open(fileobj=held, mode="w") as archive:
            archive.add(folder, arcname=BUNDLE)
            archive.add(self._model, arcname=f"{BUNDLE}/{self._model.name}.model")
        shutil.rmtree(folder)
        bundle = Artifact(f"{BUNDLE}.tar", raw=held.getvalue(), fmt=ArtifactFormat.RAW)
        manifest = Artifact("manifest.json", content=json.dumps(said), fmt=ArtifactFormat.TEXT)
        return {"default": [bundle, manifest]}, {"default": _planned(said)}


def _planned(manifest: dict[str, Any]) -> Any:
    """Bytes and time as the plan has them."""
    metrics, constants = Metrics(), 0
    (model,) = manifest["models"]
    for name, pool in manifest["pools"].items():
        if name.endswith(".constants"):
            constants += pool["bytes"]
        else:
            metrics.add(f"Arena {name} [B]", pool["bytes"])
    metrics.add("Constants [B]", constants)
    if model["execution"] is not None:
        metrics.add("Predicted Runtime [s]", model["execution"]["makespan"])
    return metrics


class TargetArchPlatform(CompilePlatform, TargetPlatform):
    """Builds and runs bundles with `target-arch` itself."""

    DEFAULTS: ClassVar[dict[str, Any]] = {
        **CompilePlatform.DEFAULTS,
        **TargetPlatform.DEFAULTS,
        "exe": DEFAULT_EXE,
    }

    def __init__(self, features: Any = None, config: Any = None) -> None:
        super().__init__(NAME, features=features, config=config)

    def init_directory(self, path: Any = None, context: Any = None) -> bool:
        return True

    def get_supported_backends(self) -> list[str]:
        return [NAME]

    def _get_supported_targets(self) -> list[str]:
        return list(TARGETS)

    def create_target(self, name: str) -> type[Target]:
        """The target's class, bound to this platform."""
        made = _target(name)
        made.platform = self
        return made

    def generate(
        self, src: str | Path, target: Any, model: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        source = Path(src)
        bundle = source / BUNDLE
        shutil.rmtree(bundle, ignore_errors=True)
        with tarfile.open(source / f"{BUNDLE}.tar") as archive:
            archive.extractall(source, filter="data")
        metrics, exe = Metrics(), self.config["exe"]
        if target.port == "host":
            _said(exe, "run", bundle, "--format=json")
        else:
            image = _said(exe, "report", bundle, "--image", "--format=json")
            code = {".text", ".rodata", ".vectors"}
            metrics.add(
                "ROM code", sum(each["linked"] for each in image["sections"] if each["section"] in code)
            )
            for memory in image["memories"]:
                metrics.add(f"Linked {memory['memory']} [B]", memory["linked"])
        program = (bundle / "build" / "selftest").read_bytes()
        elf = Artifact("program", raw=program, fmt=ArtifactFormat.RAW)
        return {"default": [elf]}, {"default": metrics}


class _TargetArchTarget(Target):
    """A SoC on this computer or on an emulated machine."""

    DEFAULTS: ClassVar[dict[str, Any]] = {**Target.DEFAULTS, "exe": DEFAULT_EXE, "soc": None, "count": 5}
    soc = port = ""
    platform: Any = None

    def __init__(self, name: str | None = None, features: Any = None, config: Any = None) -> None:
        super().__init__(name or self.target_name, features=features, config=config)

    def get_backend_config(self, backend: str, **_: Any) -> dict[str, str]:
        return {"soc": self.config["soc"] or self.soc, "port": self.port}

    def get_arch(self) -> str:
        return "arm" if self.port == "qemu_mps2" else "x86"

    def get_metrics(
        self, elf: str | Path, directory: str | Path, *_: Any, handle_exit: Any = None
    ) -> tuple[Any, str, list[Any]]:
        bundle, exe = Path(elf).parent / BUNDLE, self.config["exe"]
        (model,) = bundle.glob("*.model")
        model = Path(shutil.copy(model, Path(directory) / model.stem))
        ran = _said(exe, "run", bundle, "--format=json", *(("--times",) if self.port == "host" else ()))
        (found,) = _said(
            exe,
            "verify",
            model,
            "--bundle",
            bundle,
            "--count",
            self.config["count"],
            "--format=json",
            codes=(0, 1),
        ).values()
        metrics = Metrics()
        if "profile" in ran:
            metrics.add("Total Instructions", ran["profile"]["instructions"])
            metrics.add("Stack [B]", ran["profile"]["stack"])
        else:
            metrics.add("Runtime [s]", ran["times"]["seconds"])
        metrics.add("Validation", found["passed"])
        metrics.add("Validated Outputs", found["outputs"])
        return metrics, json.dumps({"run": ran, "verify": found}, indent=2), []


class _Frontend(SUPPORTED_FRONTENDS["tflite"]):
    """MLonMCU's, where TensorFlow is not installed: `target-arch` reads shapes and types itself."""

    def extract_model_info(self, model: Any) -> Any:
        raise NotImplementedError


def _target(name: str) -> type[Any]:
    soc, port = TARGETS[name]
    return type(name, (_TargetArchTarget,), {"target_name": name, "soc": soc, "port": port})


def _said(*command: object, codes: tuple[int, ...] = (0,)) -> Any:
    """The JSON that the program prints. RuntimeError with its message where it refuses."""
    answer = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if answer.returncode not in codes:
        raise RuntimeError(answer.stderr.strip())
    return json.loads(answer.stdout)


SUPPORTED_FRAMEWORKS[NAME] = TargetArchFramework
SUPPORTED_BACKENDS[NAME] = TargetArchBackend
SUPPORTED_FRAMEWORK_BACKENDS[NAME] = {NAME: TargetArchBackend}
if importlib.util.find_spec("tensorflow") is None:
    SUPPORTED_FRONTENDS["tflite"] = _Frontend
register_platform(NAME, TargetArchPlatform, override=True)
for each in TARGETS:
    register_target(each, _target(each), override=True)
