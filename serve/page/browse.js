// Looking at one entity: its classes, relations and neighbours.
import { byId, el, entityLink, failure, inGraph, json, show } from "./dom.js";
import { combo } from "./combo.js";

const PAGE = 50;
let graph;
let completion;

export function startBrowse(graphOf) {
  graph = graphOf;
  const go = (entity) => { location.hash = entityLink(graph(), entity.name).slice(1); };
  completion = combo("lookup", "lookup-list", graph, (text) => text.trim(), go);
  byId("browse-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = byId("lookup").value.trim();
    if (!text) return;
    completion.close();
    try {
      const { results } = await json(inGraph(graph(), "search", { q: text, limit: 1 }));
      if (results.length) go(results[0]);
      else show(byId("entity"), el("p", { class: "empty" }, "The graph has no name like this."));
    } catch (error) {
      show(byId("entity"), failure(error));
    }
  });
}

export async function showEntity(name, id) {
  byId("lookup").value = "";
  try {
    if (id === undefined) show(byId("entity"), await overview(name));
    else show(byId("entity"), ...entityPage(name, await json(inGraph(name, "entity", { id }))));
  } catch (error) {
    show(byId("entity"), failure(error));
  }
}

/** What the graph has most of. */
async function overview(name) {
  const schema = await json(`/api/graphs/${encodeURIComponent(name)}/schema?limit=60`);
  const list = (title, all, rows) => el("div", { class: "card" }, el("h2", {}, `${title} · ${all}`),
    el("table", {}, el("tbody", {}, rows.map((row) => el("tr", {}, el("td", {}, link(name, row)), el("td", { class: "rel" }, row.name), el("td", { class: "number" }, String(row.count)))))));
  return el("div", { class: "pair" }, list("Classes", schema.classes_in_all, schema.classes.slice(0, 30)),
    list("Relations", schema.relations_in_all, schema.relations.filter((row) => !row.hidden)));
}

function link(name, node) {
  const text = node.label ?? (node.says || node.name);
  return node.literal ? el("span", {}, text) : el("a", { href: entityLink(name, node.name) }, text);
}

function entityPage(name, entity) {
  const title = entity.label ?? (entity.says || entity.name);
  const head = el("div", { class: "head" }, el("h1", {}, title), entity.classes.map((one) => el("span", { class: "chip" }, link(name, one))));
  const about = el("p", { class: "meta" }, el("code", {}, entity.term.iri ?? entity.name), el("span", {}, `${entity.degree} triples`));
  const table = (side, heading) => entity[side].length ? el("div", { class: "card facts" }, el("h2", {}, heading),
    el("table", {}, el("tbody", {}, entity[side].map((row) => facts(name, entity, side, row))))) : null;
  return [head, about, table("out", "Facts"), table("in", "Mentioned by")];
}

function facts(name, entity, side, row) {
  const values = el("div", { class: "values" }, row.nodes.map((one) => link(name, one)));
  const cell = el("td", {}, values);
  let shown = row.nodes.length;
  if (row.count > shown) {
    const more = el("button", { type: "button", class: "quiet small", onclick: async () => {
      const page = await json(inGraph(name, "entity", { id: entity.name, relation: row.relation.name, direction: side, offset: shown, limit: PAGE }));
      shown += page.nodes.length;
      values.append(...page.nodes.map((one) => link(name, one)));
      more.textContent = label();
      more.hidden = shown >= row.count || !page.nodes.length;
    } });
    const label = () => `${row.count - shown} more`;
    more.textContent = label();
    cell.append(more);
  }
  return el("tr", {}, el("td", { class: "rel" }, link(name, row.relation)), cell);
}
