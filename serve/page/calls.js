// Calls and results of a program as text.
import { el } from "./dom.js";

/** A call with its tool and variables marked. */
export function callLine(call) {
  const parts = call.split(/(\b[a-z_]+(?=\()|\bv\d+\b|\bans\b)/);
  return el("code", {}, parts.map((part, i) => {
    if (i % 2 === 0) return part;
    return el("span", { class: /^(v\d+|ans)$/.test(part) ? "var" : "tool" }, part);
  }));
}

/** A result in one line. */
export function resultText(result) {
  if (result.set) {
    const { size, first } = result.set;
    return size === 0 ? "nothing" : `${size}: ${first.join(", ")}${first.length < size ? ", …" : ""}`;
  }
  if (result.relations) {
    const { out, in: into } = result.relations;
    return `${out.length + into.length} relations`;
  }
  if (result.table) {
    const { size, first } = result.table;
    return `${size} rows: ${first.map((row) => row.join(" | ")).join("; ")}${first.length < size ? "; …" : ""}`;
  }
  if (result.number !== undefined) return String(result.number);
  return result.truth ? "yes" : "no";
}
