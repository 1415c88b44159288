#!/usr/bin/env python3
"""Mutants of one build: every mutant of `cargo mutants --list` is compiled in, and KG_MUTANT=N switches one on.

    python3 benches/mutants.py WORK [--sample 400] [--seed 1] [--workers 2]

WORK is an empty folder outside the repository. It gets a clone with all mutants, its build, and results.jsonl, one
mutant a line. Mutants that do not compile are found by `cargo check` and left out. Each test runs once by itself to
learn which mutants it reaches; a mutant meets only these tests, for a minute at most. A second run goes on where the
first one ended. Needs `cargo install cargo-mutants`.
"""
import argparse, collections, json, os, queue, random, re, subprocess, threading, time

FOLDERS = ("toolbox/src/call/", "toolbox/src/exec/", "datagen/src/convert/", "infer/engine/src/mask",
           "model/src/weights", "common/src/fs")
PACKAGES = "common model toolbox datagen engine kg infer kgagent".split()
SWITCH = '''
#[doc(hidden)] #[allow(dead_code, clippy::all)]
pub(crate) mod mutant_switch {
    use std::sync::{OnceLock, atomic::{AtomicBool, Ordering}};
    static ON: OnceLock<(u32, Option<String>)> = OnceLock::new();
    static SEEN: [AtomicBool; 8192] = [const { AtomicBool::new(false) }; 8192];
    pub fn on(id: u32) -> bool {
        let var = |name: &str| std::env::var(name).ok();
        let (one, reach) = ON.get_or_init(|| {
            (var("KG_MUTANT").and_then(|v| v.parse().ok()).unwrap_or(u32::MAX), var("KG_REACH"))
        });
        if let Some(path) = reach && !SEEN[id as usize].swap(true, Ordering::Relaxed) {
            use std::io::Write;
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            if let Ok(mut file) = file { let _ = file.write_all(format!("{id}\\n").as_bytes()); }
        }
        *one == id
    }
}
'''


def offset(lines, place):
    return sum(map(len, lines[:place["line"] - 1])) + place["column"] - 1


def write_mutants(root, tree, mutants, dead):
    """Writes the sources with all mutants that are not dead; returns their lines by file."""
    by_file = collections.defaultdict(list)
    for number, mutant in enumerate(mutants):
        by_file[mutant["file"]].append((number, mutant))
    regions, crates = {}, set()
    for name, found in by_file.items():
        text = open(f"{root}/{name}").read()
        lines = text.splitlines(keepends=True)
        bodies = collections.defaultdict(list)
        for number, mutant in found:
            function = mutant["function"]
            # `impl Trait` has one type in a function, so a second body never compiles.
            if number in dead or not function or "impl " in (function["return_type"] or ""):
                continue
            first, last = (offset(lines, function["span"][end]) for end in ("start", "end"))
            sign = re.compile(r"\bfn\b").search(text, first)
            start = text.index("{", sign.start()) + 1
            begin, end = (offset(lines, mutant["span"][end]) for end in ("start", "end"))
            if mutant["genre"] in ("MatchArm", "StructField") and text[end:end + 1] == ",":
                end += 1
            if re.search(r"\bconst\b", text[first:sign.start()]) or begin < start:
                continue
            whole = mutant["genre"] == "FnValue"
            body = text[start:begin] + mutant["replacement"] + text[end:last - 1]
            bodies[start].append((number, mutant["replacement"] if whole else body))
        out, line, done, places = [], 1, 0, []
        for start in sorted(bodies):
            out.append(text[done:start])
            line += text[done:start].count("\n")
            done = start
            for number, body in bodies[start]:
                made = f"\nif crate::mutant_switch::on({number}) {{ return {{ {body}\n}}; }}\n"
                places.append((line + 1, line + made.count("\n"), number))
                line += made.count("\n")
                out.append(made)
        out.append(text[done:])
        open(f"{tree}/{name}", "w").write("".join(out))
        regions[name] = places
        crate = os.path.dirname(name)
        while not os.path.exists(f"{root}/{crate}/Cargo.toml"):
            crate = os.path.dirname(crate)
        crates.add(crate)
    for crate in crates:
        name = f"{crate}/src/lib.rs"
        text = open(f"{tree if name in by_file else root}/{name}").read()
        open(f"{tree}/{name}", "w").write(text + SWITCH)
    return regions


def viable(root, work, mutants, env):
    """Checks and leaves out until everything compiles; returns the numbers of the mutants that do."""
    dead = set()
    while True:
        regions = write_mutants(root, f"{work}/tree", mutants, dead)
        check = subprocess.run(["cargo", "check", "--workspace", "--keep-going", "--message-format=json"],
                               cwd=f"{work}/tree", capture_output=True, text=True, env=env)
        new = set()
        for line in check.stdout.splitlines():
            message = json.loads(line)
            if message.get("reason") == "compiler-message" and message["message"]["level"] == "error":
                for span in message["message"]["spans"]:
                    places = regions.get(span["file_name"], [])
                    new.update(n for a, b, n in places if a <= span["line_start"] <= b)
        print(f"{len(dead)} do not compile, {len(new)} more", flush=True)
        if not new:
            if check.returncode:
                raise SystemExit(check.stderr[-2000:])
            return sorted(n for places in regions.values() for _, _, n in places)
        dead |= new


def reaches(work, env):
    """Every test with its time and the mutants that it reaches."""
    build = ["cargo", "test", "--no-run", "--message-format=json"] + [f"-p{name}" for name in PACKAGES]
    built = subprocess.run(build, cwd=f"{work}/tree", stdout=subprocess.PIPE, text=True, env=env, check=True)
    found, log = [], f"{work}/reach.txt"
    for line in built.stdout.splitlines():
        message = json.loads(line)
        exe = message.get("executable")
        if not exe or not message.get("profile", {}).get("test"):
            continue
        folder = os.path.dirname(message["manifest_path"])
        tests = subprocess.run([exe, "--list", "--format", "terse"], capture_output=True, text=True, cwd=folder)
        for test in (line[:-6] for line in tests.stdout.splitlines() if line.endswith(": test")):
            open(log, "w").close()
            begun = time.time()
            try:
                run = subprocess.run([exe, "--exact", test, "-q"], capture_output=True, cwd=folder, timeout=60,
                                     env=dict(env, KG_REACH=log, RUST_TEST_THREADS="1"))
            except subprocess.TimeoutExpired:
                continue
            if run.returncode == 0:
                ids = sorted({int(n) for n in open(log).read().split()})
                found.append((time.time() - begun, exe, folder, test, ids))
    return found


def outcome(number, tests, env):
    """`caught`, `timeout`, `missed` or `unreached`."""
    groups, begun = [], time.time()
    for took, exe, folder, test, _ in sorted(tests):
        if groups and groups[-1][0] == exe and groups[-1][3] < 0.5 * 2 ** min(len(groups), 6):
            groups[-1][2].append(test)
            groups[-1][3] += took
        else:
            groups.append([exe, folder, [test], took])
    for exe, folder, names, took in groups:
        if time.time() - begun > 60:
            break
        run = subprocess.Popen([exe, "--exact", *names, "-q"], cwd=folder, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=dict(env, KG_MUTANT=str(number), RUST_TEST_THREADS="1"))
        try:
            if run.wait(timeout=15 + 8 * took):
                return "caught"
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, 9)
            run.wait()
            return "timeout"
    return "missed" if tests else "unreached"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work")
    parser.add_argument("--sample", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    root, work = os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.abspath(options.work)
    env = dict(os.environ, CARGO_TARGET_DIR=f"{work}/target", RUSTFLAGS="-Awarnings")
    state = f"{work}/state.json"
    if not os.path.exists(state):
        subprocess.run(["git", "clone", "-q", root, f"{work}/tree"], check=True)
        listed = subprocess.run(["cargo", "mutants", "--workspace", "--list", "--json"], cwd=root, check=True,
                                capture_output=True, text=True).stdout
        mutants = [one for one in json.loads(listed) if one["file"].startswith(FOLDERS)]
        ids = viable(root, work, mutants, env)
        names = [one["name"] for one in mutants]
        json.dump({"names": names, "ids": ids, "tests": reaches(work, env)}, open(state, "w"))
    known = json.load(open(state))
    tests = collections.defaultdict(list)
    for test in known["tests"]:
        for number in test[4]:
            tests[number].append(test)
    ids = known["ids"]
    random.Random(options.seed).shuffle(ids)
    results = f"{work}/results.jsonl"
    done = {}
    if os.path.exists(results):
        done = {one["id"]: one["outcome"] for one in map(json.loads, open(results))}
    todo, lock = queue.Queue(), threading.Lock()
    chosen = ids[:options.sample]
    for number in chosen:
        if number not in done:
            todo.put(number)

    def work_on(out):
        while True:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            found = outcome(number, tests[number], env)
            with lock:
                done[number] = found
                out.write(json.dumps({"id": number, "outcome": found, "name": known["names"][number]}) + "\n")
                out.flush()

    with open(results, "a") as out:
        threads = [threading.Thread(target=work_on, args=(out,)) for _ in range(options.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(len(known["names"]), "mutants,", len(ids), "compile;", dict(collections.Counter(done[n] for n in chosen)))


main()
