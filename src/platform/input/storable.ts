import { isFull, type ValidationErrors } from '../../errors.ts';

/** @returns the part of the string that PostgreSQL cannot store as text or jsonb; null if it can store the string */
function unstorable(text: string): string | null {
  if (text.includes('\u0000')) return 'the character NUL';
  return text.isWellFormed() ? null : 'half a surrogate pair';
}

/** @returns what is wrong with a field's name, worded to follow the name; null if nothing is */
function nameProblem(name: string): string | null {
  // JavaScript treats this name specially, so the field would be lost.
  if (name === '__proto__') return 'must not have the name __proto__';
  const part = unstorable(name);
  return part && `must not have ${part} in its name`;
}

/**
 * Finds strings and object keys that no column can store, up to the maximum number of reported problems.
 * @param value parsed JSON, not too deep
 * @param path of `value`, dotted
 * @param errors receives the problems
 */
export function findUnstorable(value: unknown, path: string, errors: ValidationErrors): void {
  if (typeof value === 'string') {
    const part = unstorable(value);
    if (part) errors[path === '' ? 'body' : path] = [`must not contain ${part}`];
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      if (isFull(errors)) return;
      const problem = nameProblem(key);
      const name = problem ? JSON.stringify(key) : key;
      const at = path === '' ? name : `${path}.${name}`;
      if (problem) errors[at] = [problem];
      findUnstorable(inner, at, errors);
    }
  }
}
