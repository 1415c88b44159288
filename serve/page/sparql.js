// Writing and running SPARQL.
import { byId, el, entityLink, failure, request, saveFile, show } from "./dom.js";

const SHOWN = 500;
const START = "SELECT ?class (COUNT(?x) AS ?number)\nWHERE { ?x a ?class }\nGROUP BY ?class\nORDER BY DESC(?number)\nLIMIT 20";
let graph;
let last = null;

export function startSparql(graphOf) {
  graph = graphOf;
  byId("query").value = START;
  byId("sparql-form").addEventListener("submit", (event) => { event.preventDefault(); run(); });
  byId("query").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
  });
  byId("csv").addEventListener("click", download);
}

/** Shows the editor; a query in the address is run at once, since it only reads. */
export function showQuery(name, query) {
  if (query === undefined) return;
  byId("query").value = broken(query);
  run();
}

/** Line breaks where a query in one line is hard to read. */
function broken(query) {
  if (query.includes("\n")) return query;
  return query.replace(/ WHERE \{ /, "\nWHERE {\n  ").replace(/ \. (?!\})/g, " .\n  ").replace(/ \}$/, "\n}");
}

async function ask(accept) {
  return request(`/sparql/${encodeURIComponent(graph())}`, {
    method: "POST", body: byId("query").value,
    headers: { "Content-Type": "application/sparql-query", Accept: accept },
  });
}

async function run() {
  const began = performance.now();
  byId("csv").hidden = true;
  show(byId("rows"), el("p", { class: "working" }, "Running"));
  try {
    const response = await ask("application/sparql-results+json, application/n-triples");
    if (response.headers.get("Content-Type") === "application/n-triples") return show(byId("rows"), el("div", { class: "card scroll" }, el("pre", {}, await response.text())));
    const value = await response.json();
    if (!response.ok) throw new Error(value.error.message);
    const took = `${Math.max(1, Math.round(performance.now() - began))} ms`;
    last = value;
    if (value.boolean !== undefined) return show(byId("rows"), el("div", { class: "card" }, el("p", { class: "answer" }, value.boolean ? "Yes" : "No"), el("p", { class: "meta" }, took)));
    byId("csv").hidden = false;
    show(byId("rows"), table(value.head.vars, value.results.bindings, took));
  } catch (error) {
    show(byId("rows"), failure(error));
  }
}

function table(names, rows, took) {
  const cell = (term) => {
    if (!term) return "";
    if (term.type === "uri") return el("a", { href: entityLink(graph(), term.value) }, term.value);
    return term.value;
  };
  const more = rows.length > SHOWN ? `; the first ${SHOWN} are shown, the download has all` : "";
  return el("div", { class: "card" }, el("h2", {}, `${rows.length} ${rows.length === 1 ? "row" : "rows"} · ${took}${more}`),
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.slice(0, SHOWN).map((row) => el("tr", {}, names.map((name) => el("td", {}, cell(row[name])))))))));
}

async function download() {
  const response = await ask("text/csv");
  if (!response.ok || !last) return;
  saveFile(await response.blob(), "results.csv");
}
