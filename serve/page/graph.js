// A small drawing of triples: a force layout without chance, so that equal evidence gives an equal picture.
import { short, svg } from "./dom.js";

const MOST = 48;
const STEPS = 320;
const LABEL = 26;

/** The key of a term. */
export const key = (term) =>
  term.iri ?? (term.blank !== undefined ? `_:${term.blank}` : JSON.stringify(term.literal));

/**
 * Draws triples. `kinds(key)` gives a node's class, `statements` the keys of nodes without a name.
 * `narrow` draws upright. Returns the drawing and its edges by triple; a
 * triple beyond the limit has none.
 */
export function draw(triples, kinds, statements, narrow) {
  const nodes = new Map();
  const edges = [];
  triples.forEach((triple, index) => {
    const [s, , o] = triple.triple;
    const ends = [[s, triple.text[0]], [o, triple.text[2]]];
    const fresh = ends.filter(([term]) => !nodes.has(key(term))).length;
    if (nodes.size + fresh > MOST) return;
    const [from, to] = ends.map(([term, text]) => {
      const id = key(term);
      if (!nodes.has(id)) nodes.set(id, { id, text, term, at: nodes.size });
      return nodes.get(id);
    });
    edges.push({ from, to, text: triple.text[1], index });
  });
  const all = [...nodes.values()];
  const degree = new Map();
  for (const { from, to } of edges) for (const one of [from, to]) degree.set(one, (degree.get(one) ?? 0) + 1);
  for (const node of all) {
    node.kind = node.term.literal && !kinds(node.id) ? "literal" : kinds(node.id);
    // A statement has no name, and its id says nothing to people.
    node.dot = statements.has(node.id);
    node.width = node.dot ? 16 : Math.max(36, (node.kind === "answer" ? 9 : 8.2) * Math.min(Array.from(node.text).length, LABEL) + 20);
    node.height = node.dot ? 16 : 28;
  }
  layout(all, edges);
  level(all);
  if (narrow) for (const node of all) [node.x, node.y] = [node.y * 0.7, node.x * 0.75];
  separate(all);
  return paint(all, edges, narrow);
}

function layout(nodes, edges) {
  const radius = 60 + 26 * nodes.length;
  nodes.forEach((node, i) => {
    // The golden angle spreads any number of nodes evenly.
    const turn = i * 2.399963;
    const far = radius * Math.sqrt((i + 0.5) / nodes.length) * 0.6;
    node.x = Math.cos(turn) * far * 1.5;
    node.y = Math.sin(turn) * far;
  });
  const ideal = 120;
  for (let step = 0; step < STEPS; step += 1) {
    const heat = 22 * (1 - step / STEPS) + 0.4;
    for (const node of nodes) [node.dx, node.dy] = [-node.x * 0.012, -node.y * 0.03];
    for (let i = 0; i < nodes.length; i += 1) {
      for (let j = 0; j < i; j += 1) {
        const [a, b] = [nodes[i], nodes[j]];
        const dx = (a.x - b.x) / 1.5 || 0.01 * (i - j);
        const dy = a.y - b.y || 0.01;
        const push = (ideal * ideal) / Math.max(60, dx * dx + dy * dy);
        a.dx += dx * push * 0.06; a.dy += dy * push * 0.06;
        b.dx -= dx * push * 0.06; b.dy -= dy * push * 0.06;
      }
    }
    for (const { from, to } of edges) {
      const dx = to.x - from.x;
      const dy = to.y - from.y;
      const long = Math.hypot(dx, dy) || 1;
      const wanted = ideal * 0.75 + (from.width + to.width) / 4;
      const pull = ((long - wanted) / long) * 0.12;
      from.dx += dx * pull; from.dy += dy * pull;
      to.dx -= dx * pull; to.dy -= dy * pull;
    }
    for (const node of nodes) {
      const long = Math.hypot(node.dx, node.dy) || 1;
      node.x += (node.dx / long) * Math.min(long, heat);
      node.y += (node.dy / long) * Math.min(long, heat);
    }
  }
}

/** Turns the drawing so that it is widest from left to right, and begins with the first subject on the left. */
function level(nodes) {
  const middle = (axis) => nodes.reduce((sum, node) => sum + node[axis], 0) / nodes.length;
  const [cx, cy] = [middle("x"), middle("y")];
  let [xx, yy, xy] = [0, 0, 0];
  for (const { x, y } of nodes) {
    xx += (x - cx) ** 2; yy += (y - cy) ** 2; xy += (x - cx) * (y - cy);
  }
  const turn = -0.5 * Math.atan2(2 * xy, xx - yy);
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  for (const node of nodes) {
    const [x, y] = [node.x - cx, node.y - cy];
    [node.x, node.y] = [x * cos - y * sin, x * sin + y * cos];
  }
  if (nodes[0].x > 0) for (const node of nodes) [node.x, node.y] = [-node.x, -node.y];
}

/** Moves boxes apart until none overlaps. */
function separate(nodes) {
  for (let round = 0; round < 80; round += 1) {
    let moved = false;
    for (let i = 0; i < nodes.length; i += 1) {
      for (let j = 0; j < i; j += 1) {
        const [a, b] = [nodes[i], nodes[j]];
        const x = (a.width + b.width) / 2 + 14 - Math.abs(a.x - b.x);
        const y = (a.height + b.height) / 2 + 22 - Math.abs(a.y - b.y);
        if (x <= 0 || y <= 0) continue;
        moved = true;
        const sign = (value) => (value < 0 ? -1 : 1);
        if (x < y * 2) {
          const by = (sign(a.x - b.x) * x) / 2;
          a.x += by; b.x -= by;
        } else {
          const by = (sign(a.y - b.y) * y) / 2;
          a.y += by; b.y -= by;
        }
      }
    }
    if (!moved) return;
  }
}

/** Where the line from a node's centre towards (x, y) leaves its box. */
function border(node, x, y) {
  const dx = x - node.x;
  const dy = y - node.y;
  if (!dx && !dy) return [node.x, node.y];
  const scale = Math.min((node.width / 2 + 3) / Math.abs(dx || 1e-9), (node.height / 2 + 3) / Math.abs(dy || 1e-9), 1);
  return [node.x + dx * scale, node.y + dy * scale];
}

function paint(nodes, edges, narrow) {
  const picture = svg("svg", { class: "graph", role: "img", "aria-label": "The evidence as a graph; the table has the same triples" });
  const lines = new Map();
  const pairs = new Map();
  for (const edge of edges) {
    const pair = [edge.from.id, edge.to.id].sort().join("\n");
    const nth = pairs.get(pair) ?? 0;
    pairs.set(pair, nth + 1);
    const [x1, y1] = border(edge.from, edge.to.x, edge.to.y);
    const [x2, y2] = border(edge.to, edge.from.x, edge.from.y);
    const long = Math.hypot(x2 - x1, y2 - y1) || 1;
    // Several triples between two nodes bend apart.
    const bend = nth === 0 ? 0 : (nth % 2 ? 1 : -1) * 18 * Math.ceil(nth / 2);
    const [nx, ny] = [-(y2 - y1) / long, (x2 - x1) / long];
    const [mx, my] = [(x1 + x2) / 2 + nx * bend, (y1 + y2) / 2 + ny * bend];
    const [ux, uy] = [(x2 - mx) / (Math.hypot(x2 - mx, y2 - my) || 1), (y2 - my) / (Math.hypot(x2 - mx, y2 - my) || 1)];
    const head = `M${x2} ${y2}L${x2 - ux * 9 - uy * 4} ${y2 - uy * 9 + ux * 4}L${x2 - ux * 9 + uy * 4} ${y2 - uy * 9 - ux * 4}Z`;
    const control = `${mx + nx * bend} ${my + ny * bend}`;
    const line = svg("g", { class: "edge" },
      svg("path", { d: `M${x1} ${y1}Q${control} ${x2} ${y2}` }),
      svg("path", { class: "arrow", d: head }),
      svg("text", { x: mx, y: my + 3.5 }, short(edge.text, 30)));
    line.append(svg("title", {}, edge.text));
    lines.set(edge.index, line);
    picture.append(line);
  }
  for (const node of nodes) {
    const box = svg("g", { class: `node ${node.kind}`, transform: `translate(${node.x} ${node.y})` });
    if (node.dot) box.append(svg("circle", { r: 7 }));
    else {
      const corner = node.term.literal ? 3 : 14;
      box.append(svg("rect", { x: -node.width / 2, y: -14, width: node.width, height: 28, rx: corner }));
      box.append(svg("text", {}, short(node.text, LABEL)));
    }
    box.append(svg("title", {}, node.text));
    picture.append(box);
  }
  frame(picture, nodes, narrow ? 330 : 760);
  return { picture, lines };
}

function frame(picture, nodes, least) {
  const edge = 26;
  const left = Math.min(...nodes.map((node) => node.x - node.width / 2)) - edge;
  const right = Math.max(...nodes.map((node) => node.x + node.width / 2)) + edge;
  const top = Math.min(...nodes.map((node) => node.y - node.height / 2)) - edge;
  const bottom = Math.max(...nodes.map((node) => node.y + node.height / 2)) + edge;
  // A small graph is not blown up.
  const width = Math.max(right - left, least);
  const height = Math.max(bottom - top, 150);
  const [x, y] = [(left + right - width) / 2, (top + bottom - height) / 2];
  picture.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
}
