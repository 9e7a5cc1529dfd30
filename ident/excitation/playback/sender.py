"""Stream joint set-points to a controller of Universal Robots.

The controller runs the program (.script) that was written together with this file and with the
set-points (.csv). It asks for some set-points at a time and plays one a step of its own clock, so
that nothing is lost or late while the answers come within a tenth of a second. Ending this program
(Ctrl-C) stops the arm within that time. It needs Python 3.8 and nothing else.

    python NAME_servoj.py                  then start the program at the robot
    python NAME_servoj.py 192.168.1.10     starts it too, where the robot is in remote control
"""

from __future__ import annotations

import argparse
import csv
import re
import socket
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

JOINTS = 6
# Set-points of one answer: twice the 30 integers that URScript reads at a time.
BATCH = 10
# Set-points go as 32-bit integers, big-endian, off the first one, in radians divided by this: up to
# 4 rad to either side, rounded by 1e-9 rad at most.
UNIT = 2.0**29
SCRIPTS_PORT = 30002


def read_rows(lines: Iterable[str]) -> list[list[float]]:
    """Return the joint positions (rad) of a CSV file's lines, a list for each set-point."""
    rows = csv.reader(line for line in lines if not line.startswith("#"))
    header = next(rows)
    columns = [i for i, name in enumerate(header) if name.endswith("/position")]
    if len(columns) != JOINTS:
        raise SystemExit(f"{len(columns)} columns '<joint>/position', expected {JOINTS}")
    return [[float(row[i]) for i in columns] for row in rows]


def packed(rows: list[list[float]]) -> bytes:
    """Return set-points as the controller reads them; the last fills up the last answer."""
    filled = rows + [rows[-1]] * (-len(rows) % BATCH)
    units = [[round((row[j] - rows[0][j]) * UNIT) for j in range(JOINTS)] for row in filled]
    return b"".join(struct.pack(f">{JOINTS}i", *row) for row in units)


def checksum(data: bytes) -> int:
    """Return what tells these set-points from others: 31 bits."""
    return zlib.crc32(data) & 0x7FFFFFFF


def serve(server: socket.socket, data: bytes) -> int:
    """Answer one controller until it has all set-points; return how many it asked for."""
    size = 4 * JOINTS
    connection, (address, *_) = server.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if received(connection) != checksum(data):
            raise SystemExit(f"{address} runs a program for other set-points than these")
        done = 0
        while done < len(data) // size:
            index = received(connection)
            if index is None:
                break
            connection.sendall(data[index * size : (index + BATCH) * size])
            done = index + BATCH
        while received(connection) is not None:  # until it has come to rest
            pass
    return done


def received(connection: socket.socket) -> int | None:
    """Return the next integer, or None when the controller has closed the connection."""
    data = b""
    while len(data) < 4:
        try:
            more = connection.recv(4 - len(data))
        except ConnectionError:
            more = b""
        if not more:
            return None
        data += more
    return int.from_bytes(data, "big", signed=True)


def start(robot: str, script: str, port: int = SCRIPTS_PORT) -> socket.socket:
    """Send the program to a robot in remote control; the connection must stay open."""
    connection = socket.create_connection((robot, port), timeout=5.0)
    own = connection.getsockname()[0]
    text = re.sub(r'(global host = )".*"', rf'\1"{own}"', script)
    connection.sendall(text.encode("ascii"))
    return connection


def main() -> None:
    """Stream the files beside this one."""
    own = Path(__file__)
    parser = argparse.ArgumentParser(description="Stream joint set-points to a UR controller.")
    parser.add_argument("robot", nargs="?", help="address of a robot in remote control, to start")
    parser.add_argument("--port", type=int, default=0, help="port to listen at; the program's own")
    options = parser.parse_args()
    script = own.with_suffix(".script").read_text("ascii")
    with own.with_suffix(".csv").open(encoding="utf-8") as file:
        rows = read_rows(file)
    port = options.port or int(script.partition("global port = ")[2].split()[0])
    with socket.create_server(("", port)) as server:
        print(f"{len(rows)} set-points; waiting for the controller at port {port}", flush=True)
        session = start(options.robot, script) if options.robot else None
        done = serve(server, packed(rows))
        if session:
            session.close()
    if done < len(rows):
        raise SystemExit(f"the controller stopped after {done} of {len(rows)} set-points")
    print("done")


if __name__ == "__main__":
    main()
