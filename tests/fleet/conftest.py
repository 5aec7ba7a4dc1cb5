"""A real fleet on loopback: a scheduler, two machines, and a server's job scheduler that trains nothing itself."""

import pytest

pytest.importorskip("distributed")
from dmlviz.fleet.certificates import make_certificates
from dmlviz.fleet.dask_fleet import DaskFleet
from dmlviz.jobs.scheduler import JobScheduler
from tests.fleet.cluster import Worker
from tests.jobs.conftest import living, long, patience, short  # noqa: F401  fixtures
from tests.waiting import descendants, free_port


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    return folder


@pytest.fixture(scope="session")
def free_address():
    """An address on loopback where nobody listens."""
    return lambda: f"tls://127.0.0.1:{free_port()}"


@pytest.fixture(scope="session")
def start_worker(certificates):
    return lambda address, name: Worker(address, certificates, name)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory, certificates, free_address, start_worker, until):
    """The server's jobs, which start a scheduler that others in the network reach, and the machines by name."""
    address = free_address().replace("127.0.0.1", "0.0.0.0")
    machines = {name: start_worker(address, name) for name in ("gpu-1", "gpu-2")}
    jobs = JobScheduler(tmp_path_factory.mktemp("runs"), slots=0, warm=False, fleet=DaskFleet(address, certificates))
    try:
        until(lambda: len(jobs.fleet.machines) == 2)
        yield jobs, machines
    finally:
        jobs.close()
        for machine in machines.values():
            machine.said()


@pytest.fixture
def jobs(cluster, until):
    jobs, machines = cluster
    until(lambda: len(jobs.fleet.machines) == len(machines))
    yield jobs
    for job, _ in jobs.running_for():
        jobs.stop(job.record)
    until(lambda: not jobs.running_for())


@pytest.fixture
def machines(cluster):
    return cluster[1]


@pytest.fixture(scope="session", name="descendants")
def descendants_of():
    return descendants
