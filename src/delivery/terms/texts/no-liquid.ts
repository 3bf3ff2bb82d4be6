/** The rule for texts that are not rendered: they must not contain Liquid, which recipients would see as it is written. */
import type { z } from 'zod';

export const hasLiquid = (text: unknown): boolean => typeof text === 'string' && /\{[{%]/.test(text);

/** @param where the place in words, such as `webhook steps` */
export const noLiquid = (where: string): string => `must not contain Liquid: it is not rendered in ${where}`;

/**
 * Finds Liquid in the texts and names of a JSON value.
 * @returns the path of the first; null if there is none; `deep` if the value is nested deeper than `levels`
 */
export function findLiquid(
  value: unknown,
  levels: number,
  path: readonly (string | number)[] = [],
): (string | number)[] | 'deep' | null {
  if (typeof value !== 'object' || value === null) return hasLiquid(value) ? [...path] : null;
  if (levels < 1) return 'deep';
  const entries: (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  for (const [name, inner] of entries) {
    const found = hasLiquid(name) ? [...path, name] : findLiquid(inner, levels - 1, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}

/** A text that is not rendered. @param where the place in words */
export const withoutLiquid = (schema: z.ZodString, where: string): z.ZodString =>
  schema.refine((text) => !hasLiquid(text), noLiquid(where));

/** Data has fewer levels, which another rule checks. */
const MAX_LEVELS = 50;

/** JSON whose texts are not rendered; errors name the path. @param where the place in words */
export const jsonWithoutLiquid = <Schema extends z.ZodType>(schema: Schema, where: string): Schema =>
  schema.superRefine((value, context) => {
    const found = findLiquid(value, MAX_LEVELS);
    if (Array.isArray(found)) context.addIssue({ code: 'custom', path: found, message: noLiquid(where) });
  });
