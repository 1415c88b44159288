"""Load on a running `kgagent serve`: rate, latencies, refusals and memory. Only the standard library.

    kgagent serve --kg demo-out/graph --model demo-out/model --client-questions 1000 --client-connections 1000
    python3 benches/serve/load.py --questions data/questions.new-entities.jsonl --pid PID --seconds 600

The phases: one client at rest; two clients for each thread, which is all that the server can do; `--times` that rate, whether or not
the answers come; one client again, beside clients that send one byte a second and clients that leave in the middle of a stream,
both from another address of this machine (127.0.0.2), so that limits of one address do not mix them. `--phases each` asks every
question once, from two clients for each thread, to compare with `kgagent eval`.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import time


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--questions", required=True, help="lines of JSON with a field `question`")
    parser.add_argument("--pid", type=int, help="process of the server, to read its memory")
    parser.add_argument("--agent", default=None)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--times", type=float, default=4)
    parser.add_argument("--seconds", type=float, default=30, help="of the overload; the other phases have at most 30")
    parser.add_argument("--slow", type=int, default=200)
    parser.add_argument("--phases", default="rest,full,overload,slow")
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


async def get(path):
    reader, writer = await asyncio.open_connection("127.0.0.1", ARGS.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    _, body = await reply(reader)
    writer.close()
    return body.decode()


async def metrics():
    """What the server has counted."""
    lines = (await get("/metrics")).splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in pairs}


async def beside_library(answered):
    """Milliseconds of each answer that were spent neither in the graph nor in the model, as its trace says."""
    rest = []
    for body, seconds in answered:
        trace = map(json.loads, (await get(f"/api/answers/{json.loads(body)['id']}/trace")).splitlines())
        rest += [1000 * (seconds - event["kg"] - event["model"]) for event in trace if event.get("event") == "timing"]
    return round(statistics.median(rest), 3)


def memory():
    """Resident memory of the server without mapped files, in bytes."""
    if not ARGS.pid:
        return 0
    with open(f"/proc/{ARGS.pid}/status") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def processor():
    """Seconds of processor time that the server has used."""
    if not ARGS.pid:
        return 0
    with open(f"/proc/{ARGS.pid}/stat") as stat:
        return sum(map(int, stat.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Counts:
    def __init__(self):
        self.seconds, self.statuses, self.broken, self.idle, self.answered = [], {}, 0, [], []

    async def ask(self, question):
        """Asks over a connection that is free, or a new one; gives the status."""
        begun = time.monotonic()
        try:
            # The server closes connections that nobody uses.
            self.idle = [(reader, writer) for reader, writer in self.idle if not reader.at_eof()]
            reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", ARGS.port)
            writer.write(request(question))
            status, body = await reply(reader)
        except (OSError, asyncio.IncompleteReadError):
            self.broken += 1
            return None
        self.idle.append((reader, writer))
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status == 200:
            self.seconds.append(time.monotonic() - begun)
            self.answered = self.answered[-500:] + [(body, self.seconds[-1])]
        return status

    def close(self):
        for _, writer in self.idle:
            writer.close()


async def client(end, counts, seed):
    order = random.Random(seed)
    while time.monotonic() < end:
        if await counts.ask(order.choice(QUESTIONS)) != 200:
            await asyncio.sleep(0.05)


async def sharer(counts, left):
    """Asks what is left of a list that several clients share."""
    while left:
        question = left.pop()
        while await counts.ask(question) != 200:
            await asyncio.sleep(0.05)


async def flood(end, counts, rate):
    """Asks at this rate, at random times, whether or not answers come."""
    order, asked, due = random.Random(1), set(), time.monotonic()
    while due < end:
        await asyncio.sleep(max(0, due - time.monotonic()))
        task = asyncio.create_task(counts.ask(order.choice(QUESTIONS)))
        asked.add(task)
        task.add_done_callback(asked.discard)
        due += order.expovariate(rate)
    await asyncio.gather(*asked)


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
    """Asks for a stream at some time and leaves at its first bytes."""
    order = random.Random(seed)
    await asyncio.sleep(order.uniform(0, max(0, end - time.monotonic() - 1)))
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", ARGS.port, local_addr=("127.0.0.2", 0))
        writer.write(request(order.choice(QUESTIONS), "Accept: text/event-stream\r\n"))
        await reader.read(100)
        writer.close()
    except OSError:
        pass


async def phase(name, seconds, work, others=()):
    """Measures `work`, which counts, beside `others`."""
    before, counts, sizes = await metrics(), Counts(), []
    begun, used, server = time.monotonic(), time.process_time(), processor()
    end = begun + seconds

    async def watch():
        while time.monotonic() < end:
            sizes.append(memory())
            await asyncio.sleep(1)

    async def all_work():
        await asyncio.gather(*(one(end, counts) for one in work))
        return time.monotonic() - begun

    took, *_ = await asyncio.gather(all_work(), watch(), *(other(end) for other in others))
    server = processor() - server
    counts.close()
    after = await metrics()
    grown = {name: after[name] - before[name] for name in after}
    times = sorted(counts.seconds)
    at = lambda share: round(1000 * times[min(len(times) - 1, int(share * len(times)))], 2) if times else None
    sizes = sizes or [memory()]
    first_minute = sizes[min(len(sizes) - 1, 60)]
    line = {
        "phase": name, "seconds": round(took, 1), "answers": len(times), "per_second": round(len(times) / took, 1),
        "p50_ms": at(0.5), "p90_ms": at(0.9), "p99_ms": at(0.99), "statuses": counts.statuses, "broken": counts.broken,
        "left": grown["kgagent_leaving_seconds_count"], "left_in_100_ms": grown['kgagent_leaving_seconds_bucket{le="0.1"}'],
        "memory_mb": [round(size / 1e6, 1) for size in (sizes[0], first_minute, sizes[-1], max(sizes))],
        "processor_ms": round(1000 * server / max(1, len(times)), 1),
        "own_processor_share": round((time.process_time() - used) / took, 2), "load_average": os.getloadavg()[0],
    }
    if times and name.startswith("at rest"):
        line["beside_library_ms"] = await beside_library(counts.answered)
    print(json.dumps(line), flush=True)
    return line


async def main():
    chosen, short = ARGS.phases.split(","), min(30, ARGS.seconds)
    one = lambda seed: lambda end, counts: client(end, counts, seed)
    await phase("warm up", min(5, short), [one(0)])
    if "rest" in chosen:
        await phase("at rest", short, [one(1)])
    if "each" in chosen:
        left = QUESTIONS[::-1]
        await phase("each question once", 0, [lambda _, counts: sharer(counts, left)] * (ARGS.threads * 2))
    if "full" in chosen or "overload" in chosen:
        full = await phase("full", short, [one(seed) for seed in range(ARGS.threads * 2)])
    if "overload" in chosen:
        rate = ARGS.times * full["per_second"]
        await phase(f"overload, {rate:.0f} a second", ARGS.seconds, [lambda end, counts: flood(end, counts, rate)])
    if "slow" in chosen:
        await phase("at rest again", short, [one(1)])
        others = [slow] * ARGS.slow + [lambda end, seed=seed: leaver(end, seed) for seed in range(ARGS.slow)]
        await phase("at rest with slow clients and leavers", short, [one(1)], others)


asyncio.run(main())
