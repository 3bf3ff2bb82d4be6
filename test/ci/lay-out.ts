/** A piece of SQL that must stay as it is: a string, a quoted name, a comment, or else a single character. */
const PIECES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|[^]/g;
const WIDTH = 120;
/** A line that begins so does not continue the one before it. */
const CLAUSE =
  /^(?:with|prepare|select|insert|update|delete|values|set|from|using|(?:left |cross )*join|where|group by|having|order by|limit|for (?:update|share|no key|key)|on conflict|returning|union|except|intersect|if|end if|\)|,)(?![\w(])/;
/** Where a line that is too long is divided: before a clause, else before `and`, `or` or the next of a list. */
const DIVISIONS = [
  / (?=(?:from|(?:left |cross )?join|where|group by|order by|limit|on conflict|returning|union all|set) )/y,
  / (?=(?:and|or|when|else) )/y,
  /(?<=,) /y,
];

interface Line {
  text: string;
  /** How many parentheses are open where it begins. */
  depth: number;
}

const piecesOf = (text: string) => [...text.matchAll(PIECES)].map(([piece]) => piece);
const stepOf = (piece: string) => Number(piece === '(') - Number(piece === ')');

/** A place where a line may be divided: the rank is that of {@link DIVISIONS}. */
interface Place {
  at: number;
  depth: number;
  rank: number;
}

function placesIn(text: string): Place[] {
  const places: Place[] = [];
  let [at, depth] = [0, 0];
  for (const piece of piecesOf(text)) {
    const rank = piece === ' ' ? DIVISIONS.findIndex((division) => isAt(division, text, at)) : -1;
    if (rank >= 0) places.push({ at, depth, rank });
    depth += stepOf(piece);
    at += piece.length;
  }
  return places;
}

function isAt(division: RegExp, text: string, at: number): boolean {
  division.lastIndex = at;
  return division.test(text);
}

/** Divides a line that is too long, outside of as many parentheses as possible. */
function dividedLine({ text, depth }: Line): Line[] {
  if (2 * depth + text.length <= WIDTH || text.startsWith('--')) return [{ text, depth }];
  const places = placesIn(text);
  const [best] = places.toSorted((one, other) => one.depth - other.depth || one.rank - other.rank);
  if (!best) return [{ text, depth }];
  const alike = places.filter((place) => place.depth === best.depth && place.rank === best.rank);
  // The last place that leaves a first part which fits, or else the first of all.
  const { at } = alike.findLast((place) => 2 * depth + place.at <= WIDTH) ?? best;
  const steps = piecesOf(text.slice(0, at)).map(stepOf);
  const rest = { text: text.slice(at + 1), depth: steps.reduce((sum, step) => sum + step, depth) };
  return [...dividedLine({ text: text.slice(0, at), depth }), ...dividedLine(rest)];
}

/** The lines of a statement, without the white space around them. */
function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let [line, depth, depthOfLine] = ['', 0, 0];
  for (const piece of [...piecesOf(text), '\n']) {
    depth += stepOf(piece);
    if (piece !== '\n') {
      line += piece;
      continue;
    }
    if (line.trim()) lines.push({ text: line.trim(), depth: depthOfLine });
    [line, depthOfLine] = ['', depth];
  }
  return lines;
}

/**
 * Lays a statement out for readers: by its parentheses, in lines of at most 120 characters if they can be divided. Only
 * white space between words changes.
 */
export function layOut(text: string): string {
  const lines = linesOf(text).flatMap(dividedLine);
  return lines
    .map((line) => {
      const closing = /^[)]*/.exec(line.text)?.[0].length ?? 0;
      const continues = CLAUSE.test(line.text) || line.text.startsWith('--') ? 0 : 1;
      return '  '.repeat(Math.max(0, line.depth - closing + continues)) + line.text;
    })
    .join('\n');
}
