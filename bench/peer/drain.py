"""Drains the events of every room by dlt's rest_api source into Postgres, and prints what it took as a line of JSON.

drain.py PROVIDER DATABASE: both are addresses. Imports, and the making of source and pipeline, are told apart.
"""

import json
import resource
import sys
import tempfile
import time
from urllib.parse import quote


def cpu_seconds() -> float:
    """User and system time of this process and of its children that have ended."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def main(provider: str, database: str) -> None:
    begun = time.monotonic()
    import dlt
    from dlt.sources.rest_api import rest_api_source

    source = rest_api_source(
        {
            "client": {
                "base_url": f"{provider}/ap/edu/",
                "headers": {"x-svc-uid": "penstock", "x-svc-token": "demo-token"},
            },
            "resource_defaults": {"write_disposition": "append"},
            "resources": [
                {
                    "name": "rooms",
                    "endpoint": {
                        "path": "polling/apps/demo/v2/rooms/sequences",
                        "data_selector": "data",
                        "paginator": "single_page",
                    },
                    # Names of rooms hold what a path may not, and dlt puts them in as they are.
                    "processing_steps": [{"map": lambda told: {"path": quote(told["roomUuid"], safe="")}}],
                },
                {
                    "name": "room_event",
                    "endpoint": {
                        "path": "apps/demo/v2/rooms/{resources.rooms.path}/sequences",
                        "data_selector": "data.list",
                        "paginator": {"type": "cursor", "cursor_path": "data.nextId", "cursor_param": "nextId"},
                    },
                },
            ],
        }
    )
    pipeline = dlt.pipeline(
        pipeline_name="peer",
        pipelines_dir=tempfile.mkdtemp(prefix="penstock-peer-"),
        destination=dlt.destinations.postgres(database),
        dataset_name="peer",
    )
    warm, spent = time.monotonic(), cpu_seconds()
    pipeline.run(source)
    figures = {"start_seconds": warm - begun, "start_cpu_seconds": spent}
    figures |= {"seconds": time.monotonic() - warm, "cpu_seconds": cpu_seconds() - spent}
    with pipeline.sql_client() as client:
        figures["rows"] = client.execute_sql("select count(*) from room_event")[0][0]
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
