/** Reads robots.txt files (RFC 9309) within limits, and decides what their rules allow. */

/** Maximum number of rules to read for one robot. Large websites have a few hundred. */
const MAX_RULES = 1_000;
/** Maximum number of characters in a line; longer lines are ignored. */
const MAX_LINE = 1_000;

export interface RobotsRule {
  allow: boolean;
  /** The start of a path: `*` matches any characters, a final `$` the end of the URL. */
  pattern: string;
}

const LINE_END = /\r\n|\r|\n/;
const LINE = /^\s*([a-z-]{1,20})\s*:([^#]*)/i;
const PRODUCT = /^(?:\*|[\w-]+)/;

/** Splits a line into its name and value, without comments. */
function* linesOf(text: string): Generator<[name: string, value: string]> {
  for (const line of text.replace(/^\ufeff/, '').split(LINE_END)) {
    const [, name, value] = (line.length <= MAX_LINE && LINE.exec(line)) || [];
    if (name !== undefined && value !== undefined) yield [name.toLowerCase(), value.trim()];
  }
}

/** Normalizes percent-encoding to the form that URLs have, so that both can be compared. */
function normalized(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (encoded) => encoded.toUpperCase());
}

function patternOf(value: string): string {
  return normalized(encodeURI(value.toWellFormed()).replaceAll('%25', '%'));
}

/**
 * Reads the groups that name one of the robots.
 * @returns the rules by robot
 */
function readGroups(text: string, wanted: readonly string[]): Map<string, RobotsRule[]> {
  const groups = new Map<string, RobotsRule[]>();
  let named: RobotsRule[][] = [];
  let isInRules = false;
  for (const [name, value] of linesOf(text)) {
    if (name === 'user-agent') {
      if (isInRules) named = [];
      isInRules = false;
      const [product = ''] = PRODUCT.exec(value.toLowerCase()) ?? [];
      if (!wanted.includes(product)) continue;
      const rules = groups.get(product) ?? [];
      groups.set(product, rules);
      named.push(rules);
    } else if (name === 'allow' || name === 'disallow') {
      isInRules = true;
      if (value === '') continue;
      const rule = { allow: name === 'allow', pattern: patternOf(value) };
      for (const rules of named) if (rules.length < MAX_RULES) rules.push(rule);
    }
  }
  return groups;
}

/**
 * Reads the rules for a robot: those of the groups that name it, else those for all robots.
 * @param agent its product token, such as `Carillon-Brand`
 * @returns at most 1,000 rules, the longest first: the first one that matches a URL decides
 */
export function readRobots(text: string, agent: string): RobotsRule[] {
  const own = agent.toLowerCase();
  const groups = readGroups(text, [own, '*']);
  const rules = groups.get(own) ?? groups.get('*') ?? [];
  return rules.sort(
    (one, other) => other.pattern.length - one.pattern.length || Number(other.allow) - Number(one.allow),
  );
}

/** Matches each part of the pattern at its first occurrence, so that no position is tried twice. */
function matches(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith('$');
  const [start = '', ...parts] = (isWhole ? pattern.slice(0, -1) : pattern).split('*');
  if (!path.startsWith(start)) return false;
  const end = isWhole ? parts.pop() : undefined;
  let at = start.length;
  for (const part of parts) {
    const found = path.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  if (!isWhole) return true;
  return end === undefined ? at === path.length : path.length - end.length >= at && path.endsWith(end);
}

/** @param rules from {@link readRobots}, for the URL's origin */
export function isAllowed(rules: readonly RobotsRule[], url: string): boolean {
  const { pathname, search } = new URL(url);
  const path = normalized(pathname + search);
  return rules.find(({ pattern }) => matches(pattern, path))?.allow ?? true;
}
