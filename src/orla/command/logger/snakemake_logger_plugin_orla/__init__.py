"""Snakemake's events as lines of JSON on stderr, for the command that started it.

A plugin as snakemake-interface-logger-plugins 2.1 asks for. Each line begins with `MARK`, because
jobs write to the same stream.
"""

import json
import sys
from logging import LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

MARK = "\x02"
# How Snakemake says, in a message without an event, that what was asked for is there.
UP_TO_DATE = "Nothing to be done"
# A line up to this length is written to a pipe at once, so that no other cuts it in two.
MOST = 3000
# Event -> what is passed on of it, under the names that Snakemake gives.
FIELDS = {
    LogEvent.RUN_INFO: ("stats",),
    LogEvent.JOB_INFO: ("jobid", "rule_name", "rule_msg", "wildcards", "resources"),
    LogEvent.JOB_FINISHED: ("job_id",),
    LogEvent.JOB_ERROR: ("rule_name", "log"),
    LogEvent.PROGRESS: ("done", "total"),
    LogEvent.ERROR: ("exception",),
}


class LogHandler(LogHandlerBase):
    """Writes events, and messages of an error."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def emit(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        if event is None and record.getMessage().startswith(UP_TO_DATE):
            event = "up_to_date"
        elif event not in FIELDS and record.levelname not in ("ERROR", "CRITICAL"):
            return
        fields = {name: getattr(record, name, None) for name in FIELDS.get(event, ())}
        if "resources" in fields:
            fields["resources"] = {"mem_mb": fields["resources"].get("mem_mb")}
        if event in (None, LogEvent.ERROR):
            fields["message"] = record.getMessage()[: MOST // 2]
        line = json.dumps({"event": str(event or "error"), **fields}, default=str)
        if len(line) < MOST:
            sys.stderr.write(f"{MARK}{line}\n")
            sys.stderr.flush()
