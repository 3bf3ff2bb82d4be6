/** Reads the fields X-Carillon-…, with which a mail says what only a request to the API can say otherwise. */
import { SubmissionRefusal } from '../../delivery/wire/submission/port.ts';
import { createNameFinder } from '../../platform/input/nearest-name.ts';
import { exceededBound } from '../../platform/json/shape.ts';
import type { SubmittedFields } from './fields.ts';

/** As in a request, but not checked. */
export interface OwnFields {
  tags: Record<string, string>;
  template_id?: number;
  variables?: unknown;
  scheduled_at?: string;
  tracking: { opens?: boolean; clicks?: boolean };
  idempotencyKey: string | null;
}

const TAG = 'tag-';
const MAX_KEY = 128;
const PRINTABLE = /^[ -~]+$/;

const refused = (name: string, problem: string) =>
  new SubmissionRefusal(554, '5.6.0', `validation_error: X-Carillon-${name}: ${problem}`);

function templateId(value: string): number {
  if (!/^[1-9]\d{0,14}$/.test(value)) throw refused('Template', 'must be the id of a template');
  return Number(value);
}

function variablesIn(value: string): unknown {
  if (exceededBound(Buffer.from(value)) !== null)
    throw refused('Variables', 'is too large, or nested too deeply');
  try {
    return JSON.parse(value);
  } catch {
    throw refused('Variables', 'must be a JSON object');
  }
}

function keyIn(value: string): string {
  if (value.length <= MAX_KEY && PRINTABLE.test(value)) return value;
  throw refused('Idempotency-Key', `must have 1 to ${MAX_KEY} printable ASCII characters`);
}

function yesOrNo(name: string, value: string): boolean {
  if (value === 'yes' || value === 'no') return value === 'yes';
  throw refused(name, 'must be yes or no');
}

const readers: Readonly<Record<string, (value: string, into: OwnFields) => void>> = {
  Template: (value, into) => (into.template_id = templateId(value)),
  Variables: (value, into) => (into.variables = variablesIn(value)),
  'Send-At': (value, into) => (into.scheduled_at = value),
  'Idempotency-Key': (value, into) => (into.idempotencyKey = keyIn(value)),
  'Track-Opens': (value, into) => (into.tracking.opens = yesOrNo('Track-Opens', value)),
  'Track-Clicks': (value, into) => (into.tracking.clicks = yesOrNo('Track-Clicks', value)),
};
const names = new Map(Object.keys(readers).map((name) => [name.toLowerCase(), name]));
const nearestName = createNameFinder([...names.values(), 'Tag-']);

/** @throws SubmissionRefusal that names the field */
export function readOwnFields(own: SubmittedFields['own']): OwnFields {
  const into: OwnFields = { tags: {}, tracking: {}, idempotencyKey: null };
  const seen = new Set<string>();
  for (const { name, value } of own) {
    if (seen.has(name)) throw refused(name, 'is given twice');
    seen.add(name);
    const known = names.get(name);
    if (known !== undefined) readers[known]?.(value, into);
    else if (name.startsWith(TAG) && name !== TAG) into.tags[name.slice(TAG.length)] = value;
    else {
      const near = nearestName(name);
      throw refused(name, `is not known${near === null ? '' : `; did you mean X-Carillon-${near}?`}`);
    }
  }
  return into;
}
