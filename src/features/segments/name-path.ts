/**
 * Names of filters that lead to a value in JSON: `data.address.city`. A key with a dot is written as `data.utm\.source`,
 * or in quotes, as in Liquid: `data["utm.source"]`.
 */

/** A backslash in quotes stands for the character after it. */
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const END = String.raw`(?=[.\[]|$)`;
/** A bracket that does not contain a text in quotes is a part of the key, as is a quote inside of it. */
const PLAIN = String.raw`(?:\\\.|(?!\[(?:${QUOTED})\]${END})[^.])*`;
const part = new RegExp(`\\[(${QUOTED})\\]${END}|(?:^|[.])(${QUOTED})${END}|(?:^|[.])(${PLAIN})`, 'suy');

const unquote = (text: string): string => text.slice(1, -1).replaceAll(/\\(.)/gsu, '$1');

/**
 * Splits a name, or the rest of one, into its keys.
 * @returns null if the name cannot be read, such as `data."a"[0]`
 */
export function keysOfName(name: string): string[] | null {
  const keys: string[] = [];
  part.lastIndex = 0;
  while (part.lastIndex < name.length || keys.length === 0) {
    const before = part.lastIndex;
    const [all, inBrackets, quoted, plain] = part.exec(name) ?? [];
    // After a key, something must follow: a dot or a bracket.
    if (all === undefined || (all === '' && name !== '')) return null;
    const text = inBrackets ?? quoted;
    keys.push(text === undefined ? (plain ?? '').replaceAll(String.raw`\.`, '.') : unquote(text));
    if (part.lastIndex === before) break;
  }
  return keys;
}

/** SQL for a key as a part of a name. Quotes would also be read as such at the beginning of a key. */
export const namedKeySql = (key: string): string => `replace(${key}, '.', '\\.')`;

/** A name that leads to the keys, for messages. Keys with quotes or brackets are written in quotes. */
export const nameOfKeys = (root: string, keys: readonly string[]): string =>
  root +
  keys
    .map((key) =>
      /["'[\\]/.test(key) ? `[${JSON.stringify(key)}]` : `.${key.replaceAll('.', String.raw`\.`)}`,
    )
    .join('');
