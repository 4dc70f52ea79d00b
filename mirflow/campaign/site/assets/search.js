// Search over systems, evaluations and tracks. Without this script its field leads to the page of all of them.

{
  const MOST = 12, NEAR = 5, LIKE = 0.3;
  const KINDS = ["evaluation", "system", "track"];
  const form = document.querySelector("form.search");
  const field = form.elements.q, list = form.querySelector("[role=listbox]"), status = form.querySelector("[role=status]");
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  let pages = null, loading = null, chosen = -1;

  /** The pages of the index, which is loaded at the first search. */
  function load() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = form.dataset.index;
      script.onload = () => {
        const { groups, left } = globalThis.searchIndex;
        pages = groups.flatMap(([kind, where, before, after, names]) => names.map((given) => {
          const [name, own = given, words = ""] = typeof given === "string" ? [given] : given;
          return { kind, name, where, words, url: new URL(before + own + after, script.src).href, key: fold(name),
            text: fold(`${name} ${words} ${where} ${kind}`) };
        }));
        pages.left = Object.entries(left).map(([kind, count]) => `${count} ${kind}s are not in this search.`).join(" ");
        resolve();
      };
      script.onerror = () => { loading = null; reject(new Error("The index of the search cannot be loaded.")); };
      document.head.append(script);
    });
    return loading;
  }

  function find(query) {
    const words = query.split(/\s+/).filter(Boolean);
    // Only characters of the syntax may be escaped.
    const begin = new RegExp(`(^|[^\\p{L}\\p{N}])${query.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}`, "u");
    // 0 for the whole name of a page, 3 for a place within words.
    const grade = ({ key, text }) => key === query ? 0 : key.startsWith(query) ? 1 : begin.test(text) ? 2 : 3;
    return pages.filter((page) => words.every((word) => page.text.includes(word)))
      .map((page) => [grade(page), KINDS.indexOf(page.kind), page])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , page]) => page);
  }

  const pairs = (text) => new Set(Array.from({ length: text.length + 1 }, (_, at) => ` ${text} `.slice(at, at + 2)));

  /** Pages with names like a text, by the pairs of letters that they share (Dice 1945). */
  function nearest(text) {
    const own = pairs(fold(text));
    return pages.map((page) => {
      const other = page.pairs ??= pairs(page.key);
      return [2 * [...own].filter((pair) => other.has(pair)).length / (own.size + other.size), page];
    }).filter(([share]) => share > LIKE).sort((a, b) => b[0] - a[0]).slice(0, NEAR).map(([, page]) => page);
  }

  function link(page, properties = {}) {
    const made = Object.assign(document.createElement("a"), { href: page.url, ...properties });
    const about = document.createElement("small");
    about.textContent = [page.kind, page.words, page.where].filter(Boolean).join(", ");
    made.append(page.name, " ", about);
    return made;
  }

  function choose(at) {
    chosen = at;
    [...list.children].forEach((one, number) => one.setAttribute("aria-selected", String(number === at)));
    field.setAttribute("aria-activedescendant", list.children[at]?.id ?? "");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  function close() {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    choose(-1);
  }

  async function show() {
    try { await load(); } catch (error) { status.textContent = error.message; return; }
    const query = fold(field.value.trim());
    const found = query ? find(query) : [], near = query && !found.length ? nearest(query) : [];
    const shown = found.length ? found.slice(0, MOST) : near;
    list.replaceChildren(...shown.map((page, at) => link(page, { role: "option", id: `found-${at}`, tabIndex: -1 })));
    status.textContent = !query ? "" : [found.length > MOST ? `${MOST} of ${found.length} pages.`
      : found.length ? `${found.length} page${found.length > 1 ? "s" : ""}.`
        : near.length ? "No page has this name. The nearest:" : "No page has this name.", pages.left].join(" ").trim();
    list.hidden = !shown.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
    choose(shown.length ? 0 : -1);
  }

  field.addEventListener("input", show);
  field.addEventListener("focus", () => { load().catch(() => {}); if (field.value) show(); });
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const count = list.children.length;
    if (event.key === "Escape") {
      if (list.hidden) field.value = "";
      status.textContent = "";
      close();
    } else if (event.key === "Enter" && !list.hidden && chosen >= 0) list.children[chosen].click();
    else if (event.key === "ArrowDown" && count) choose((chosen + 1) % count);
    else if (event.key === "ArrowUp" && count) choose((chosen - 1 + count) % count);
    else return;
    event.preventDefault();
  });
  form.addEventListener("focusout", (event) => {
    if (form.contains(event.relatedTarget)) return;
    status.textContent = "";
    close();
  });
  list.addEventListener("mousedown", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    event.preventDefault();
    field.focus();
    field.select();
  });

  // The page of what was not found lists the names that are like the last one in its address.
  const guesses = document.getElementById("guesses");
  if (guesses) load().then(() => {
    let asked = location.pathname.replace(/index\.html$/, "").split("/").filter(Boolean).at(-1) ?? "";
    try { asked = decodeURIComponent(asked.replace(/~(?=[\dA-F]{2})/g, "%")); } catch { /* It stays as it is. */ }
    const found = find(fold(asked)).slice(0, NEAR), near = found.length ? found : nearest(asked);
    guesses.hidden = !asked || !near.length;
    guesses.querySelector("ul").replaceChildren(...near.map((page) => {
      const item = document.createElement("li");
      item.append(link(page));
      return item;
    }));
  }, () => {});

  // A search without this script, and a link to a search, come with the text in the address.
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    field.value = asked;
    field.focus();
  }
}
