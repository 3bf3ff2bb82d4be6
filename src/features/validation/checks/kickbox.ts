import { z } from 'zod';
import type { Egress } from '../../../platform/egress/client.ts';
import type { OutsideAnswer, OutsideService } from './outside-validator.ts';
import type { Reason } from './verdict.ts';

/** How long Kickbox may take (its `timeout` parameter), and how long the whole request may take. */
const VERIFY_MS = 15_000;
const REQUEST_MS = 20_000;

/** Statuses about the key, the balance or the rate: the next request would get the same one. */
const REFUSED = new Set([401, 402, 403, 429]);

/** https://docs.kickbox.com/docs/single-verification-api */
const response = z.object({
  result: z.enum(['deliverable', 'undeliverable', 'risky', 'unknown']),
  reason: z.string().max(100),
  role: z.boolean().catch(false),
  disposable: z.boolean().catch(false),
  accept_all: z.boolean().catch(false),
  did_you_mean: z.string().max(1_000).nullable().catch(null),
  success: z.boolean(),
});

type Response = z.infer<typeof response>;

const undeliverable: Record<string, Reason> = {
  invalid_email: 'syntax',
  invalid_domain: 'no_domain',
  rejected_email: 'mailbox_missing',
};

function reasonsOf(answer: Response): Reason[] {
  const flags: Reason[] = [
    ...(answer.disposable ? (['disposable'] as const) : []),
    ...(answer.accept_all ? (['catch_all'] as const) : []),
    ...(answer.role ? (['role'] as const) : []),
  ];
  switch (answer.result) {
    case 'deliverable':
      return [...flags, 'outside_validator'];
    case 'undeliverable':
      return [undeliverable[answer.reason] ?? 'mailbox_not_checked'];
    case 'risky':
      return flags;
    case 'unknown':
      return [
        answer.reason === 'timeout' || answer.reason === 'no_connect' ? 'timeout' : 'mailbox_not_checked',
      ];
  }
}

function readAnswer(body: Buffer): OutsideAnswer {
  let json: unknown;
  try {
    json = JSON.parse(body.toString('utf8'));
  } catch {
    return 'failed';
  }
  const parsed = response.safeParse(json);
  if (!parsed.success || !parsed.data.success) return 'failed';
  const reasons = reasonsOf(parsed.data);
  return {
    verdict: parsed.data.result,
    reasons: reasons.length > 0 ? reasons : ['mailbox_not_checked'],
    suggestion: parsed.data.did_you_mean,
  };
}

/**
 * Kickbox's single verification API. The key is sent as a bearer token, so that no log of URLs contains it.
 * @param url `kickbox://KEY@api.kickbox.com`, or with the host `api.eu.kickbox.com`
 */
export function createKickbox(url: string, egress: Egress): OutsideService {
  const { username, host } = new URL(url);
  const headers = { authorization: `Bearer ${decodeURIComponent(username)}`, accept: 'application/json' };
  return {
    async ask(email, signal) {
      const query = new URLSearchParams({ email, timeout: String(VERIFY_MS) });
      const result = await egress.request({
        method: 'GET',
        url: `https://${host}/v2/verify?${query.toString()}`,
        headers,
        timeoutMs: REQUEST_MS,
        // Each request costs a credit.
        repeatable: false,
        ...(signal ? { signal } : {}),
      });
      if (!result.ok) return 'failed';
      if (REFUSED.has(result.statusCode)) return 'refused';
      return result.statusCode === 200 ? readAnswer(result.body) : 'failed';
    },
  };
}
