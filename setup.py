"""The packages of the wheel: every folder of Python, and the folders of data that `pyproject.toml` maps."""

from setuptools import find_packages, setup

DATA = ("examples", "rtl", "runtime_c", "soc_configs")

setup(
    packages=[
        *find_packages(include=["target_arch", "target_arch.*"]),
        *(f"target_arch.{folder}" for folder in DATA),
    ]
)
