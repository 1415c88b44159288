// Asking: the question, the steps as they happen, the answer and what proves it.
import { byId, el, entityLink, failure, json, request, saveFile, short, show } from "./dom.js";
import { combo } from "./combo.js";
import { draw, key } from "./graph.js";
import { callLine, resultText } from "./calls.js";
import { compare } from "./compare.js";

const HISTORY = "kgagent-history";
const KEPT = 30;

let graph;
let topics = [];
let running = null;
let completion;
let shown = null;

export function startAsk(graphOf, served) {
  graph = graphOf;
  const agents = [];
  for (const model of served.models) for (const agent of model.agents) agents.push([agent, model.name]);
  for (const agent of served.without) agents.push([agent, null]);
  const several = served.models.length > 1;
  show(byId("agent"), agents.map(([agent, model]) =>
    el("option", { value: JSON.stringify([agent, model]) }, several && model ? `${agent} · ${model}` : agent)));
  completion = combo("question", "question-list", graph, lastWords, (entity) => {
    const input = byId("question");
    const [start, end] = wordsAt(input.value, input.selectionStart ?? input.value.length);
    const label = entity.label ?? entity.name;
    input.value = `${input.value.slice(0, start)}${label}${input.value.slice(end) || " "}`;
    if (!topics.some((one) => one.name === entity.name)) topics.push(entity);
    showTopics();
    input.focus();
  });
  byId("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const question = byId("question").value.trim();
    if (question) ask(question);
  });
  byId("compare").hidden = agents.length < 2;
  byId("compare").addEventListener("click", () => {
    const question = byId("question").value.trim();
    if (question) compareAll(question, agents);
  });
  byId("stop").addEventListener("click", () => running?.abort());
  byId("question").addEventListener("input", () => {
    const text = byId("question").value.toLowerCase();
    topics = topics.filter((one) => text.includes((one.label ?? one.name).toLowerCase()));
    showTopics();
  });
  byId("graph").addEventListener("change", () => { topics = []; showTopics(); });
}

/** The words before the cursor that may begin a name: from the last capital or quote, else the last word. */
function wordsAt(text, cursor) {
  const before = text.slice(0, cursor);
  const name = before.match(/(?:^|[^\p{L}\p{N}])(\p{Lu}[\p{L}\p{N}'’.-]*(?: [\p{L}\p{N}'’.-]+)*)$/u)?.[1];
  const first = /^(?:who|what|which|where|when|how|is|are|was|were|did|does|do|in|of|the|name|list|give)\b ?/i;
  let words = name ?? before.match(/[\p{L}\p{N}'’.-]+$/u)?.[0] ?? "";
  while (first.test(words)) words = words.replace(first, "");
  return [cursor - words.length, cursor];
}

function lastWords(text, cursor) {
  const [start, end] = wordsAt(text, cursor);
  const words = text.slice(start, end).trim();
  // A short small word is more often `in` than a name.
  return words.length > 2 || /^\p{Lu}/u.test(words) ? words : "";
}

function showTopics() {
  show(byId("topics"), topics.length ? "About" : null, topics.map((one) => el("span", { class: "chip" },
    el("span", {}, one.label ?? one.name),
    el("button", { type: "button", "aria-label": `Remove ${one.label ?? one.name}`,
      onclick: () => { topics = topics.filter((other) => other !== one); showTopics(); } }, "×"))));
}

export function showStart() {
  showHistory();
  if (running) return;
  byId("question").focus();
  if (!shown) show(byId("result"), el("p", { class: "empty" },
    "Ask in your own words. Names complete as you type. Every answer comes with its program and the triples that prove it."));
}

async function ask(question) {
  running?.abort();
  completion.close();
  const mine = new AbortController();
  running = mine;
  const [agent, model] = JSON.parse(byId("agent").value);
  const body = { question, graph: graph(), agent, entities: topics.map((one) => one.name) };
  if (model) body.model = model;
  const view = answerView(question);
  busy(true);
  try {
    const response = await request("/api/ask", {
      method: "POST", body: JSON.stringify(body), signal: mine.signal,
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    });
    if (!response.ok) throw new Error((await response.json()).error.message);
    let done = null;
    await events(response, (name, data) => {
      if (name === "failed") throw new Error(data.error.message);
      if (name === "done") done = data;
      else view.event(name, data);
    });
    if (!done) throw new Error("the connection ended before the answer");
    remember(done);
    shown = done.id;
    history.replaceState(null, "", `#/answer/${done.id}`);
    view.finish(await json(`/api/answers/${done.id}`));
  } catch (error) {
    if (mine.signal.aborted && running !== mine) return;
    view.fail(mine.signal.aborted ? new Error("Stopped.") : error);
  } finally {
    if (running === mine) {
      running = null;
      busy(false);
    }
    showHistory();
  }
}

/** Asks every agent the same. */
async function compareAll(question, agents) {
  running?.abort();
  completion.close();
  const mine = new AbortController();
  running = mine;
  shown = null;
  history.replaceState(null, "", "#/");
  busy(true);
  await compare(agents, { question, graph: graph(), entities: topics.map((one) => one.name) }, mine.signal);
  if (running === mine) {
    running = null;
    busy(false);
  }
}

function busy(is) {
  byId("send").hidden = is;
  byId("stop").hidden = !is;
  byId("result").setAttribute("aria-busy", String(is));
  if (is) byId("status").textContent = "";
}

/** Reads server-sent events; `take(name, data)` gets each. */
async function events(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    let end;
    while ((end = text.indexOf("\n\n")) >= 0) {
      const part = text.slice(0, end);
      text = text.slice(end + 2);
      const name = part.match(/^event: (.*)$/m)?.[1];
      const data = part.match(/^data: (.*)$/m)?.[1];
      if (name && data) take(name, JSON.parse(data));
    }
  }
}

/** Shows a kept answer: its trace is played again at once. */
export async function showAnswer(id) {
  showHistory();
  if (shown === id) return;
  shown = id;
  running?.abort();
  try {
    const answer = await json(`/api/answers/${encodeURIComponent(id)}`);
    byId("question").value = answer.question;
    const view = answerView(answer.question);
    for (const { event, ...data } of answer.trace) view.event(event, data);
    view.finish(answer);
  } catch (error) {
    const known = readHistory().find((one) => one.id === id);
    if (known) byId("question").value = known.question;
    show(byId("result"), failure(error));
  }
}

/** A view of one question that grows with its events. */
function answerView(question) {
  const lines = [];
  let candidates = [];
  let reasons = [];
  const list = el("ol", { class: "program" });
  const working = el("div", { class: "working" }, "Linking the question");
  // It is as tall from the beginning as it will be with the answer, so that nothing below it jumps.
  const said = el("div", { class: "said" }, working);
  const head = el("div", { class: "card", "data-part": "answer" }, el("p", { class: "asked" }, question), said);
  const steps = el("div", { class: "card", hidden: true }, el("h2", {}, "Program"), list);
  const proof = el("div", { class: "card", hidden: true });
  show(byId("result"), head, steps, proof);

  const line = (call, result, bad) => {
    const item = el("li", { tabindex: "0", class: bad ? "bad" : null }, callLine(call), el("span", { class: "found" }, result));
    lines.push({ call, item });
    list.append(item);
    steps.hidden = false;
  };
  return {
    event(name, data) {
      if (name === "observe") working.textContent = data.entities.length ? "Looking for programs" : "Looking for programs (no entity found in the question)";
      if (name === "call") working.textContent = `Step ${data.step}`;
      if (name === "result") line(data.call, resultText(data.result));
      if (name === "error") line("", data.message, true);
      if (name === "decision") {
        // What follows is the chosen program; the lines so far were the model's own try.
        candidates = data.candidates;
        reasons = data.why ?? [];
        lines.length = 0;
        show(list);
      }
    },
    finish(answer) {
      working.remove();
      const rows = showValue(said, answer, lines.length ? steps : said);
      if (candidates.length > 1) steps.append(candidateList(candidates, reasons));
      if (answer.answer.evidence.length) showEvidence(proof, answer, lines, rows);
      byId("status").textContent = `Answer: ${head.querySelector(".answer").textContent}`;
    },
    fail(error) {
      working.remove();
      said.append(failure(error));
      byId("status").textContent = String(error.message);
    },
  };
}

function candidateList(candidates, reasons) {
  const answers = (one) => one.program.length !== 1;
  const best = [...candidates].sort((a, b) => b.score - a.score).find(answers);
  const gaveUp = !candidates.some((one) => one.chosen && answers(one));
  const program = gaveUp && best ? "best program that was not chosen" : "program";
  const because = reasons.map((one) =>
    el("li", {}, one.by ? `“${one.word}” is explained by ${one.by}` : `nothing in the ${program} explains “${one.word}”`));
  const rows = [...candidates].sort((a, b) => b.score - a.score).map((one) =>
    el("li", { class: one.chosen ? "chosen" : null },
      // Triad's own answer has a query and no calls.
      one.program.length ? one.program.map((call) => el("div", {}, callLine(call))) : el("div", {}, "the agent's own answer"),
      el("div", { class: "hint" }, `score ${one.score.toFixed(2)}${one.chosen ? ", chosen" : gaveUp && one === best ? ", closest" : ""}`)));
  // Without an answer, what was closest is what people want to see.
  return el("details", { open: gaveUp }, el("summary", {}, `${candidates.length} programs were compared`), el("ul", {}, because), el("ul", { class: "candidates" }, rows));
}

/** The label of an entity if the evidence has it, else its name. */
function labelOf(answer, name) {
  for (const [i, names] of answer.names.entries()) {
    const place = names.indexOf(name);
    if (place >= 0) return answer.answer.evidence[i].text[place];
  }
  return name;
}

function cell(graph, member) {
  return el("td", {}, member.term.literal ? member.label : el("a", { href: entityLink(graph, member.name) }, member.label));
}

function answerTable(graph, { columns, rows }) {
  const head = el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name))));
  const body = rows.slice(0, 200).map((row) => el("tr", {}, row.map((member) => cell(graph, member))));
  const more = rows.length > 200 ? el("p", { class: "hint" }, `… ${rows.length} rows in all`) : null;
  return { table: el("div", { class: "scroll" }, el("table", {}, head, el("tbody", {}, body)), more), rows: body };
}

/** Shows an answer in `head`, and the reason for none in `place`; returns the rows of its table. */
function showValue(head, answer, place) {
  const { value, provenance, emptied } = answer.answer;
  const line = el("p", { class: "answer" });
  if (value.table?.rows.length) line.append(`${value.table.rows.length} ${value.table.rows.length === 1 ? "row" : "rows"}`);
  else if (value.table) line.append(el("span", { class: "none" }, answer.reason ? "No answer" : "The graph has no answer"));
  else if (value.set === undefined) line.append(value.number !== undefined ? String(value.number) : value.truth ? "Yes" : "No");
  else if (!value.set.length) line.append(el("span", { class: "none" }, answer.reason ? "No answer" : "The graph has no answer"));
  else {
    if (value.set.length > 6) line.classList.add("long");
    for (const member of value.set.slice(0, 200)) {
      line.append(member.term.literal ? el("span", {}, member.label) : el("a", { href: entityLink(answer.graph, member.name) }, member.label));
    }
    if (value.set.length > 200) line.append(el("span", {}, `… ${value.set.length} in all`));
  }
  head.append(line);
  const { table, rows } = value.table?.rows.length ? answerTable(answer.graph, value.table) : { rows: [] };
  if (table) head.append(table);
  if (answer.reason) place.append(el("p", { class: "why" }, answer.reason));
  else if (emptied && provenance === "none" && answer.entities.length) place.append(el("p", { class: "why" }, `Step ${emptied.step}: ${emptied.call}: ${emptied.why}`));
  if (provenance === "model") head.append(el("p", { class: "why" }, "From the model's own knowledge; nothing in the graph proves it."));
  const timing = answer.trace.find((event) => event.event === "timing");
  const seconds = timing ? timing.kg + timing.model : 0;
  const about = answer.entities.length
    ? ["about ", ...answer.entities.flatMap((name, i) => [i ? ", " : "", el("a", { href: entityLink(answer.graph, name) }, short(labelOf(answer, name), 40))])]
    : ["no entity was found in the question; type a name and choose it from the list"];
  head.append(el("p", { class: "meta" },
    el("span", {}, answer.model ? `${answer.agent} · ${answer.model}` : answer.agent),
    el("span", {}, seconds < 1 ? `${Math.max(1, Math.round(seconds * 1000))} ms` : `${seconds.toFixed(1)} s`),
    el("span", {}, ...about),
    answer.sparql ? el("a", { href: `#/sparql/${encodeURIComponent(answer.graph)}/${encodeURIComponent(answer.sparql)}` }, "Open as SPARQL") : null,
    el("button", { type: "button", class: "quiet small", onclick: (event) => copy(event.target, location.href) }, "Copy link")));
  if (answer.feedback) head.append(opinion(answer));
  return rows;
}

/** Says whether the answer is right; the server keeps it. */
function opinion(answer) {
  const note = el("span", { class: "hint", role: "status" });
  const right = el("input", { type: "text", maxlength: "500", placeholder: "The right answer", "aria-label": "The right answer" });
  const correct = el("form", { class: "bar", hidden: true, onsubmit: (event) => {
    event.preventDefault();
    const answers = right.value.split(/[;|]/).map((text) => text.trim()).filter(Boolean);
    say({ verdict: "wrong", answers }, no);
  } }, right, el("button", { type: "submit", class: "quiet small" }, "Send"));
  const say = async (body, button) => {
    try {
      await json("/api/feedback", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ id: answer.id, ...body }) });
      for (const one of [yes, no]) one.setAttribute("aria-pressed", String(one === button));
      correct.hidden = true;
      note.textContent = "Kept, thank you.";
    } catch (error) {
      note.textContent = error.message;
    }
  };
  const yes = el("button", { type: "button", class: "quiet small", onclick: () => say({ verdict: "right" }, yes) }, "Right");
  const no = el("button", { type: "button", class: "quiet small", onclick: () => { correct.hidden = false; right.focus(); note.textContent = "Several answers are parted by ; and it may stay empty."; } }, "Wrong");
  return el("div", {}, el("div", { class: "bar" }, el("span", { class: "hint" }, "Is this right?"), yes, no, note), correct);
}

/** Saves what an address gives as a file. */
async function save(path, accept, name) {
  const response = await request(path, { headers: { Accept: accept } });
  if (response.ok) saveFile(await response.blob(), name);
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
}

function showEvidence(card, answer, lines, answerRows) {
  const { evidence, value, row_evidence: ofRows = [] } = answer.answer;
  const answers = new Set((value.set ?? []).map((member) => key(member.term)));
  const asked = new Set(answer.topics.map(key));
  const kinds = (id) => (answers.has(id) ? "answer" : asked.has(id) ? "topic" : "");
  const { picture, lines: edges } = draw(evidence, kinds, new Set(answer.statements.map(key)), card.parentElement.clientWidth < 560);
  const rows = evidence.map(({ text, triple }, i) => el("tr", { tabindex: "0", "data-at": i },
    [0, 1, 2].map((place) => el("td", { class: place === 1 ? "rel" : null },
      triple[place].literal ? text[place] : el("a", { href: entityLink(answer.graph, answer.names[i][place]) }, text[place])))));
  const table = el("table", {}, el("thead", {}, el("tr", {}, ["Subject", "Relation", "Object"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows));
  const file = (label, part, accept, name) =>
    el("button", { type: "button", class: "quiet small", onclick: () => save(`/api/answers/${answer.id}/${part}`, accept, name) }, label);
  show(card, el("h2", {}, `Evidence · ${evidence.length} ${evidence.length === 1 ? "triple" : "triples"}`), el("div", { class: "evidence" }, picture, el("div", { class: "scroll" }, table)),
    el("p", { class: "bar" }, el("span", { class: "hint" }, "Download"), file("Turtle", "evidence", "text/turtle", "evidence.ttl"),
      file("JSON-LD", "evidence", "application/ld+json", "evidence.jsonld"), file("Trace", "trace", "*/*", "trace.jsonl")));
  card.hidden = false;

  const light = (triples, steps) => {
    const on = triples && new Set(triples);
    rows.forEach((row, i) => mark(row, on, i));
    edges.forEach((edge, i) => mark(edge, on, i));
    lines.forEach(({ item }, i) => item.classList.toggle("lit", Boolean(steps?.includes(i))));
  };
  const mark = (node, on, i) => {
    node.classList.toggle("lit", Boolean(on?.has(i)));
    node.classList.toggle("dim", Boolean(on && !on.has(i)));
  };
  const lights = (node, triples, steps) => {
    for (const event of ["pointerenter", "focus"]) node.addEventListener(event, () => light(triples, steps));
    for (const event of ["pointerleave", "blur"]) node.addEventListener(event, () => light(null));
  };
  // A step of the program is a line if the trace has as many.
  lines.forEach(({ item }, step) => {
    const own = evidence.map((_, i) => i).filter((i) => answer.steps[i]?.includes(step));
    if (own.length) lights(item, own, [step]);
  });
  rows.forEach((row, i) => lights(row, [i], answer.steps[i] ?? []));
  // A row of the answer lights the triples that it was made from.
  answerRows.forEach((row, i) => {
    if (!ofRows[i]?.length) return;
    row.tabIndex = 0;
    lights(row, ofRows[i], []);
  });
  edges.forEach((edge, i) => lights(edge, [i], answer.steps[i] ?? []));
}

function readHistory() {
  try {
    return JSON.parse(localStorage.getItem(HISTORY)) ?? [];
  } catch {
    return [];
  }
}

function remember(answer) {
  const { value } = answer.answer;
  const text = value.set ? value.set.slice(0, 3).map((member) => member.label).join(", ") || "no answer"
    : value.table ? value.table.rows.slice(0, 3).map((row) => row.map((member) => member.label).join(" | ")).join("; ") || "no answer"
    : String(value.number ?? (value.truth ? "yes" : "no"));
  const old = readHistory().filter((one) => one.question !== answer.question || one.graph !== answer.graph);
  const entry = { id: answer.id, question: answer.question, graph: answer.graph, text: short(text, 80) };
  localStorage.setItem(HISTORY, JSON.stringify([entry, ...old].slice(0, KEPT)));
}

function showHistory() {
  const entries = readHistory().filter((one) => one.graph === graph());
  show(byId("history"), entries.length ? el("h2", {}, "Earlier") : null, entries.length ? el("ul", {}, entries.map((one) =>
    el("li", {}, el("a", { href: `#/answer/${one.id}`, onclick: () => { byId("question").value = one.question; } }, one.question, el("small", {}, one.text))))) : null,
    entries.length ? el("p", {}, el("button", { type: "button", class: "quiet small", onclick: () => { localStorage.removeItem(HISTORY); showHistory(); } }, "Forget")) : null);
}
