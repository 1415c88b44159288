"""Load on a running `kgagent serve`: rate, latencies, refusals and memory. Only the standard library.

    kgagent serve --kg demo-out/graph --model demo-out/model --client-questions 1000 --client-connections 1000
    python3 benches/serve/load.py --questions data/questions.test.jsonl --pid PID --seconds 60

The phases: one client at rest; as many clients as there are threads; `--times` that many; the same with clients that
send one byte a second and clients that leave in the middle of a stream, both from another address of this machine
(127.0.0.2), so that limits of one address do not mix them.
"""

import argparse
import asyncio
import json
import os
import random
import time


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--questions", required=True, help="lines of JSON with a field `question`")
    parser.add_argument("--pid", type=int, help="process of the server, to read its memory")
    parser.add_argument("--agent", default=None)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--slow", type=int, default=200)
    return parser.parse_args()


ARGS = parse()
with open(ARGS.questions) as lines:
    QUESTIONS = [json.loads(line)["question"] for line in lines if line.strip()]


def request(question, extra=""):
    body = {"question": question}
    if ARGS.agent:
        body["agent"] = ARGS.agent
    data = json.dumps(body).encode()
    head = f"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n{extra}\r\n"
    return head.encode() + data


async def reply(reader):
    """Status and body of a response with a Content-Length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return int(head.split(b" ", 2)[1]), await reader.readexactly(length)


def memory():
    """Resident memory of the server without mapped files, in bytes."""
    if not ARGS.pid:
        return 0
    with open(f"/proc/{ARGS.pid}/status") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


class Counts:
    def __init__(self):
        self.seconds, self.statuses, self.broken = [], {}, 0


async def client(end, counts, seed):
    order = random.Random(seed)
    reader = writer = None
    while time.monotonic() < end:
        begun = time.monotonic()
        try:
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", ARGS.port)
            writer.write(request(order.choice(QUESTIONS)))
            status, _ = await reply(reader)
        except (OSError, asyncio.IncompleteReadError):
            counts.broken += 1
            writer = None
            continue
        counts.statuses[status] = counts.statuses.get(status, 0) + 1
        if status == 200:
            counts.seconds.append(time.monotonic() - begun)
        else:
            await asyncio.sleep(0.05)
    if writer:
        writer.close()


async def slow(end):
    """Sends a head a byte a second, so that it never ends."""
    while time.monotonic() < end:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", ARGS.port, local_addr=("127.0.0.2", 0))
            for byte in b"POST /api/ask HTTP/1.1\r\nX: " + b"a" * 60:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(1)
                if time.monotonic() > end:
                    break
            writer.close()
        except OSError:
            await asyncio.sleep(1)


async def leaver(end, seed):
    """Asks for a stream and leaves at its first bytes."""
    order = random.Random(seed)
    while time.monotonic() < end:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", ARGS.port, local_addr=("127.0.0.2", 0))
            writer.write(request(order.choice(QUESTIONS), "Accept: text/event-stream\r\n"))
            await reader.read(100)
            writer.close()
        except OSError:
            pass
        await asyncio.sleep(order.uniform(0.5, 4))


async def phase(name, clients, seconds, others=()):
    counts, end, sizes = Counts(), time.monotonic() + seconds, []

    async def watch():
        while time.monotonic() < end:
            sizes.append(memory())
            await asyncio.sleep(1)

    begun = time.monotonic()
    work = [client(end, counts, seed) for seed in range(clients)]
    await asyncio.gather(watch(), *work, *(other(end) for other in others))
    took = time.monotonic() - begun
    times = sorted(counts.seconds)
    at = lambda share: round(1000 * times[min(len(times) - 1, int(share * len(times)))], 1) if times else None
    early = sizes[min(len(sizes) - 1, max(1, len(sizes) // 10))]
    line = {
        "phase": name, "clients": clients, "seconds": round(took, 1), "answers": len(times),
        "per_second": round(len(times) / took, 1), "p50_ms": at(0.5), "p90_ms": at(0.9), "p99_ms": at(0.99),
        "statuses": counts.statuses, "broken": counts.broken,
        "memory_mb": [round(size / 1e6, 1) for size in (early, sizes[-1], max(sizes))],
    }
    print(json.dumps(line), flush=True)
    return line


async def main():
    await phase("warm up", 1, min(5, ARGS.seconds))
    await phase("at rest", 1, ARGS.seconds / 2)
    await phase("full", ARGS.threads * 2, ARGS.seconds / 2)
    await phase("overload", ARGS.threads * 2 * ARGS.times, ARGS.seconds)
    half = ARGS.slow // 2
    others = [slow] * half + [lambda end, seed=seed: leaver(end, seed) for seed in range(half)]
    await phase("at rest with slow clients and leavers", 1, ARGS.seconds / 2, others)


asyncio.run(main())
