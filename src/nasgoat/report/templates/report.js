"use strict";
// Nothing here is needed to read the report: tables can be sorted, the command can be copied.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const value = (row, i) => {
    const text = row.cells[i].textContent.trim().replace("\u2212", "-").replace("e\u2212", "e-");
    const number = parseFloat(text.replace(/,/g, ""));
    return Number.isNaN(number) ? text : number;
  };
  Array.from(table.tHead.rows[0].cells).forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (a, b) => {
        const x = value(a, i), y = value(b, i);
        // Numbers come first, whichever way they are sorted.
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        const less = typeof x === "number" ? x - y : x.localeCompare(y);
        return down ? -less : less;
      };
      body.append(...Array.from(body.rows).sort(order));
      table.classList.add("sorted");
    });
  });
}
for (const block of document.querySelectorAll("pre.copy")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(block.textContent).then(
      () => { button.textContent = "Copied"; },
      () => { button.textContent = "Copying was refused"; });
  });
  block.after(button);
}
// Beside the chart of a front stands the cell of the point that is hovered over or focused.
for (const front of document.querySelectorAll("div.front")) {
  const cells = Array.from(front.querySelectorAll(".front-cell"));
  const links = Array.from(front.querySelectorAll("svg a"));
  const pick = (target) => {
    if (!cells.some((cell) => "#" + cell.id === target)) return;
    for (const cell of cells) cell.classList.toggle("shown", "#" + cell.id === target);
    for (const link of links) link.classList.toggle("shown", link.getAttribute("href") === target);
  };
  for (const link of links) {
    const target = link.getAttribute("href");
    link.addEventListener("mouseenter", () => pick(target));
    link.addEventListener("focus", () => pick(target));
    link.addEventListener("click", (event) => { event.preventDefault(); pick(target); });
  }
  const knee = front.querySelector("g.square a");
  front.classList.add("picking");
  pick((knee || links[0]).getAttribute("href"));
}
