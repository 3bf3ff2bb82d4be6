/** The request of a webhook step, which is made outside any transaction, and what its response means. */
import { createHmac } from 'node:crypto';
import type pg from 'pg';
import type { Egress } from '../../../platform/egress/client.ts';
import type { EgressReason } from '../../../platform/egress/problem.ts';
import type { EgressResult } from '../../../platform/egress/exchange.ts';
import { type Keyring, type Subkey, UnsealError } from '../../../platform/secrets/keyring.ts';
import { keyOfSecret, signatureHeaders } from '../../webhooks/service.ts';
import type { Headers } from './secret-headers.ts';
import type { WebhookStep } from './webhook.ts';
import { HeaderMissingError, openHeaders } from '../header-secrets.ts';
import type { CallTurns } from '../run/call-turns.ts';
import type { CauseEvent } from '../run/load.ts';

const DEADLINE_MS = 10_000;
const RESPONSE_BYTES = 64 * 1024;
/** Maximum size of a JSON body that is kept, in bytes. */
const MAX_BODY_BYTES = 8 * 1024;

/** The output of a webhook step: `step.<id>.status` and `step.<id>.body.<path>` in filters. */
export interface Answer {
  outcome: 'done' | 'failed';
  detail: { status: number | null; body: unknown; error?: string };
}

/** Reasons that another attempt cannot change. */
const finalReasons = new Set<EgressReason>([
  'invalid_url',
  'scheme',
  'credentials',
  'port',
  'invalid_request',
]);
/** Responses of the 4xx class after which the request is retried. */
const temporaryStatuses = new Set([408, 425, 429]);

const secretOf = ({ key }: Subkey, accountId: number, flowId: number): string => {
  const mac = createHmac('sha256', key).update(`flow/${accountId}/${flowId}`).digest('base64');
  return `whsec_${mac}`;
};

/** The secret that signs the requests of a flow's webhook steps. It is derived from APP_SECRET and not stored. */
export function flowWebhookSecret(
  keyring: Pick<Keyring, 'subkey'>,
  { accountId, flowId }: { accountId: number; flowId: number },
): string {
  return secretOf(keyring.subkey('flow-webhooks'), accountId, flowId);
}

/** A run at a webhook step. */
export interface CallingRun {
  id: number;
  accountId: number;
  brandId: number;
  flow_id: number;
  contact_id: number;
  event: CauseEvent | null;
  test: boolean;
}

/** The body of a step that does not set one. */
function defaultBody(run: CallingRun, stepId: number) {
  const { id, flow_id: flowId, contact_id: contactId, event, test } = run;
  return {
    flow_id: flowId,
    run_id: id,
    step_id: stepId,
    contact_id: contactId,
    event: event && { id: event.id, name: event.name, data: event.data },
    test,
  };
}

function bodyOf(step: WebhookStep, run: CallingRun): string {
  if (step.method === 'GET') return '';
  return JSON.stringify(step.body === undefined ? defaultBody(run, step.id) : step.body);
}

function headersOf(
  step: WebhookStep,
  run: CallingRun,
  keyring: Keyring,
  { own, body }: { own: Headers; body: string },
): Record<string, string> {
  const keys = keyring
    .accepted('flow-webhooks')
    .map((subkey) => keyOfSecret(secretOf(subkey, run.accountId, run.flow_id)));
  return {
    ...(body === '' ? {} : { 'content-type': 'application/json' }),
    ...own,
    'carillon-flow-id': String(run.flow_id),
    'carillon-run-id': String(run.id),
    'carillon-step-id': String(step.id),
    'carillon-contact-id': String(run.contact_id),
    ...signatureHeaders(keys, `flow_${run.id}_${step.id}_0`, new Date(), body),
  };
}

/** What PostgreSQL's JSON cannot store: NUL, and halves of surrogate pairs. */
const UNKEEPABLE = /\\u(?:0000|d[89a-f])/;

/** Returns the JSON of a response; null if it has none, or too much. */
function jsonOf(body: Buffer, truncated: boolean): unknown {
  if (truncated || body.length === 0 || body.length > MAX_BODY_BYTES) return null;
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return UNKEEPABLE.test(JSON.stringify(value)) ? null : value;
  } catch {
    return null;
  }
}

export interface Attempt {
  answer: Answer;
  /** Whether another attempt cannot change the answer. */
  isFinal: boolean;
}

function answerOf(result: EgressResult): Attempt {
  if (!result.ok) {
    const { reason, message, statusCode } = result;
    const error = `${reason}: ${message}`.slice(0, 200);
    const answer: Answer = { outcome: 'failed', detail: { status: statusCode, body: null, error } };
    return { answer, isFinal: finalReasons.has(reason) };
  }
  const { statusCode: status, body, truncated } = result;
  const detail = { status, body: jsonOf(body, truncated) };
  if (status >= 200 && status < 300) return { answer: { outcome: 'done', detail }, isFinal: true };
  const answer: Answer = { outcome: 'failed', detail: { ...detail, error: `status ${status}` } };
  return { answer, isFinal: status >= 400 && status < 500 && !temporaryStatuses.has(status) };
}

export interface WebhookRequestDeps {
  pool: pg.Pool;
  egress: Egress;
  keyring: Keyring;
  turns: CallTurns;
}

function request(
  { egress, keyring }: WebhookRequestDeps,
  run: CallingRun,
  step: WebhookStep,
  own: Headers,
): Promise<EgressResult> {
  const body = bodyOf(step, run);
  return egress.request({
    url: step.url,
    method: step.method,
    headers: headersOf(step, run, keyring, { own, body }),
    ...(body === '' ? {} : { body }),
    timeoutMs: DEADLINE_MS,
    maxResponseBytes: RESPONSE_BYTES,
    // A repeated request has the same `webhook-id`.
    repeatable: true,
  });
}

/**
 * Makes one request. Another one for the same run and step has the same `webhook-id`.
 * @param ofCohort whether the run is one of a cohort; see {@link CallTurns}
 * @throws CallWaitsError if it was not made because too many are under way
 */
export async function requestWebhook(
  deps: WebhookRequestDeps,
  run: CallingRun,
  step: WebhookStep,
  ofCohort: boolean,
): Promise<Attempt> {
  const { pool, keyring, turns } = deps;
  try {
    const own = await openHeaders(pool, keyring, run, step);
    const host = URL.parse(step.url)?.host ?? '';
    return answerOf(await turns.run(run.accountId, host, () => request(deps, run, step, own), { ofCohort }));
  } catch (error) {
    const isMissing = error instanceof HeaderMissingError;
    if (!isMissing && !(error instanceof UnsealError)) throw error;
    // An operator can add the secret that opens a sealed value.
    const reason = isMissing ? error.message : 'a header cannot be read because APP_SECRET was changed';
    const detail = { status: null, body: null, error: reason };
    return { answer: { outcome: 'failed', detail }, isFinal: isMissing };
  }
}
