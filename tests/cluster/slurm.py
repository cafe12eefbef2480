"""A Slurm of two nodes on this machine, from Debian's packages: started and stopped by hand.

``python -m tests.cluster.slurm start FOLDER`` and ``stop FOLDER``. All daemons listen on 127.0.0.1;
``/etc/slurm/slurm.conf`` is a link to the folder's file, since a job step reads no other.
"""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

CONF = Path("/etc/slurm/slurm.conf")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
PACKAGES = "munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins"
SETTINGS = """\
ClusterName=tests
SlurmctldHost=localhost(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmctldPort=16817
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
EnforcePartLimits=ALL
MinJobAge=3600
ReturnToService=2
JobRequeue=0
KillWait=5
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=5
PropagateResourceLimits=NONE
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = (
    "NodeName=node{i} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory={mb}"
)


def missing():
    """Why no cluster can run here; "" where it can."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if absent:
        return f"{absent[0]} is not installed (apt-get install {PACKAGES})"
    return "" if os.getuid() == 0 else "Slurm's daemons are started as root"


def _path():
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


class Cluster:
    """Two nodes of one CPU each; its files lie in `folder`."""

    def __init__(self, folder, memory_mb=8000):
        self.folder, self.memory_mb = Path(folder).resolve(), memory_mb

    def start(self):
        """Start every daemon, and wait until both nodes are idle."""
        self.folder.mkdir(parents=True, exist_ok=True)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        (self.folder / "state").mkdir(exist_ok=True)
        nodes = (NODE.format(i=i, port=16820 + i, mb=self.memory_mb) for i in (1, 2))
        text = SETTINGS.format(folder=self.folder) + "\n".join(nodes) + "\n"
        (self.folder / "slurm.conf").write_text(text)
        # Slurm 22.05 has no word for "no cgroups".
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        for name in ("slurm.conf", "cgroup.conf"):
            link = CONF.with_name(name)
            if link.is_symlink():
                link.unlink()
            link.symlink_to(self.folder / name)
        self._daemon(
            *("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket"),
            *(f"--key-file={key}", f"--pid-file={self.folder}/munged.pid"),
            *(f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed"),
        )
        _wait(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.start_controller("-i")
        for i in (1, 2):
            self._daemon("slurmd", "-D", "-N", f"node{i}")
        _wait(lambda: self.states() == ["idle", "idle"], "both nodes")

    def start_controller(self, *options):
        """Start slurmctld, also after `stop_controller`."""
        self._daemon("slurmctld", "-D", *options)
        _wait(lambda: "UP" in _said("scontrol", "ping"), "slurmctld")

    def stop_controller(self):
        """End slurmctld; jobs go on."""
        self._end("slurmctld")

    def states(self):
        """The state of each node."""
        return sorted(_said("sinfo", "--noheader", "--Node", "--format=%T").split())

    def jobs(self, state="RUNNING"):
        """Job id -> name of the rule, of the jobs in a state."""
        lines = _said("squeue", "--noheader", f"--states={state}", "--format=%i|%k").splitlines()
        return dict(line.split("|", 1) for line in lines if "|" in line)

    def stop(self):
        """Cancel all jobs and end every daemon that this class started."""
        _said("scancel", "--user", "root")
        for name in ("slurmd", "slurmctld", "munged"):
            self._end(name)
        for name in ("slurm.conf", "cgroup.conf"):
            link = CONF.with_name(name)
            if link.is_symlink() and link.readlink() == self.folder / name:
                link.unlink()

    def _daemon(self, *command):
        log = (self.folder / f"{command[0]}.out").open("ab")
        program = shutil.which(command[0], path=_path())
        process = subprocess.Popen(
            [program, *command[1:]], stdout=log, stderr=log, start_new_session=True
        )
        with (self.folder / "daemons").open("a") as file:
            file.write(f"{command[0]} {process.pid} {_started(process.pid)}\n")

    def _end(self, name):
        file, rest = self.folder / "daemons", []
        for line in file.read_text().splitlines() if file.exists() else ():
            program, pid, started = line.split()
            if program != name:
                rest.append(line)
            elif _started(int(pid)) == started:  # not another process with its number
                os.kill(int(pid), signal.SIGTERM)
                _wait(lambda pid=int(pid), s=started: _started(pid) != s, f"the end of {name}")
        file.write_text("".join(f"{line}\n" for line in rest))


def _started(pid):
    """When a process started, in clock ticks; "" where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _said(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout


def _wait(ready, what, seconds=60):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come in {seconds} s")
        time.sleep(0.2)


if __name__ == "__main__":
    getattr(Cluster(sys.argv[2]), sys.argv[1])()
