// Comparing agents: the same question to each of them, side by side.
import { byId, el, json, show } from "./dom.js";

/** Questions that are asked at the same time. */
const AT_ONCE = 2;

/** Asks every agent and shows a row for each as it answers. `agents` has pairs of agent and model. */
export async function compare(agents, body, signal) {
  const rows = agents.map(([agent, model]) => {
    const cells = Array.from({ length: 5 }, () => el("td", {}));
    cells[0].textContent = "…";
    return { agent, model, cells, row: el("tr", {}, el("th", { scope: "row" }, model ? `${agent} · ${model}` : agent), cells) };
  });
  const head = el("tr", {}, ["Agent", "Answer", "Steps", "Triples", "Time", ""].map((name) => el("th", { scope: "col" }, name)));
  show(byId("result"), el("div", { class: "card", "data-part": "comparison" }, el("p", { class: "asked" }, body.question),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, rows.map((one) => one.row))))));
  const left = [...rows];
  const next = async () => {
    for (let one = left.shift(); one && !signal.aborted; one = left.shift()) await askOne(one, body, signal);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  markEqual(rows);
  const answered = rows.filter((one) => one.text).length;
  byId("status").textContent = signal.aborted ? "Stopped." : `${answered} of ${rows.length} agents have answered.`;
}

async function askOne(one, body, signal) {
  const [text, steps, triples, time, link] = one.cells;
  const begun = performance.now();
  try {
    const request = { ...body, agent: one.agent, ...(one.model ? { model: one.model } : {}) };
    const answer = await json("/api/ask", { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) });
    one.text = valueText(answer.answer.value);
    text.textContent = one.text ?? (answer.reason ? "No answer" : "The graph has no answer");
    text.className = one.text ? "" : "none";
    steps.textContent = String(answer.answer.program.length);
    triples.textContent = String(answer.answer.evidence.length);
    link.append(el("a", { href: `#/answer/${answer.id}` }, "Show"));
  } catch (error) {
    text.textContent = signal.aborted ? "Stopped" : String(error.message);
    text.className = "none";
  }
  time.textContent = `${((performance.now() - begun) / 1000).toFixed(2)} s`;
}

/** An answer in one line; nothing if there is none. */
function valueText(value) {
  if (value.set) return value.set.map((member) => member.label).sort().slice(0, 20).join(", ") || undefined;
  if (value.table) return value.table.rows.slice(0, 5).map((row) => row.map((member) => member.label).join(" | ")).join("; ") || undefined;
  return value.number === undefined ? (value.truth ? "Yes" : "No") : String(value.number);
}

/** Marks the answer that most agents give, if more than one gives it. */
function markEqual(rows) {
  const counts = new Map();
  for (const { text } of rows) if (text) counts.set(text, (counts.get(text) ?? 0) + 1);
  const most = Math.max(1, ...counts.values());
  for (const one of rows) {
    if (most > 1 && counts.get(one.text) === most) one.cells[0].append(el("small", { class: "hint" }, ` ${most} agents agree`));
  }
}
