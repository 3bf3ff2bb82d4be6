/**
 * Headers of webhook steps whose values are secret. In memory, in responses and in drafts, steps have masks in visit of
 * the values, which are sealed in `flow_header_secrets` (see `../header-secrets.ts`).
 */
import { mapBranches } from './index.ts';
import type { AnyStep } from './step.ts';
import type { WebhookStep } from './webhook.ts';

/** The beginning of each mask. HTTP does not allow these characters in a header. */
export const MASK = '••••';
/** A mask with the tag of a stored value. */
const TAGGED = /^••••(?:[\x21-\x7e]{4})?#([a-z2-7]{16})$/;

/** Headers that say how to answer, and not who asks. */
const HARMLESS = new Set([
  ...['accept', 'accept-charset', 'accept-language', 'cache-control', 'content-language', 'date', 'pragma'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-unmodified-since', 'prefer', 'priority', 'range'],
]);

/** Of a shorter secret, four characters would be too much. */
const MIN_TO_SHOW_END = 24;

export const isMasked = (value: string): boolean => value.startsWith(MASK);

/** The tag in a mask; null if it has none. */
export const tagOf = (value: string): string | null => TAGGED.exec(value)?.[1] ?? null;

/** Whether a header of a step has a value that no response may show. */
export const isPlainSecret = (name: string, value: unknown): value is string =>
  typeof value === 'string' && value !== '' && !isMasked(value) && !HARMLESS.has(name.toLowerCase());

/** The mask of a value. The end of a long one is shown; that of Basic credentials would be the end of a password. */
export function maskOf(value: string, tag: string): string {
  const secret = value.slice(value.lastIndexOf(' ') + 1);
  const isShown =
    secret.length >= MIN_TO_SHOW_END && /^[\x21-\x7e]+$/.test(secret) && !/^basic /i.test(value);
  return `${MASK}${isShown ? secret.slice(-4) : ''}#${tag}`;
}

/** The origin that receives the headers of a step; empty if its URL is not usable. */
export function originOf({ url }: { url?: unknown }): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : null;
  return parsed?.protocol === 'https:' || parsed?.protocol === 'http:' ? parsed.origin : '';
}

export type Headers = Readonly<Record<string, string>>;

/** The headers of a webhook step; null if it is another one, or has none. */
export const headersOf = (step: AnyStep): Headers | null =>
  step.type === 'webhook' ? ((step as WebhookStep).headers ?? null) : null;

/** Replaces the values of headers. */
export const mapValues = (headers: Headers, change: (name: string, value: string) => string): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, change(name, value)]));

/** Replaces the headers of all webhook steps. */
export function mapHeaders<S extends AnyStep>(
  steps: readonly S[],
  change: (headers: Headers, step: S) => Headers,
): S[] {
  return steps.map((step) => {
    const headers = headersOf(step);
    return {
      ...step,
      ...(headers && { headers: change(headers, step) }),
      ...mapBranches(step, (inner) => mapHeaders(inner, change)),
    };
  });
}

/** Steps as responses show them. Only values that an older version of the service has stored are not masked yet. */
export const maskSteps = <S extends AnyStep>(steps: readonly S[]): S[] =>
  mapHeaders(steps, (headers) =>
    mapValues(headers, (name, value) => (isPlainSecret(name, value) ? MASK : value)),
  );

/**
 * The type under which webhook steps with headers are stored. Workers of older versions do not know it: they leave runs
 * that reach such a step to others, because they would send the masks.
 */
const STORED_TYPE = 'sealed_webhook';

function rename<S extends AnyStep>(steps: readonly S[], typeOf: (step: S) => string): S[] {
  return steps.map((step) => ({
    ...step,
    type: typeOf(step),
    ...mapBranches(step, (inner) => rename(inner, typeOf)),
  }));
}

/** Steps as they are written into the database. */
export const toStored = <S extends AnyStep>(steps: readonly S[]): S[] =>
  rename(steps, (step) => (Object.keys(headersOf(step) ?? {}).length > 0 ? STORED_TYPE : step.type));

/** Steps as they were read from the database. */
export const fromStored = <S extends AnyStep>(steps: readonly S[]): S[] =>
  rename(steps, ({ type }) => (type === STORED_TYPE ? 'webhook' : type));
