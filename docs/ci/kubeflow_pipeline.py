"""Kubeflow Pipelines: `publish` takes what `audit` gives, so it runs only where that ended in 0. Nothing is cached."""

from kfp import dsl

IMAGE = "registry.example.org/leafgate@sha256:DIGEST"


@dsl.container_component
def audit(policy: str, data: str, report: dsl.Output[dsl.Artifact]) -> dsl.ContainerSpec:
    """Audit into the folder of a new artefact."""
    return dsl.ContainerSpec(image=IMAGE, command=["sh", "/opt/leafgate/gate.sh"], args=[report.path, policy, data])


@dsl.container_component
def publish(report: dsl.Input[dsl.Artifact], release: dsl.Output[dsl.Artifact]) -> dsl.ContainerSpec:
    """Hand on the release that passed, as a folder with its report."""
    return dsl.ContainerSpec(image=IMAGE, command=["sh", "/opt/leafgate/copy.sh"], args=[report.path, release.path])


@dsl.pipeline(name="leafgate")
def gate(policy: str, data: str) -> None:
    """Audit, then publish."""
    audited = audit(policy=policy, data=data)
    audited.set_caching_options(False)  # a waiver expires though no input changes
    audited.set_retry(num_retries=0)  # a release with noise is not drawn again until one passes
    publish(report=audited.outputs["report"]).set_caching_options(False)
