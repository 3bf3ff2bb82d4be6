import { MAX_VALUE_NAME, MAX_VALUES, MAX_VALUES_BYTES } from './schema.ts';

/** The names of a template's variables, with sample values. */
export type Samples = Record<string, unknown>;

/** Names that always have a value and need no sample. */
const GIVEN = /^(brand\.|campaign\.|brand$|campaign$|unsubscribe_url$|preferences_url$)/;
const MAX_NAME_PARTS = 10;
/** Bytes of `,null` and of the quotation marks and the colon of a name, as JSON. */
const BYTES_PER_NAME = 8;

/**
 * Adds the names found in a content to the samples of the client, which all stay. Leaves out names that would exceed
 * the limits of a request, so that a client can send the template back.
 */
export function withSamples(found: readonly string[], given: Samples): Samples {
  let count = Object.keys(given).length;
  let bytes = Buffer.byteLength(JSON.stringify(given));
  const added: Samples = {};
  for (const name of found) {
    if (GIVEN.test(name) || Object.hasOwn(given, name) || name.length > MAX_VALUE_NAME) continue;
    bytes += Buffer.byteLength(JSON.stringify(name)) + BYTES_PER_NAME;
    if (bytes > MAX_VALUES_BYTES || count >= MAX_VALUES) break;
    count += 1;
    added[name] = null;
  }
  return { ...added, ...given };
}

/** The first parts of the names that have a sample. */
export function namesWithSample(samples: Samples): string[] {
  const names = Object.keys(samples).filter((name) => samples[name] !== null);
  return [...new Set(names.map((name) => name.split('.', 1)[0] ?? ''))];
}

type Nested = Record<string, unknown>;

const isNested = (value: unknown): value is Nested =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Creates an object without a prototype, so that every name is an ordinary property. */
function bare(value: Nested = {}): Nested {
  return Object.assign(Object.create(null) as Nested, value);
}

/**
 * Turns dotted names into objects: `{"order.total": 5}` becomes `{"order": {"total": 5}}`. Names without a value are
 * left out.
 */
export function nested(samples: Samples): Nested {
  const values = bare();
  for (const [name, value] of Object.entries(samples)) {
    const parts = name.split('.', MAX_NAME_PARTS);
    const last = parts.pop() ?? '';
    if (value === null || value === undefined) continue;
    let inner = values;
    for (const part of parts) {
      const next = inner[part];
      inner = inner[part] = bare(isNested(next) ? next : {});
    }
    const before = inner[last];
    inner[last] = isNested(before) && isNested(value) ? bare({ ...before, ...value }) : value;
  }
  return values;
}

/** The sample contact. */
export const SAMPLE_CONTACT = {
  id: 1,
  uuid: '00000000-0000-4000-8000-000000000001',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '+12025550123',
  source: null,
  country_code: 'GB',
  created_at: '2026-01-01T00:00:00.000Z',
  data: {},
};

/** Returns the sample contact with the client's samples of its fields. */
export function sampleContact(values: Nested): Nested {
  const { contact } = values;
  if (!isNested(contact)) return SAMPLE_CONTACT;
  const data = isNested(contact.data) ? contact.data : {};
  return { ...SAMPLE_CONTACT, ...contact, data };
}
