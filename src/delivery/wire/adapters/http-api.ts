/** What all providers with an HTTP API share: requests through egress, and what their results mean for a message. */
import type { Config } from '../../../config.ts';
import type { Egress } from '../../../platform/egress/client.ts';
import { createStop } from '../../../platform/processes/stop.ts';
import { clipText } from '../../terms/bounces.ts';
import type { Spacing } from './spacing.ts';
import { type HandOverResult, isLetter, untried } from './port.ts';
import { lostIfUnreadable } from './request-body.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';

const TIMEOUT_MS = 30_000;
/** A body takes longer to send if it has files: a second more for each of these many bytes. */
const BYTES_PER_SECOND = 256 * 1024;
const MAX_TIMEOUT_MS = 180_000;
const MAX_RESPONSE_BYTES = 256 * 1024;
const MAX_RESPONSE_CHARACTERS = 500;
/** Maximum number of concurrent requests for one batch. */
const PARALLEL = 4;
/** Larger letters are handed over one after the other, because each is in memory as a whole. */
const LARGE_BYTES = 1024 * 1024;
const MAX_RETRY_AFTER_MS = 300_000;
const ERROR_CODE = /^[\w.-]{1,64}$/;

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string | Buffer;
  /**
   * From the DNS lookup to the last byte of the response; by default 30 s, and a second more for each 256 KiB of the
   * body, at most 180 s.
   */
  timeoutMs?: number;
}

export interface ApiResponse {
  kind: 'response';
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as JSON; undefined if it is not JSON, is longer than 256 KiB, or was cut off. */
  json: unknown;
  /** The first 500 characters of the body. */
  text: string;
}

/** The result of a request. `reason` contains neither secrets nor addresses. */
export type ApiResult =
  | ApiResponse
  /** The service certainly has not received the request. */
  | { kind: 'not_sent'; reason: string }
  /** The service may have received the request, but sent no response. */
  | { kind: 'no_response'; reason: string };

/** Makes one request. Never throws, and never retries, because the service may have acted on the request. */
export async function requestApi(egress: Egress, request: ApiRequest): Promise<ApiResult> {
  const { timeoutMs = timeoutFor(request.body?.length ?? 0), ...rest } = request;
  const result = await egress.request({
    ...rest,
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    repeatable: false,
  });
  if (result.ok) {
    const text = result.body.toString('utf8');
    return response(result.statusCode, result.headers, result.truncated ? undefined : parseJson(text), text);
  }
  // The status decides, even if the body was cut off.
  if (result.statusCode !== null) return response(result.statusCode, {}, undefined, result.message);
  return { kind: result.sent ? 'no_response' : 'not_sent', reason: result.message };
}

/** The time-out of a request by default. @param bytes of its body */
export function timeoutFor(bytes: number): number {
  return Math.min(TIMEOUT_MS + Math.floor(bytes / BYTES_PER_SECOND) * 1_000, MAX_TIMEOUT_MS);
}

function response(status: number, headers: ApiResponse['headers'], json: unknown, text: string): ApiResponse {
  return { kind: 'response', status, headers, json, text: text.slice(0, MAX_RESPONSE_CHARACTERS) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** How to read a service's response to a request that only tests the settings. */
export interface SettingsCheck {
  /** The service's own name, for operators. */
  title: string;
  /** Statuses that prove that the settings work; 200 by default. */
  accepted?: readonly number[];
  /** Statuses that reject the credentials, and what is then wrong with them. */
  refused?: { statuses: readonly number[]; credentials: string };
  /** Extracts the service's error message. */
  words: (response: ApiResponse) => string;
}

/** @returns the response if it proves that the settings work, else what is wrong, for the operator */
export function checkedResponse(
  result: ApiResult,
  { title, accepted = [200], refused, words }: SettingsCheck,
): ApiResponse | string {
  if (result.kind !== 'response') return `${title}: ${result.reason}`;
  if (accepted.includes(result.status)) return result;
  if (refused?.statuses.includes(result.status)) return `${title} refuses ${refused.credentials}`;
  return `${title}: ${result.status} ${words(result)}`;
}

/**
 * A service refuses a domain for good: repeating the request would not help. The message is for the client; the cause
 * has the details that only the operator may read.
 */
export class DomainRefusedError extends Error {}

/** How to read a service's response to a request about a domain. */
export interface DomainResponse {
  /** The service's own name. */
  title: string;
  method: ApiRequest['method'];
  /** Extracts the service's error message. */
  words: string;
  /** Whether the error is temporary although its status says otherwise. */
  temporary?: boolean;
  /** Whether the response is about the credentials of the installation; by default with the status 401 and 403. */
  credentials?: boolean;
}

/** 4xx statuses that say nothing about the domain: time-outs and throttling. */
const PASSING_STATUSES = [408, 425, 429];

/**
 * The error of a request about a domain: a {@link DomainRefusedError} for a permanent 4xx response, else an error that
 * may be temporary. A lookup that finds nothing is temporary: the domain may appear a moment later. The client does not
 * get to see what a service says about the credentials of the installation.
 */
export function domainError(result: ApiResult, response: DomainResponse): Error {
  const { title, method, words } = response;
  if (result.kind !== 'response') return new Error(`${title}: ${result.reason}`);
  const { status } = result;
  const text = clipText(`${title} refused: ${words}`.trim());
  const final = status >= 400 && status < 500 && !PASSING_STATUSES.includes(status);
  const { temporary = status === 404 && method === 'GET', credentials = status === 401 || status === 403 } =
    response;
  if (!final || temporary) return new Error(text);
  if (!credentials) return new DomainRefusedError(text);
  const shown = `${title} does not accept the credentials of this installation (HTTP ${status})`;
  return new DomainRefusedError(shown, { cause: new Error(text) });
}

/** How to read a service's responses to a hand-over. */
export interface ApiDialect {
  /** The service's own name, for operators. */
  title: string;
  /** Requests carry an idempotency key, so an ambiguous one may be repeated. */
  repeatable: boolean;
  /** The verdict of a 2xx response. */
  accepted(response: ApiResponse): HandOverOutcome;
  /** The verdict of any other response. null: {@link outcomeOf} decides by the status alone. */
  verdict(response: ApiResponse): HandOverOutcome | null;
  /** The service's name for the error, such as `TooManyRequestsException`, for operators. */
  errorCode?(response: ApiResponse): string | number | null | undefined;
}

/**
 * Translates the result of a request that handed over one message. Unless the dialect has a verdict, the status
 * decides: 400, 413, 415 and 422 refuse the message; 5xx is `unknown`, because the service may have accepted the
 * message before it failed; everything else (401, 403, 404, 429, redirects) is a fault.
 */
export function outcomeOf(result: ApiResult, dialect: ApiDialect): HandOverOutcome {
  const { title } = dialect;
  if (result.kind === 'not_sent') return { kind: 'fault', reason: `${title}: ${result.reason}` };
  if (result.kind === 'no_response') return { kind: 'unknown', reason: `${title}: ${result.reason}` };
  if (result.status >= 200 && result.status < 300) return dialect.accepted(result);
  return dialect.verdict(result) ?? verdictByStatus(result, dialect);
}

function verdictByStatus(result: ApiResponse, dialect: ApiDialect): HandOverOutcome {
  switch (result.status) {
    case 400:
    case 422:
      return refusedMessage(result, 'rejected');
    case 413:
    case 415:
      return refusedMessage(result, 'content_rejected');
  }
  return result.status >= 500
    ? { kind: 'unknown', reason: apiReason(result, dialect) }
    : apiFault(result, dialect);
}

/** The service's reply about a message, such as `400 The From address is not verified.` */
export function apiReply(result: ApiResponse, text: string = result.text): string {
  return `${result.status} ${text}`.trim().slice(0, MAX_RESPONSE_CHARACTERS);
}

/** The outcome of a message that the service refuses for good. @param text its reply, without the status */
export function refusedMessage(
  result: ApiResponse,
  code: Extract<HandOverOutcome, { kind: 'refused' }>['code'],
  text?: string,
): HandOverOutcome {
  return { kind: 'refused', code, response: apiReply(result, text) };
}

/**
 * The outcome of a message whose sender the service has not verified. Verification may take hours after the DNS records
 * are correct, so the message is retried later. It is not a fault, because a fault would stop the mail of other
 * domains, too.
 */
export function unverified(result: ApiResponse, text: string): HandOverOutcome {
  return { kind: 'deferred', response: apiReply(result, text) };
}

/** The fault that a response reports, with the delay that the service asks for. */
export function apiFault(
  result: ApiResponse,
  dialect: Pick<ApiDialect, 'title' | 'errorCode'>,
): HandOverOutcome {
  const retryAfterMs = retryAfterOf(result.headers['retry-after'], Date.now());
  return {
    kind: 'fault',
    reason: apiReason(result, dialect),
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  };
}

/** Reasons go into logs and to Temporal, so they contain codes only: the service's text may name a recipient. */
function apiReason(
  result: ApiResponse,
  { title, errorCode }: Pick<ApiDialect, 'title' | 'errorCode'>,
): string {
  const code = String(errorCode?.(result) ?? '');
  return `${title}: HTTP ${result.status}${ERROR_CODE.test(code) ? ` ${code}` : ''}`;
}

/** Reads Retry-After (RFC 9110, section 10.2.3). @returns milliseconds, at most five minutes; null if there is none */
export function retryAfterOf(header: string | string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : null;
}

/**
 * Number of batches that a provider with an HTTP API takes at once, so that it opens at most SENDER_CONNECTIONS
 * connections.
 */
export function apiConcurrency(config: Pick<Config, 'SENDER_CONNECTIONS'>): number {
  return Math.max(1, Math.floor(config.SENDER_CONNECTIONS / PARALLEL));
}

const isLarge = (message: unknown): boolean => isLetter(message) && message.built.size > LARGE_BYTES;

/** How messages are handed over in separate requests: a part of a provider. */
export interface Submitter<Outgoing> {
  handOver(batch: readonly Outgoing[]): Promise<HandOverResult[]>;
  stop(): void;
}

/**
 * Hands over the messages of a batch in separate requests, up to four at a time. After a `fault` or `unknown` outcome it
 * starts no further ones of the batch: they are `not_tried`. Each fault, such as throttling, halves the number of
 * concurrent requests; each batch without trouble adds one. A batch with a letter of more than 1 MiB has one request at a
 * time.
 * @param submit makes the request of one message
 * @param spacing waits until a request may be made; by default requests need not wait
 */
export function createSubmitter<Outgoing>(
  submit: (message: Outgoing) => Promise<HandOverOutcome>,
  spacing?: Spacing,
): Submitter<Outgoing> {
  const stop = createStop();
  let allowed = PARALLEL;

  /** Leaves the result as it is if the stop comes before the request. */
  async function hand(message: Outgoing, result: HandOverResult): Promise<HandOverResult> {
    if (spacing) await stop.race(spacing());
    if (stop.requested) return result;
    const submitting = submit(message).catch(lostIfUnreadable);
    return (await stop.race(submitting)) ?? { kind: 'open', later: submitting };
  }

  return {
    async handOver(batch) {
      const results: HandOverResult[] = untried(batch);
      let next = 0;
      let troubled = false;
      const work = async (): Promise<void> => {
        while (!troubled && !stop.requested && next < batch.length) {
          const index = next++;
          const result = await hand(batch[index] as Outgoing, results[index] as HandOverResult);
          results[index] = result;
          if (result.kind === 'fault') allowed = Math.max(1, Math.floor(allowed / 2));
          troubled ||= result.kind === 'fault' || result.kind === 'unknown';
        }
      };
      const parallel = batch.some(isLarge) ? 1 : Math.min(allowed, batch.length);
      await Promise.all(Array.from({ length: parallel }, work));
      if (!troubled) allowed = Math.min(PARALLEL, allowed + 1);
      return results;
    },
    stop: () => stop.request(),
  };
}

/**
 * Creates a provider for a service that takes one message per request. Its connections belong to egress.
 * @param submit hands over one message
 * @param spacing see {@link createSubmitter}
 */
export function createApiProvider<Outgoing>(
  name: string,
  config: Pick<Config, 'SENDER_CONNECTIONS'>,
  submit: (message: Outgoing) => Promise<HandOverOutcome>,
  spacing?: Spacing,
) {
  return {
    name,
    concurrency: apiConcurrency(config),
    ...createSubmitter(submit, spacing),
    close: () => Promise.resolve(),
  };
}
