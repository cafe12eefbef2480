#!/bin/sh
# State of the job with an id, by Grid Engine's commands: running, success or failed.
# qstat knows a job until it ends, qacct some seconds after it has ended.
for _ in 1 2 3 4 5 6; do
    if qstat -j "$1" > /dev/null 2>&1; then
        echo running
        exit
    fi
    status=$(qacct -j "$1" 2> /dev/null | awk '$1 == "exit_status" { print $2 }')
    if [ -n "$status" ]; then
        [ "$status" = 0 ] && echo success || echo failed
        exit
    fi
    sleep 5
done
echo failed
