/**
 * The values of headers of webhook steps: sealed in `flow_header_secrets`, and bound to their account, brand and the
 * origin that receives them. Everything else that has steps has their masks, so a mask may be copied within the brand.
 */
import { invalid, type Problems } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { base32 } from '../../platform/secrets/base32.ts';
import { type Keyring, type SealedPlace, UnsealError } from '../../platform/secrets/keyring.ts';
import { mac } from '../../platform/secrets/mac.ts';
import type { NumberedStep } from './number-steps.ts';
import { fieldPath } from './paths.ts';
import { inputsOf } from './read-steps.ts';
import { allSteps, type Step } from './steps/index.ts';
import {
  type Headers,
  headersOf,
  isMasked,
  isPlainSecret,
  mapHeaders,
  mapValues,
  MASK,
  maskOf,
  originOf,
  tagOf,
} from './steps/secret-headers.ts';
import { headerValueProblem, type WebhookStep } from './steps/webhook.ts';

/** Maximum number of values that a brand may store. A value that no step has is deleted after a day. */
const MAX_VALUES = 10_000;
/**
 * Maximum number of values that a brand may have after a test key has added some. A test key can fill up all that it is
 * given within seconds, and live keys must still be able to change flows.
 */
const MAX_VALUES_OF_TEST_KEYS = 5_000;
const TAG_BYTES = 10;

interface StoredValue {
  tag: string;
  origin: string;
  value_sealed: string;
}

function placeOf(
  { accountId, brandId }: BrandScope,
  { tag, origin }: Pick<StoredValue, 'tag' | 'origin'>,
): SealedPlace {
  const row = `${brandId}/${tag}/${origin}`;
  return { table: 'flow_header_secrets', column: 'value_sealed', row, accountId };
}

interface GivenValue {
  origin: string;
  value: string;
}

/**
 * The same value for the same origin has the same tag, so sending it again changes nothing.
 * @returns the tag by the present secret, then those by former ones
 */
function tagsFor(
  keyring: Pick<Keyring, 'accepted'>,
  { accountId, brandId }: BrandScope,
  { origin, value }: GivenValue,
): [string, ...string[]] {
  const content = JSON.stringify([accountId, brandId, origin, value]);
  const tags = keyring.accepted('flow-headers').map(({ key }) => base32(mac(key, content, TAG_BYTES)));
  return tags as [string, ...string[]];
}

/** The mask of a value, whether it is stored or not. */
export function maskFor(keyring: Pick<Keyring, 'accepted'>, scope: BrandScope, given: GivenValue): string {
  return maskOf(given.value, tagsFor(keyring, scope, given)[0]);
}

/** Finds stored values, and prevents their deletion for a day. @returns by their tags */
async function findValues(
  db: Queryable,
  { brandId }: BrandScope,
  tags: readonly string[],
): Promise<Map<string, StoredValue>> {
  if (tags.length === 0) return new Map();
  await db.query(
    `update flow_header_secrets set used_at = now() where (brand_id, tag) in (
       select brand_id, tag from flow_header_secrets
       where brand_id = $1 and tag = any($2) and used_at < now() - interval '1 hour' order by tag for no key update)`,
    [brandId, tags],
  );
  return readValues(db, { brandId }, tags);
}

async function readValues(
  db: Queryable,
  { brandId }: Pick<BrandScope, 'brandId'>,
  tags: readonly string[],
): Promise<Map<string, StoredValue>> {
  const { rows } = await db.query<StoredValue>(
    'select tag, origin, value_sealed from flow_header_secrets where brand_id = $1 and tag = any($2)',
    [brandId, tags],
  );
  return new Map(rows.map((row) => [row.tag, row]));
}

/** @returns the mask of a value that its origin receives */
export type MaskValue = (value: string, origin: string) => string;

/**
 * Stores values of headers, and replaces them by their masks.
 * @param replace does so; it is called twice, because values must be known before their masks are
 * @param max how many values the brand may then have
 * @throws AppError validation_error on `steps` if it would have more
 */
export async function sealValues<T>(
  trx: Queryable,
  keyring: Keyring,
  scope: BrandScope,
  replace: (mask: MaskValue) => T,
  max = MAX_VALUES,
): Promise<T> {
  const given = new Map<string, GivenValue & { tags: [string, ...string[]] }>();
  const keyOf = (value: string, origin: string) => JSON.stringify([origin, value]);
  replace((value, origin) => {
    given.set(keyOf(value, origin), { value, origin, tags: tagsFor(keyring, scope, { origin, value }) });
    return value;
  });
  const known = await findValues(
    trx,
    scope,
    [...given.values()].flatMap(({ tags }) => tags),
  );
  const rows: StoredValue[] = [];
  const masks = new Map<string, string>();
  for (const [key, { value, origin, tags }] of given) {
    const stored = tags.find((each) => known.has(each));
    const tag = stored ?? tags[0];
    masks.set(key, maskOf(value, tag));
    if (stored !== undefined) continue;
    rows.push({ tag, origin, value_sealed: keyring.seal(value, placeOf(scope, { tag, origin })) });
  }
  if (rows.length > 0) await insertValues(trx, scope, rows, max);
  return replace((value, origin) => masks.get(keyOf(value, origin)) ?? value);
}

async function insertValues(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  rows: readonly StoredValue[],
  max: number,
): Promise<void> {
  const { rows: counted } = await trx.query<{ count: number }>(
    'select count(*) from flow_header_secrets where brand_id = $1',
    [brandId],
  );
  if ((counted[0]?.count ?? 0) + rows.length > max) {
    const given = max < MAX_VALUES ? ' if a test key adds some' : '';
    const message =
      `have too many different headers: the flows of a brand can have ${max} together${given}; ` +
      'those that no flow has any more are removed after a day';
    throw invalid({ steps: [message] });
  }
  await trx.query(
    `insert into flow_header_secrets (brand_id, tag, account_id, origin, value_sealed)
     select $1, v.tag, $2, v.origin, v.value_sealed
     from jsonb_to_recordset($3::jsonb) as v (tag text, origin text, value_sealed text) order by v.tag
     on conflict (brand_id, tag) do update set used_at = now()`,
    [brandId, accountId, JSON.stringify(rows)],
  );
}

/** Replaces the values in steps by their masks, and stores them. @throws AppError validation_error */
export function sealHeaders<S extends Step>(
  trx: Queryable,
  keyring: Keyring,
  scope: BrandScope,
  steps: readonly S[],
  max?: number,
): Promise<S[]> {
  const replace = (mask: MaskValue) =>
    mapHeaders(steps, (headers, step) => {
      const origin = originOf(step as Step & WebhookStep);
      return mapValues(headers, (name, value) => (isPlainSecret(name, value) ? mask(value, origin) : value));
    });
  return sealValues(trx, keyring, scope, replace, max);
}

/** How many values a brand may have after a request. */
export const maxValuesFor = ({ actor }: Tenant): number =>
  isTestCaller(actor) ? MAX_VALUES_OF_TEST_KEYS : MAX_VALUES;

const UNKNOWN = 'is masked, and no value with this mask is stored: give the value itself';
const OTHER_URL = 'is masked, and its value was given for a URL of another host: give the value itself';

/** A mask without a tag means the value that the saved step has under the same name. @returns null if it has nothing */
function savedValue(
  saved: ReadonlyMap<number, Step>,
  { id }: NumberedStep,
  name: string,
): { value: string; origin: string } | null {
  const step = saved.get(id);
  const found = Object.entries((step && headersOf(step)) ?? {}).find(
    ([other]) => other.toLowerCase() === name.toLowerCase(),
  );
  return step && found ? { value: found[1], origin: originOf(step as Step & WebhookStep) } : null;
}

/** What is wrong with a stored value, which may come from a draft that nothing has checked. */
function problemOf(keyring: Keyring, scope: BrandScope, stored: StoredValue): string | null {
  try {
    return headerValueProblem(keyring.open(stored.value_sealed, placeOf(scope, stored)));
  } catch (error) {
    if (error instanceof UnsealError) return null;
    throw error;
  }
}

/**
 * Checks the masks in the steps of a request, each of which keeps a stored value.
 * @param saved the steps of the flow
 * @param problems receives an error for each mask that means no value, or for one that another host receives
 * @returns the steps, in which each mask has a tag, or was replaced by a value that is not sealed yet
 */
export async function keepMasked(
  db: Queryable,
  keyring: Keyring,
  scope: BrandScope,
  { saved, given }: { saved: readonly Step[]; given: readonly NumberedStep[] },
  problems: Problems,
): Promise<NumberedStep[]> {
  const paths = new Map(inputsOf(given).map(({ step, path }) => [step, path]));
  const savedSteps = new Map(allSteps(saved).map((step) => [step.id, step]));
  const masks = [...paths.keys()].flatMap((step) => Object.values(headersOf(step) ?? {}).filter(isMasked));
  if (masks.length === 0) return [...given];
  const known = await findValues(
    db,
    scope,
    [...masks, ...allSteps(saved).flatMap((step) => Object.values(headersOf(step) ?? {}))].flatMap(
      (mask) => tagOf(mask) ?? [],
    ),
  );
  return mapHeaders(given, (headers, step) => {
    const origin = originOf(step as NumberedStep & WebhookStep);
    const report = (name: string, message: string) =>
      problems.add({ [fieldPath(paths.get(step) ?? 'steps', `headers.${name}`)]: [message] });
    return mapValues(headers, (name, value) => {
      if (!isMasked(value)) return value;
      const own = value === MASK ? savedValue(savedSteps, step, name) : null;
      const kept = own?.value ?? value;
      const stored = known.get(tagOf(kept) ?? '');
      const keptOrigin = stored?.origin ?? own?.origin;
      if (keptOrigin === undefined || (isMasked(kept) && !stored)) report(name, UNKNOWN);
      else if (keptOrigin !== origin) report(name, OTHER_URL);
      else {
        const problem = stored && problemOf(keyring, scope, stored);
        if (problem) report(name, problem);
      }
      return kept;
    });
  });
}

/** The value of a header is not stored. Another attempt cannot change that. */
export class HeaderMissingError extends Error {}

/**
 * Replaces the masks in the headers of a step by their values, for the request.
 * @throws HeaderMissingError; UnsealError
 */
export async function openHeaders(
  db: Queryable,
  keyring: Pick<Keyring, 'open'>,
  scope: BrandScope,
  step: WebhookStep,
): Promise<Headers> {
  const headers = step.headers ?? {};
  const tags = Object.values(headers).flatMap((value) => tagOf(value) ?? []);
  const known = tags.length > 0 ? await readValues(db, scope, tags) : new Map<string, StoredValue>();
  return mapValues(headers, (name, value) => {
    if (!isMasked(value)) return value;
    const stored = known.get(tagOf(value) ?? '');
    if (!stored || stored.origin !== originOf(step)) {
      throw new HeaderMissingError(`the value of the header ${name} is not stored: set it again`);
    }
    return keyring.open(stored.value_sealed, placeOf(scope, stored));
  });
}
