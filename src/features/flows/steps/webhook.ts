import { z } from 'zod';
import { findLiquid, hasLiquid, noLiquid } from '../../../delivery/terms/texts/no-liquid.ts';
import { readTarget } from '../../../platform/egress/target.ts';
import { oneLine } from '../../../platform/input/one-line.ts';
import { parseWith } from '../../../platform/input/validation.ts';
import { MAX_DATA_BYTES, MAX_DATA_LEVELS } from '../../contact-events/schema.ts';
import { presentedFields, stepShape } from './shapes.ts';
import type { StepType } from './step.ts';

export interface WebhookStep {
  type: 'webhook';
  id: number;
  url: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
}

const MAX_URL = 2_048;
const MAX_HEADERS = 20;
const MAX_HEADER_VALUE = 1_000;
const MAX_WEBHOOK_BYTES = 32 * 1024;
const MAX_WEBHOOK_LEVELS = 20;

/** The token of HTTP (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Headers that describe the connection or the signature. The service sets them. */
const RESERVED_HEADER =
  /^(host|connection|keep-alive|content-(length|type|encoding)|transfer-encoding|te|trailer|upgrade|expect|user-agent|accept-encoding|proxy-.*|sec-.*|webhook-.*|carillon-.*)$/i;

const NO_LIQUID = noLiquid('webhook steps');

const headerValue = oneLine(MAX_HEADER_VALUE);
const headers = z.record(z.string(), headerValue).superRefine((given, context) => {
  const report = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const names = Object.keys(given);
  if (names.length > MAX_HEADERS) return report([], `must have at most ${MAX_HEADERS} names`);
  const seen = new Set<string>();
  for (const name of names) {
    const lower = name.toLowerCase();
    if (!TOKEN.test(name)) report([name], 'has a name that is not allowed');
    else if (RESERVED_HEADER.test(name)) report([name], 'is a header that the service sets');
    else if (seen.has(lower)) report([name], 'must be given once');
    if (hasLiquid(given[name])) report([name], NO_LIQUID);
    seen.add(lower);
  }
});

/** What is wrong with the value of a header; null if nothing is. */
export function headerValueProblem(value: string): string | null {
  if (hasLiquid(value)) return NO_LIQUID;
  const parsed = parseWith(headerValue, value, 'field');
  return parsed.ok ? null : (Object.values(parsed.errors)[0]?.[0] ?? 'is invalid');
}

const url = z
  .string()
  .min(1)
  .max(MAX_URL)
  .superRefine((text, context) => {
    const report = (message: string) => context.addIssue({ code: 'custom', message });
    if (hasLiquid(text)) return report(NO_LIQUID);
    const target = readTarget(text);
    if ('reason' in target) report(target.message);
    else if (target.protocol !== 'https:') report('must begin with https://');
  });

const webhookBody = z.unknown().superRefine((given, context) => {
  if (given === undefined) return;
  const found = findLiquid(given, MAX_WEBHOOK_LEVELS);
  if (found === 'deep') {
    const message = `must not be nested deeper than ${MAX_WEBHOOK_LEVELS} levels`;
    context.addIssue({ code: 'custom', message });
  } else if (found) {
    context.addIssue({ code: 'custom', path: found, message: NO_LIQUID });
  } else if (Buffer.byteLength(JSON.stringify(given)) > MAX_WEBHOOK_BYTES) {
    context.addIssue({ code: 'custom', message: 'must have at most 32 KB of JSON' });
  }
});

const shape = stepShape('webhook', {
  url,
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  headers: headers.optional(),
  body: webhookBody.optional(),
}).superRefine(({ method, body }, context) => {
  if (method !== 'GET' || body === undefined || body === null) return;
  context.addIssue({
    code: 'custom',
    path: ['body'],
    message: 'must be left out, because a GET request has no body',
  });
});

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** An assumed response has the same limits as the data of an event. */
const assumedBody = z.unknown().superRefine((value, context) => {
  if (value === undefined) return;
  if (isDeeper(value, MAX_DATA_LEVELS)) {
    context.addIssue({ code: 'custom', message: `must not be nested deeper than ${MAX_DATA_LEVELS} levels` });
  } else if (Buffer.byteLength(JSON.stringify(value)) > MAX_DATA_BYTES) {
    context.addIssue({ code: 'custom', message: 'must have at most 32 KB of JSON' });
  }
});
const assumed = { status: z.int().min(100).max(599).optional(), body: assumedBody.optional() };

/** Makes a request outside the run's transaction (see `webhook-request.ts`), and continues with the response. */
export const webhook: StepType<WebhookStep, z.output<z.ZodObject<typeof assumed>>> = {
  type: 'webhook',
  shape,
  presented: {
    url: z.string(),
    method: z.string(),
    headers: presentedFields.jsonObject.meta({
      description:
        'Values of headers that may be secret are masked, as `••••` and a tag. A mask that is sent back keeps the value, in ' +
        'this step or any other of the brand whose URL has the same scheme, host and port.',
    }),
    body: presentedFields.body,
  },

  async run(step, { next, context }) {
    const result = await context.answer(step);
    return result ? { result, next } : { wait: { for: 'webhook' } };
  },
  leavesAnswer: true,

  assumptions: {
    yesNo: false,
    fields: assumed,
    description: 'its answer, as `{"status": 200, "body": {…}}`',
  },
  simulate(_step, { assumed: { status = 200, body = null }, leave }) {
    const answer = { status, body };
    leave({ answer, openedAt: null, clickedAt: null });
    return { outcome: status >= 200 && status < 300 ? 'done' : 'failed', detail: answer };
  },
};
