// Elements and requests. Text enters the page as text only: there is no way here to insert HTML.

/** An element with attributes, listeners (`onclick`) and children; strings become text. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Replaces the content of a node. */
export const show = (node, ...children) => node.replaceChildren(...children.flat().filter(Boolean));

/** A text of at most `most` characters. */
export const short = (text, most) => {
  const letters = Array.from(text);
  return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text;
};

const TOKEN = "kgagent-token";
/** The open question for a token, which several requests wait for. */
let asking = null;

/** Tries of a request that the server has no room for now. */
const TRIES = 3;

/**
 * A request with the server's token. Asks for the token if the server wants one, and waits if the server
 * says when to come again.
 */
export async function request(path, options = {}) {
  for (let tries = 1; ; tries += 1) {
    const headers = new Headers(options.headers);
    const token = sessionStorage.getItem(TOKEN);
    if (token) headers.set("Authorization", `Bearer ${token}`);
    const response = await fetch(path, { ...options, headers }).catch(unreachable);
    const wait = response.status === 503 && tries < TRIES && Number(response.headers.get("Retry-After"));
    if (wait) {
      await new Promise((done) => setTimeout(done, wait * 1000));
      continue;
    }
    if (response.status !== 401) return response;
    asking ??= askToken().finally(() => { asking = null; });
    sessionStorage.setItem(TOKEN, await asking);
  }
}

/** Browsers differ in what they say when nobody answers. */
function unreachable(error) {
  throw error.name === "AbortError" ? error : new Error("The server does not answer. Ask again when it runs.");
}

function askToken() {
  const dialog = byId("token-dialog");
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(byId("token").value), { once: true });
  });
}

/** The JSON of a request; throws the server's message. */
export async function json(path, options) {
  const response = await request(path, options);
  const value = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(value.error?.message ?? `the server answered ${response.status}`);
  return value;
}

export const inGraph = (graph, part, parameters) =>
  `/api/graphs/${encodeURIComponent(graph)}/${part}?${new URLSearchParams(parameters)}`;

/** The address of an entity in this page. */
export const entityLink = (graph, name) =>
  `#/browse/${encodeURIComponent(graph)}/${encodeURIComponent(name)}`;

export const failure = (error) => el("p", { class: "notice", role: "alert" }, String(error.message ?? error));

/** Offers a file for saving. */
export function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
