/**
 * Marks texts in responses that people outside of the account may have written, such as the replies of mail servers.
 * They may contain instructions, so assistants get them only with the scope for mail of strangers. The marks are not
 * part of the API description.
 */
import { z } from 'zod';

interface Mark {
  /** Whether strangers wrote it, by the object that has the field. */
  when(owner: unknown): boolean;
  /** The fields of a record, at any depth, that strangers wrote; null: the whole value. */
  fields: readonly string[] | null;
}

const marks = z.registry<Mark>();

/**
 * Marks a field of a response as written by strangers. Call it last: other methods of the schema return an unmarked copy.
 * @param options.when decides by the object that has the field; by default always
 * @param options.fields of a record, at any depth; by default the whole value is marked
 */
export function byStrangers<S extends z.ZodType>(schema: S, options: Partial<Mark> = {}): S {
  marks.add(schema, { when: options.when ?? (() => true), fields: options.fields ?? null });
  return schema;
}

/** What stands for a text that is withheld. */
export const WITHHELD = '[withheld]';

/** The reply code of a mail server, and its enhanced status code (RFC 3463). */
const REPLY_CODE = /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?(?=\s|$)/;

/** A value without its marked texts. */
export interface WithoutTexts {
  value: unknown;
  /** The number of marked texts. */
  texts: number;
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Combines what was found in the parts of an object or array. */
function joined(parts: readonly [name: string, found: WithoutTexts][], isArray: boolean): WithoutTexts {
  const texts = parts.reduce((sum, [, found]) => sum + found.texts, 0);
  const values = parts.map(([name, { value }]) => [name, value] as const);
  return { value: isArray ? values.map(([, value]) => value) : Object.fromEntries(values), texts };
}

const mapped = (value: Json | unknown[], find: (name: string, each: unknown) => WithoutTexts): WithoutTexts =>
  joined(
    Object.entries(value).map(([name, each]) => [name, find(name, each)]),
    Array.isArray(value),
  );

/** @param fields null: all texts of the value are withheld */
function withheld(value: unknown, fields: readonly string[] | null): WithoutTexts {
  if (typeof value === 'string') {
    if (fields !== null || value === '') return { value, texts: 0 };
    const code = REPLY_CODE.exec(value)?.[0];
    return { value: code === undefined ? WITHHELD : `${code} ${WITHHELD}`, texts: 1 };
  }
  if (!Array.isArray(value) && !isObject(value)) return { value, texts: 0 };
  return mapped(value, (name, each) => withheld(each, fields?.includes(name) ? null : fields));
}

type Definition = z.core.$ZodTypeDef & {
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  innerType?: z.ZodType;
  valueType?: z.ZodType;
  options?: readonly z.ZodType[];
  in?: z.ZodType;
};

function withoutMarked(schema: z.ZodType, value: unknown, owner: unknown): WithoutTexts {
  const mark = marks.get(schema);
  if (mark) return mark.when(owner) ? withheld(value, mark.fields) : { value, texts: 0 };
  const { shape, element, innerType, valueType, options, in: input } = schema._zod.def as Definition;
  const inner = innerType ?? input;
  if (inner) return withoutMarked(inner, value, owner);
  if (options) {
    // A variant changes nothing in the values of another, whose fields it does not have, except for those they share.
    return options.reduce<WithoutTexts>(
      (found, option) => {
        const next = withoutMarked(option, found.value, owner);
        return { value: next.value, texts: found.texts + next.texts };
      },
      { value, texts: 0 },
    );
  }
  if (Array.isArray(value))
    return element
      ? mapped(value, (_name, each) => withoutMarked(element, each, owner))
      : { value, texts: 0 };
  if (!isObject(value)) return { value, texts: 0 };
  return mapped(value, (name, each) => {
    const field = shape?.[name] ?? valueType;
    return field ? withoutMarked(field, each, value) : { value: each, texts: 0 };
  });
}

/**
 * Replaces the texts of a response that strangers wrote. The codes at the beginning of mail servers' replies stay.
 * @param schema of the response
 */
export const withoutTextsOfStrangers = (schema: z.ZodType, value: unknown): WithoutTexts =>
  withoutMarked(schema, value, null);

/** Whether a response of this schema may have texts of strangers. */
export function mayHaveTextsOfStrangers(schema: z.ZodType, seen = new Set<z.ZodType>()): boolean {
  if (marks.has(schema)) return true;
  // A schema may contain itself.
  if (seen.has(schema)) return false;
  seen.add(schema);
  const { shape, element, innerType, valueType, options, in: input } = schema._zod.def as Definition;
  const parts = [...Object.values(shape ?? {}), element, innerType, valueType, ...(options ?? []), input];
  return parts.some((part) => part !== undefined && mayHaveTextsOfStrangers(part, seen));
}
