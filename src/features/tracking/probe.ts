/**
 * Checks over HTTPS that a domain's tracking host points to this installation with a valid certificate. While it does,
 * links in new mail of the domain use it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type pg from 'pg';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Egress } from '../../platform/egress/client.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';

/** Followed by a nonce; the response is its MAC. */
export const PROBE_PATH = '/.well-known/carillon-tracking/';
const NONCE_BYTES = 16;
const NONCE = /^[A-Za-z0-9_-]{22}$/;
const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 1_024;

const PROBES_AT_ONCE = 20;
const NEXT_IF_OK_MS = 10 * 60_000;
const NEXT_IF_NOT_MS = 5 * 60_000;

type Keys = Pick<Keyring, 'subkey' | 'accepted'>;

/** Tokens begin with another byte, so that neither MAC is valid for the other purpose. */
function macOf(key: Buffer, nonce: string): Buffer {
  return createHmac('sha256', key).update(`tracking host ${nonce}`).digest();
}

/** @returns the response to a probe; null if the request is not a probe */
export function answerProbe(keyring: Keys, nonce: string): string | null {
  return NONCE.test(nonce) ? macOf(keyring.subkey('tracking').key, nonce).toString('base64url') : null;
}

function isRight(keyring: Keys, nonce: string, answer: string): boolean {
  const given = Buffer.from(answer.trim(), 'base64url');
  return keyring.accepted('tracking').some(({ key }) => {
    const right = macOf(key, nonce);
    return given.length === right.length && timingSafeEqual(given, right);
  });
}

/** Whether the host points to this installation. */
async function probe(egress: Egress, keyring: Keys, host: string): Promise<boolean> {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const result = await egress.request({
    url: `https://${host}${PROBE_PATH}${nonce}`,
    method: 'GET',
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
  });
  return 'body' in result && result.statusCode === 200 && isRight(keyring, nonce, result.body.toString());
}

/**
 * Takes domains whose probe is due, so that no other worker probes them: verified domains with a correct tracking
 * record, and those whose host is in use.
 */
async function takeDue(client: Queryable, asOf: Date): Promise<{ id: number; host: string }[]> {
  const { rows } = await client.query<{ id: number; host: string }>(
    `update domains set tracking_probe_at = $2 where id = any (array(
       select id from domains
       where status = 'verified' and (tracking_probe_at is null or tracking_probe_at <= $1)
         and (tracking_ok_at is not null or checks->'tracking'->>'valid' = 'true')
       order by tracking_probe_at nulls first limit ${PROBES_AT_ONCE} for update skip locked))
     returning id, tracking_host as host`,
    [asOf, new Date(asOf.getTime() + NEXT_IF_NOT_MS)],
  );
  return rows;
}

export interface ProbeDeps {
  pool: pg.Pool;
  egress: Egress;
  keyring: Keys;
}

/**
 * Probes the tracking hosts that are due.
 * @returns how many it probed
 */
export async function probeTrackingHosts({ pool, egress, keyring }: ProbeDeps, asOf: Date): Promise<number> {
  const due = await takeDue(pool, asOf);
  await Promise.all(
    due.map(async ({ id, host }) => {
      const ok = await probe(egress, keyring, host);
      await pool.query(
        `update domains set tracking_ok_at = case when $3 then coalesce(tracking_ok_at, $2) end, tracking_probe_at = $4
         where id = $1 and tracking_host = $5`,
        [id, asOf, ok, new Date(asOf.getTime() + (ok ? NEXT_IF_OK_MS : NEXT_IF_NOT_MS)), host],
      );
    }),
  );
  return due.length;
}
