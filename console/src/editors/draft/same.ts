import { isObject } from '../../ui/json-text.ts';

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null;

function haveSameItems(one: readonly unknown[], other: readonly unknown[]): boolean {
  return (
    one.length === other.length && one.every((item, index) => isSame(item ?? null, other[index] ?? null))
  );
}

function haveSameFields(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
  return (
    Object.keys(one).every((name) =>
      isSame(one[name], Object.hasOwn(other, name) ? other[name] : undefined),
    ) && Object.keys(other).every((name) => Object.hasOwn(one, name) || other[name] === undefined)
  );
}

/**
 * Whether two values are equal as JSON. The order of names in objects does not count; what is missing is not null.
 * Contents are never changed in place, so parts that are the same object are not looked into.
 */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  if (Array.isArray(one) && Array.isArray(other)) return haveSameItems(one, other);
  if (isObject(one) && isObject(other)) return haveSameFields(one, other);
  // Numbers that JSON cannot express are null.
  return !isNested(one) && !isNested(other) && JSON.stringify(one) === JSON.stringify(other);
}
