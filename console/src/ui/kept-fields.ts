/** What was typed into the fields of a form and is not sent yet: how it is read, kept in the browser, and put back. */
import { isObject, parseJson } from './json-text.ts';

/** The values of a field, and those that it had before the user changed it. Ticks of one name are one field. */
export interface KeptField {
  values: readonly string[];
  base: readonly string[];
}

export type KeptFields = Readonly<Record<string, KeptField>>;

export interface KeptEntry {
  fields: KeptFields;
  /** ms since 1970 */
  at: number;
}

const KEPT_MS = 30 * 86_400_000;

type Input = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** Passwords and codes are never written to a disk, and files cannot be. */
const NEVER_KEPT: ReadonlySet<string> = new Set(['password', 'file', 'submit', 'button', 'reset', 'image']);

function isKeptInput(element: Element): element is Input {
  if (!('name' in element && 'type' in element) || element.name === '') return false;
  if (NEVER_KEPT.has(String(element.type))) return false;
  return element.getAttribute('autocomplete') !== 'one-time-code';
}

const hasTick = (input: Input): input is HTMLInputElement =>
  input.type === 'checkbox' || input.type === 'radio';

const valuesOf = (input: Input): string[] => (hasTick(input) && !input.checked ? [] : [input.value]);

/** What the page gives the field. A hidden one says it in `data-base`. */
function baseOf(input: Input): string[] {
  if (hasTick(input)) return input.defaultChecked ? [input.value] : [];
  if ('options' in input) {
    const options = [...input.options];
    const first = options.find(({ defaultSelected }) => defaultSelected) ?? options[0];
    return first ? [first.value] : [];
  }
  return [input.type === 'hidden' ? (input.dataset.base ?? input.value) : input.defaultValue];
}

const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((value, index) => value === other[index]);

function inputsByName(form: HTMLFormElement): Map<string, Input[]> {
  const inputs = new Map<string, Input[]>();
  for (const input of [...form.elements].filter(isKeptInput)) {
    inputs.set(input.name, [...(inputs.get(input.name) ?? []), input]);
  }
  return inputs;
}

/** Returns the fields that the user has changed. */
export function changedFields(form: HTMLFormElement): KeptFields {
  const fields = [...inputsByName(form)].map(([name, inputs]) => {
    const field = { values: inputs.flatMap(valuesOf), base: inputs.flatMap(baseOf) };
    return [name, field] as const;
  });
  return Object.fromEntries(fields.filter(([, { values, base }]) => !isSameList(values, base)));
}

const labelOf = (input: Input): string => input.labels?.[0]?.textContent.trim() || input.name;

/**
 * Returns the values of a field with what the user changed. Of several ticks, these are the ones that they set or removed;
 * the others are as the page gives them now.
 */
function valuesNow(inputs: readonly Input[], { values, base }: KeptField): readonly string[] {
  if (!inputs.every(({ type }) => type === 'checkbox')) return values;
  const isTicked = (input: Input) =>
    values.includes(input.value) === base.includes(input.value)
      ? baseOf(input).length > 0
      : values.includes(input.value);
  return inputs.filter(isTicked).map(({ value }) => value);
}

/**
 * Puts kept values back. A hidden field takes its own, because a component shows it.
 * @returns whether anything differs from what the page gives, and the labels of fields that someone else has changed since
 */
export function putBack(form: HTMLFormElement, kept: KeptFields): { isChanged: boolean; others: string[] } {
  let isChanged = false;
  const others: string[] = [];
  for (const [name, inputs] of inputsByName(form)) {
    const field = kept[name];
    const base = inputs.flatMap(baseOf);
    const values = field && valuesNow(inputs, field);
    if (!values || isSameList(values, base)) continue;
    isChanged = true;
    if (!isSameList(field.base, base)) others.push(...inputs.slice(0, 1).map(labelOf));
    for (const input of inputs) {
      if (hasTick(input)) input.checked = values.includes(input.value);
      else if (input.type !== 'hidden') input.value = values[0] ?? '';
    }
  }
  return { isChanged, others };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

const isField = (value: unknown): value is KeptField =>
  isObject(value) && isTexts(value.values) && isTexts(value.base);

/** Reads an entry of this browser. @returns null if there is none, or if it is too old */
export function readEntry(text: string | null, now: number): KeptEntry | null {
  const parsed = parseJson(text ?? '');
  const entry = 'value' in parsed ? parsed.value : null;
  if (!isObject(entry) || typeof entry.at !== 'number' || entry.at < now - KEPT_MS) return null;
  if (!isObject(entry.fields)) return null;
  const fields = Object.entries(entry.fields).flatMap(([name, field]) =>
    isField(field) ? [[name, field] as const] : [],
  );
  return fields.length === 0 ? null : { fields: Object.fromEntries(fields), at: entry.at };
}
