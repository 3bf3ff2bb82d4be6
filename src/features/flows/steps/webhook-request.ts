/** The request of a webhook step, which is made outside any transaction. */
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
import type { FlowVersionReader } from '../versions.ts';
import type { CallTurns } from '../run/call-turns.ts';
import { findStep } from '../run/interpreter.ts';
import type { CauseEvent } from '../run/load.ts';

/** Backoff after each failed attempt, in ms. The step has failed if the attempt after the last one fails, too. */
const RETRY_MS = [60_000, 330_000, 1_800_000] as const;
const DEADLINE_MS = 10_000;
const RESPONSE_BYTES = 64 * 1024;
/** Maximum size of a JSON body that is kept, in bytes. */
const MAX_BODY_BYTES = 8 * 1024;

/** The request has failed and must be retried. The message contains no data of the contact. */
export class WebhookStepRetryError extends Error {
  readonly delayMs: number;

  constructor(reason: string, delayMs: number) {
    super(reason);
    this.delayMs = delayMs;
  }
}

/** The output of a webhook step: `step.<id>.status` and `step.<id>.body.<path>` in filters. */
interface Answer {
  outcome: 'done' | 'failed';
  detail: { status: number | null; body: unknown; error?: string };
}

/** The same as a simulation assumes by default. */
const TEST_ANSWER: Answer = { outcome: 'done', detail: { status: 200, body: null } };

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

interface CallingRun {
  id: number;
  account_id: number;
  brand_id: number;
  flow_id: number;
  version_id: number;
  contact_id: number;
  event: CauseEvent | null;
  test: boolean;
  /** Number of failed attempts. */
  call_failures: number;
}

/** Reads a run that is at the step and has no response yet. @returns null if there is nothing to call */
async function readCallingRun(pool: pg.Pool, runId: number, stepId: number): Promise<CallingRun | null> {
  const { rows } = await pool.query<CallingRun>({
    name: 'read_calling_run_of_flow',
    text: `
      select r.id, r.account_id, r.brand_id, r.flow_id, r.version_id, r.contact_id, r.event, r.test, r.call_failures
      from flow_runs r join flows f on f.id = r.flow_id
      where r.id = $1 and r.state = 'active' and r.step_id = $2 and r.waits_for = 'webhook' and f.status = 'active'
        and exists (select 1 from contacts c where c.id = r.contact_id)
        and not exists (select 1 from flow_run_steps s where s.run_id = r.id and s.step_id = $2)`,
    values: [runId, stepId],
  });
  return rows[0] ?? null;
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
    .map((subkey) => keyOfSecret(secretOf(subkey, run.account_id, run.flow_id)));
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

interface Attempt {
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

/** Stores the output for the next transaction of the run, if the run is still at the step. */
async function storeAnswer(
  pool: pg.Pool,
  run: CallingRun,
  stepId: number,
  answer: Answer,
  asOf: Date,
): Promise<void> {
  await pool.query(
    `with run as (
       update flow_runs set call_failures = 0 where id = $1 and state = 'active' and step_id = $2
       returning id, flow_id
     )
     insert into flow_run_steps (run_id, flow_id, step_id, n, type, outcome, detail, entered_at)
     select id, flow_id, $2, 0, 'webhook', $3, $4, $5 from run
     on conflict do nothing`,
    [run.id, stepId, answer.outcome, JSON.stringify(answer.detail), asOf],
  );
}

/** Counts a failed attempt, so that a pause or a restart does not reset the attempts. */
async function countFailure(pool: pg.Pool, { id }: CallingRun, stepId: number): Promise<void> {
  await pool.query(
    `update flow_runs set call_failures = call_failures + 1 where id = $1 and state = 'active' and step_id = $2`,
    [id, stepId],
  );
}

export interface WebhookStepDeps {
  pool: pg.Pool;
  versions: FlowVersionReader;
  egress: Egress;
  keyring: Keyring;
  turns: CallTurns;
}

function request(
  { egress, keyring }: WebhookStepDeps,
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

/** @throws CallWaitsError */
async function attempt(deps: WebhookStepDeps, run: CallingRun, step: WebhookStep): Promise<Attempt> {
  const { pool, keyring, turns } = deps;
  const scope = { accountId: run.account_id, brandId: run.brand_id };
  try {
    const own = await openHeaders(pool, keyring, scope, step);
    const host = URL.parse(step.url)?.host ?? '';
    return answerOf(await turns.run(run.account_id, host, () => request(deps, run, step, own)));
  } catch (error) {
    const isMissing = error instanceof HeaderMissingError;
    if (!isMissing && !(error instanceof UnsealError)) throw error;
    // An operator can add the secret that opens a sealed value.
    const reason = isMissing ? error.message : 'a header cannot be read because APP_SECRET was changed';
    const detail = { status: null, body: null, error: reason };
    return { answer: { outcome: 'failed', detail }, isFinal: isMissing };
  }
}

/**
 * Makes the request of a webhook step and stores the response, unless the run has left the step or its flow is paused.
 * Test runs make no request: test keys, which many people can read, can start test runs of live flows. A request
 * interrupted by a crash is repeated with the same `webhook-id`.
 * @throws WebhookStepRetryError if the request has failed and must be retried
 * @throws CallWaitsError if it was not made because too many are under way
 */
export async function callWebhook(
  deps: WebhookStepDeps,
  runId: number,
  stepId: number,
  asOf: Date,
): Promise<void> {
  const { pool, versions } = deps;
  const run = await readCallingRun(pool, runId, stepId);
  if (!run) return;
  const step = findStep((await versions(run.version_id)).steps, stepId);
  if (step?.type !== 'webhook') return;
  if (run.test) {
    await storeAnswer(pool, run, stepId, TEST_ANSWER, asOf);
    return;
  }
  const { answer, isFinal } = await attempt(deps, run, step);
  const retryMs = RETRY_MS[run.call_failures];
  if (!isFinal && retryMs !== undefined) {
    await countFailure(pool, run, stepId);
    throw new WebhookStepRetryError(answer.detail.error ?? 'the request has failed', retryMs);
  }
  await storeAnswer(pool, run, stepId, answer, asOf);
}
