// A text field that completes entities while one types.
import { byId, el, inGraph, json, show } from "./dom.js";

const DELAY = 120;

/**
 * `part(text, cursor)` gives the text to complete, or "" for nothing; `chosen(entity)` takes the choice.
 */
export function combo(inputId, listId, graph, part, chosen) {
  const input = byId(inputId);
  const list = byId(listId);
  let found = [];
  let at = -1;
  let timer = 0;
  let asked = 0;

  const close = () => {
    asked += 1;
    found = [];
    at = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const mark = (next) => {
    at = next;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    if (at >= 0) {
      input.setAttribute("aria-activedescendant", `${listId}-${at}`);
      list.children[at].scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  };
  const take = (i) => {
    const entity = found[i];
    close();
    chosen(entity);
  };
  const complete = async () => {
    const text = part(input.value, input.selectionStart ?? input.value.length);
    if (text.length < 2) return close();
    const mine = ++asked;
    try {
      const { results } = await json(inGraph(graph(), "search", { q: text, limit: 8 }));
      if (mine !== asked || document.activeElement !== input) return;
      found = results;
    } catch {
      return close();
    }
    if (!found.length) return close();
    const what = (one) => [one.matched !== one.label ? one.matched : "", one.classes[0] ?? ""].filter(Boolean).join(" · ");
    show(list, found.map((one, i) =>
      el("li", { id: `${listId}-${i}`, role: "option", "aria-selected": "false",
        onpointerdown: (event) => { event.preventDefault(); take(i); } },
      el("b", {}, one.label ?? one.name), el("span", { class: "what" }, what(one)))));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(-1);
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(complete, DELAY);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown") mark((at + 1) % found.length);
    else if (event.key === "ArrowUp") mark(at > 0 ? at - 1 : found.length - 1);
    else if (event.key === "Escape") close();
    else if (event.key === "Enter" && at >= 0) take(at);
    else if (event.key === "Tab" && at >= 0) take(at);
    else return;
    event.preventDefault();
  });
  return { close: () => { clearTimeout(timer); close(); } };
}
