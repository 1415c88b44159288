// The page: which view is shown, and what the views share.
import { byId, el, failure, json, show } from "./dom.js";
import { startAsk, showAnswer, showStart } from "./ask.js";
import { startBrowse, showEntity } from "./browse.js";
import { startSparql, showQuery } from "./sparql.js";

const VIEWS = ["ask", "browse", "sparql"];
const GRAPH = "kgagent-graph";

/** What the server has. */
const served = { graphs: [], models: [], without: [] };

const graph = () => byId("graph").value;

function view(name) {
  for (const one of VIEWS) byId(one).hidden = one !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Shows what the part of the address behind # names. */
function route() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  if (name === "browse") {
    view("browse");
    if (rest.length === 2) choose(rest[0]);
    showEntity(graph(), rest[1]);
  } else if (name === "sparql") {
    view("sparql");
    if (rest.length === 2) choose(rest[0]);
    showQuery(graph(), rest[1]);
  } else if (name === "answer" && rest[0]) {
    view("ask");
    showAnswer(rest[0]);
  } else {
    view("ask");
    showStart();
  }
}

function choose(name) {
  if (served.graphs.some((one) => one.name === name)) byId("graph").value = name;
}

async function start() {
  try {
    const [graphs, agents] = await Promise.all([json("/api/graphs"), json("/api/agents")]);
    served.graphs = graphs.graphs;
    served.models = agents.models;
    served.without = agents.without_model;
    document.body.classList.toggle("rated", agents.feedback);
  } catch (error) {
    view("ask");
    return show(byId("result"), failure(error));
  }
  show(byId("graph"), served.graphs.map((one) => el("option", { value: one.name }, one.name)));
  choose(localStorage.getItem(GRAPH));
  byId("graph").addEventListener("change", () => {
    localStorage.setItem(GRAPH, graph());
    if (location.hash.startsWith("#/browse")) location.hash = "#/browse";
    else route();
  });
  startAsk(graph, served);
  startBrowse(graph);
  startSparql(graph);
  addEventListener("hashchange", route);
  route();
}

start();
