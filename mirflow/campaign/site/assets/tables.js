// Tables that are sorted by their heads, and long ones that are cut. Without this script they are whole.

{
  const LONG = 120, SHOWN = 100;

  /** What a cell is sorted by: its time, number or text; null for nothing. */
  function valueOf(cell) {
    const time = cell.querySelector("time"), text = cell.textContent.trim();
    if (time) return time.dateTime;
    if (/^[-–]?$/.test(text)) return null;
    if (cell.tagName === "TH") return text;
    const number = text.replace("−", "-").match(/^\[?([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?=[\s,\]*%–-]|$)/i);
    return number ? Number(number[1]) : /^[+-]?(∞|inf)$/.test(text) ? (text[0] === "-" ? -Infinity : Infinity) : text;
  }

  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });

  for (const table of document.querySelectorAll(".table > table")) {
    const body = table.tBodies[0], heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    const rows = [...(body?.rows ?? [])];
    if (rows.length < 2 || table.tHead?.rows.length !== 1 || rows.some((row) => row.cells.length !== heads.length)) continue;
    let whole = rows.length <= LONG;
    const place = (ordered) => {
      ordered.forEach((row, at) => { row.hidden = !whole && at >= SHOWN; });
      body.append(...ordered);
    };

    const sort = (head, column) => {
      const numeric = rows.some((row) => typeof valueOf(row.cells[column]) === "number");
      const orders = numeric ? ["descending", "ascending", null] : ["ascending", "descending", null];
      const order = orders[(orders.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      if (!order) { place(rows); return; }
      head.setAttribute("aria-sort", order);
      const sign = order === "descending" ? -1 : 1;
      place(rows.map((row) => [valueOf(row.cells[column]), row])
        .sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b))
        .map(([, row]) => row));
    };

    heads.forEach((head, column) => {
      if (!head.textContent.trim() || head.querySelector("a, svg")) return;
      const button = Object.assign(document.createElement("button"), { type: "button", className: "sort" });
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(head, column));
      head.append(button);
    });

    if (whole) continue;
    const more = Object.assign(document.createElement("button"), { type: "button", className: "more" });
    more.textContent = `Show all ${rows.length} rows`;
    more.addEventListener("click", () => {
      whole = true;
      const first = body.rows[SHOWN];
      place([...body.rows]);
      more.remove();
      first.querySelector("a")?.focus();
    });
    place(rows);
    table.parentElement.after(more);
  }
}
