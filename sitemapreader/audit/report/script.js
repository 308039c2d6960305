// Filter, search and open the findings, and sort the tables. The report can be read without it.
"use strict";
const tools = document.querySelector(".tools");
if (tools) {
  const findings = [...document.querySelectorAll(".finding")];
  const buttons = [...tools.querySelectorAll("[data-kind]")];
  const [search, openAll, output] = tools.querySelectorAll("#search, #open-all, #shown");
  let kind = "";
  const choose = () => {
    const words = search.value.trim().toLowerCase();
    for (const each of findings) {
      const isOfKind = !kind || each.dataset.kind === kind;
      each.hidden = !isOfKind || !each.textContent.toLowerCase().includes(words);
    }
    for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.kind === kind));
    const shown = findings.filter((each) => !each.hidden).length;
    output.textContent = shown < findings.length ? `${shown} of ${findings.length} findings shown` : "";
  };
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    const finding = target?.closest(".finding");
    if (!finding) return;
    if (finding.hidden) [kind, search.value] = ["", ""];
    choose();
    finding.open = true;
    finding.scrollIntoView();
  };
  for (const each of buttons) each.addEventListener("click", () => { kind = each.dataset.kind; choose(); });
  search.addEventListener("input", choose);
  openAll.addEventListener("click", () => {
    const isOpening = findings.some((each) => !each.hidden && !each.open);
    for (const each of findings) if (!each.hidden) each.open = isOpening;
    openAll.textContent = isOpening ? "Close all" : "Open all";
  });
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => { for (const each of findings) each.open = true; });
  tools.hidden = false;
  reveal();
}

const read = (row, column) => {
  const text = row.cells[column].textContent.trim();
  return /^[<>]?[\d,.]+%?$/.test(text) ? Number.parseFloat(text.replace(/[<>,]/g, "")) : text;
};
const compare = (one, other) =>
  typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(other);
for (const table of document.querySelectorAll(".sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  for (const [column, head] of heads.entries()) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const orders = column ? ["descending", "ascending"] : ["ascending", "descending"];
      const order = head.getAttribute("aria-sort") === orders[0] ? orders[1] : orders[0];
      const sign = order === "ascending" ? 1 : -1;
      for (const each of heads) each.setAttribute("aria-sort", each === head ? order : "none");
      const rows = [...table.tBodies[0].rows].map((row) => [read(row, column), row]);
      rows.sort(([one], [other]) => sign * compare(one, other));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  }
}
