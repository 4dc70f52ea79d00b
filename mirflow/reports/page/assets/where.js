/** Expressions over the coordinates of tracks, as `--where` takes them. */

/** What is wrong with an expression, and from which to which character. */
export class ExpressionError extends Error {
  constructor(message, { from, to }) {
    super(message);
    Object.assign(this, { from, to });
  }
}

const TOKEN = /\s*(?:(?<number>\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(?<word>[\p{L}_][\p{L}\p{N}_]*)|(?<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?<sign>==|!=|<=|>=|[<>()[\]{},+-]))/uy;
const ESCAPES = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", a: "\x07" };
const DEEPEST = 100;
/** Characters of an expression, as in selection.py. */
export const LONGEST = 10_000;
/** Words that are no names in an expression. */
const KEYWORDS = new Set(["and", "or", "not", "in", "is", "None", "True", "False", "if", "else", "for", "from", "class", "def", "import", "lambda", "with", "as", "pass", "return", "while", "global", "col"]);
const CLOSING = { "(": ")", "[": "]", "{": "}" };
const TESTS = { "==": (a, b) => a === b, "!=": (a, b) => a !== b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };

const unquoted = (text) => text.slice(1, -1).replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/gu, (all, x, u, long, one) =>
  (one === undefined ? String.fromCodePoint(parseInt(x ?? u ?? long, 16)) : ESCAPES[one] ?? (/['"\\]/.test(one) ? one : all)));

function tokensOf(text) {
  const tokens = [];
  const end = text.trimEnd().length;
  for (let at = 0; at < end;) {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) {
      const from = at + text.slice(at).search(/\S/);
      const sign = text[from];
      throw new ExpressionError(sign === "=" ? "equality is ==" : "'\"".includes(sign) ? "the text has no second quote" :
        "not part of an expression; there are names, texts in quotes, numbers, comparisons, and, or, not, in", { from, to: from + 1 });
    }
    const [kind, value] = Object.entries(found.groups).find(([, own]) => own !== undefined);
    tokens.push({ kind, value, from: TOKEN.lastIndex - value.length, to: TOKEN.lastIndex });
    at = TOKEN.lastIndex;
  }
  return [...tokens, { kind: "end", value: "", from: end, to: end }];
}

class Parser {
  constructor(text) {
    this.tokens = tokensOf(text);
    this.at = 0;
    this.depth = 0;
  }

  get next() {
    return this.tokens[this.at];
  }

  /** Take the next token if it is a word or sign. */
  take(value) {
    const found = this.next.kind !== "text" && this.next.value === value && this.next.kind !== "end";
    this.at += found;
    return found;
  }

  fail(message, token = this.next) {
    throw new ExpressionError(token.kind === "end" ? "the expression is not complete" : message, token);
  }

  whole() {
    const tree = this.joined("or");
    if (this.next.kind !== "end") this.fail("not expected here; write like genre == 'Rock' and year < 1980");
    return tree;
  }

  joined(word) {
    const part = () => (word === "or" ? this.joined("and") : this.negated());
    const parts = [part()];
    while (this.take(word)) parts.push(part());
    return parts.length > 1 ? { kind: word, parts, from: parts[0].from, to: parts.at(-1).to } : parts[0];
  }

  negated() {
    const { from } = this.next;
    if (!this.take("not")) return this.compared();
    const of = this.nested(() => this.negated());
    return { kind: "not", of, from, to: of.to };
  }

  compared() {
    const sides = [this.value()];
    const signs = [];
    for (let sign = this.sign(); sign; sign = this.sign()) {
      signs.push(sign);
      sides.push(this.value());
    }
    return signs.length ? { kind: "compare", signs, sides, from: sides[0].from, to: sides.at(-1).to } : sides[0];
  }

  sign() {
    const one = Object.keys(TESTS).find((own) => this.take(own));
    if (one) return one;
    if (this.take("in")) return "in";
    if (this.take("is")) return this.take("not") ? "is not" : "is";
    return this.take("not") ? this.take("in") ? "not in" : this.fail("“in” is expected here") : null;
  }

  value() {
    const token = this.next;
    const { kind, value, from } = token;
    this.at += kind !== "end";
    const node = (rest) => ({ ...rest, from, to: this.tokens[this.at - 1].to });
    if (kind === "number") return node({ kind: "constant", value: Number(value.replaceAll("_", "")) });
    if (kind === "text") return node({ kind: "constant", value: unquoted(value) });
    if (value === "-" || value === "+") {
      const number = this.nested(() => this.value());
      if (typeof number.value !== "number") this.fail("only a number can have a sign", number);
      return node({ kind: "constant", value: value === "-" ? -number.value : number.value });
    }
    if (value in CLOSING) return node(this.nested(() => this.list(value)));
    if (value === "None") return node({ kind: "none" });
    if (value === "True" || value === "False") return node({ kind: "constant", value: value === "True" });
    if (kind !== "word" || (KEYWORDS.has(value) && value !== "col")) this.fail("a name, a text in quotes or a number is expected here", token);
    if (!this.take("(")) return node({ kind: "name", name: value });
    const name = this.next;
    if (value !== "col" || name.kind !== "text") this.fail("only col('a name') can be called", token);
    this.at += 1;
    if (!this.take(")")) this.fail("“)” is expected here");
    return node({ kind: "name", name: unquoted(name.value) });
  }

  /** What is in brackets: a list, or, in round ones without a comma, one part of the expression. */
  list(open) {
    const items = [];
    let commas = 0;
    while (!this.take(CLOSING[open])) {
      if (items.length > commas) this.fail(`“,” or “${CLOSING[open]}” is expected here`);
      items.push(this.joined("or"));
      commas += this.take(",");
    }
    return open === "(" && items.length === 1 && !commas ? items[0] : { kind: "list", items };
  }

  nested(make) {
    this.depth += 1;
    if (this.depth > DEEPEST) this.fail("nested too deeply");
    const made = make();
    this.depth -= 1;
    return made;
  }
}

/** Read an expression; the nodes of the tree know their places in the text. */
export function parse(text) {
  if (text.length > LONGEST) throw new ExpressionError(`an expression has at most ${LONGEST} characters`, { from: LONGEST, to: text.length });
  return new Parser(text).whole();
}

const fail = (node, message) => { throw new ExpressionError(message, node); };

/** A side of a comparison: whether it is text, and its value of a track, null where there is none. */
function sideOf(node, columns) {
  if (node.kind === "constant") return { text: typeof node.value === "string", of: () => (typeof node.value === "boolean" ? Number(node.value) : node.value) };
  if (node.kind !== "name") return fail(node, "not a value; compare names, texts and numbers");
  const own = columns.get(node.name) ?? fail(node, "no coordinate of this name");
  const { values, kind } = own;
  if (kind === "truth") return { text: false, truth: true, of: (track) => Number(values[track] === "True") };
  return { text: kind === "text", of: (track) => (values[track] === "" || Number.isNaN(values[track]) ? null : values[track]) };
}

function alike(one, other, left, right) {
  if (one.text !== other.text) fail(one.text ? left : right, "text, which cannot be compared with a number");
}

function comparison(sign, left, right, columns) {
  const one = sideOf(left, columns);
  if (sign.startsWith("is")) {
    if (right.kind !== "none") fail(right, "only None can follow “is”; write ==");
    return (track) => (one.of(track) === null) === (sign === "is");
  }
  if (sign.endsWith("in") && right.kind === "list") {
    const items = right.items.map((item) => [item, sideOf(item, columns)]);
    items.forEach(([item, own]) => alike(one, own, left, item));
    return (track) => one.of(track) !== null && items.some(([, own]) => own.of(track) === one.of(track)) === (sign === "in");
  }
  const other = sideOf(right, columns);
  if (sign.endsWith("in") && !(one.text && other.text)) fail(right, "neither a list nor a text; write like year in [1971, 1972]");
  if (!sign.endsWith("in")) alike(one, other, left, right);
  const test = TESTS[sign] ?? ((a, b) => b.includes(a) === (sign === "in"));
  return (track) => {
    const [a, b] = [one.of(track), other.of(track)];
    return a !== null && b !== null && test(a, b);
  };
}

/**
 * A function that says of a track, by its position, whether an expression holds.
 * @param {any} node of `parse`
 * @param {Map<string, {values: any[], kind: "text"|"number"|"truth"}>} columns
 * @returns {(track: number) => boolean}
 */
export function compile(node, columns) {
  if (node.kind === "and" || node.kind === "or") {
    const parts = node.parts.map((part) => compile(part, columns));
    return node.kind === "and" ? (track) => parts.every((part) => part(track)) : (track) => parts.some((part) => part(track));
  }
  if (node.kind === "not") {
    const of = compile(node.of, columns);
    return (track) => !of(track);
  }
  if (node.kind === "compare") {
    const parts = node.signs.map((sign, at) => comparison(sign, node.sides[at], node.sides[at + 1], columns));
    return (track) => parts.every((part) => part(track));
  }
  if (node.kind === "name" || typeof node.value === "boolean") {
    const own = sideOf(node, columns);
    if (own.truth || node.kind === "constant") return (track) => own.of(track) === 1;
  }
  return fail(node, "not a condition; compare it with a value");
}

/** The name of a coordinate as an expression has them. */
export const spelled = (name) => (/^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name) ? name : `col(${JSON.stringify(name)})`);

/** The conditions that must all hold. */
export const conjuncts = (node) => (node.kind === "and" ? node.parts.flatMap(conjuncts) : [node]);

/** The coordinate and values of a condition that asks for some values, "" for none; null for other conditions. */
export function valuesOf({ kind, signs = [], sides = [], parts = [] }) {
  if (kind === "or") {
    const all = parts.map(valuesOf);
    return all.every((one) => one && one[0] === all[0][0]) ? [all[0][0], [...new Set(all.flatMap(([, values]) => values))]] : null;
  }
  if (kind !== "compare" || signs.length > 1 || sides[0].kind !== "name") return null;
  const [{ name }, right] = sides;
  const items = signs[0] === "==" ? [right] : signs[0] === "in" && right.kind === "list" ? right.items : [];
  if (signs[0] === "is") return [name, [""]];
  return items.length && items.every((item) => item.kind === "constant" && item.value !== "") ? [name, items.map(({ value }) => value)] : null;
}

/** The coordinate of a condition that asks for a range with both ends in it, and the ends; null for other conditions. */
export function rangeOf({ kind, signs = [], sides = [] }) {
  const way = signs[0];
  if (kind !== "compare" || !["<=", ">="].includes(way) || signs.some((sign) => sign !== way)) return null;
  const ordered = way === "<=" ? sides : sides.toReversed();
  const at = ordered.findIndex((side) => side.kind === "name");
  const ends = [ordered[at - 1], ordered[at + 1]];
  if (at < 0 || ends.some((end) => end && typeof end.value !== "number") || ordered.length > 2 && at !== 1) return null;
  return [ordered[at].name, ...ends.map((end) => end?.value ?? null)];
}
