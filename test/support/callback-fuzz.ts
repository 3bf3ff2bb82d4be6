import { randomFrom } from './random.ts';

const faultyValues: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  '',
  '\0',
  '\ud800',
  'x'.repeat(100_000),
  '9'.repeat(400),
  [],
  {},
  [[[[]]]],
  { toString: 1, length: 1e9 },
  JSON.parse('{"__proto__":{"eventType":"Bounce"},"constructor":1}') as unknown,
  Array.from({ length: 1_000 }, () => null),
];

/** Bodies with some bytes changed, cut off or repeated. */
export function mutatedBytes(body: Buffer, count: number): Buffer[] {
  const random = randomFrom(1);
  return Array.from({ length: count }, () => {
    const at = random(body.length);
    switch (random(3)) {
      case 0: {
        const changed = Buffer.from(body);
        changed[at] = (body[at] ?? 0) ^ (1 + random(255));
        return changed;
      }
      case 1:
        return body.subarray(0, at);
      default:
        return Buffer.concat([body.subarray(0, at), body.subarray(random(body.length))]);
    }
  });
}

/** Copies of a JSON value in which one value, at any depth, was replaced with one of another type or an extreme one. */
export function mutatedJson(original: unknown, count: number): unknown[] {
  const random = randomFrom(2);
  return Array.from({ length: count }, () => {
    const copy = { root: structuredClone(original) };
    let parent = copy as Record<string, unknown>;
    let key = 'root';
    for (let value = parent[key]; typeof value === 'object' && value !== null; value = parent[key]) {
      const keys = Object.keys(value);
      if (keys.length === 0 || random(5) === 0) break;
      parent = value as Record<string, unknown>;
      key = keys[random(keys.length)] ?? '';
    }
    parent[key] = faultyValues[random(faultyValues.length)];
    return copy.root;
  });
}
