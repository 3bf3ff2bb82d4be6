import type { IncomingMessage } from 'node:http';
import type pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import { createClientAddress } from '../../platform/auth/client-address.ts';
import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition, type RouteInput } from '../../platform/http/route.ts';
import type { RawResult } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createHitRecorder } from './hit-recorder.ts';
import type { Hit } from './hits.ts';
import { CLICK_PATH, OPEN_PATH } from './links.ts';
import { answerProbe, PROBE_PATH } from './probe.ts';
import { createSuspendedAccounts } from './suspended.ts';
import { createTrackingTokens, type TrackedTarget } from './tokens.ts';

export interface TrackingRouteDeps {
  config: { TRUSTED_PROXIES: string[] };
  database: Database;
  /** For the statements that store hits. */
  recordingPool: pg.Pool;
  keyring: Keyring;
  log: Logger;
  /** Adds a counter to `/metrics`. */
  counter: (name: string, help: string) => (count: number) => void;
}

/** A transparent GIF of one pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');
const params = z.strictObject({ token: z.string() });
const tag = 'Tracking';

/** An error page for people who follow links in mail. It reveals nothing about the link. */
function page(status: number, text: string): RawResult {
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${text}</title><p>${text}</p>\n`;
  return { status, raw: { contentType: 'text/html; charset=utf-8', body } };
}

const unknownLink = () => page(404, 'This link is not valid.');
const deadLink = () => page(410, 'This link is no longer available.');

/** Joins the values of a header, which a client may repeat. */
const headerOf = (request: IncomingMessage, name: string) => String(request.headers[name] ?? '');

function redirect(url: string): RawResult {
  return {
    status: 302,
    headers: { Location: url, 'X-Robots-Tag': 'noindex' },
    raw: { contentType: 'text/plain; charset=utf-8', body: '' },
  };
}

interface Tracking {
  /** @returns null if the token is not valid */
  verify(token: string): TrackedTarget | null;
  isSuspended(accountId: number): Promise<boolean>;
  /** Resolves when the hit is committed, or cannot be stored in time. */
  record(target: TrackedTarget, input: RouteInput): Promise<void>;
}

function createTracking(deps: TrackingRouteDeps): Tracking {
  const { config, database, recordingPool, keyring, log, counter } = deps;
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  const recordHit = createHitRecorder({
    pool: recordingPool,
    log,
    onLost: counter(
      'carillon_tracking_hits_lost_total',
      'Opens and clicks that were answered but could not be stored',
    ),
  });
  return {
    verify: createTrackingTokens(keyring).verify,
    isSuspended: createSuspendedAccounts(database.pool, log),
    record(target, { ctx }) {
      const hit: Hit = {
        target,
        at: new Date(),
        method: ctx.method,
        userAgent: headerOf(ctx.req, 'user-agent'),
        purpose: headerOf(ctx.req, 'sec-purpose') || headerOf(ctx.req, 'purpose'),
        ip: clientAddress(ctx.req),
      };
      return recordHit(hit);
    },
  };
}

/**
 * The target is in the token, which we signed when we found the link in the message, so this is not an open redirect.
 */
function clickRoute({ verify, isSuspended, record }: Tracking): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${CLICK_PATH}:token`,
    operationId: 'followTrackedLink',
    tag,
    summary: 'Follow a link of a message',
    auth: 'none',
    opaque: true,
    params,
    responses: { 302: { description: 'The target', schema: null, contentType: 'text/plain' } },
    async handler(input) {
      const target = verify(input.params.token);
      if (!target || target.link === 0) return unknownLink();
      if (await isSuspended(target.accountId)) return deadLink();
      await record(target, input);
      return redirect(target.url);
    },
  });
}

function openRoute({ verify, isSuspended, record }: Tracking): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${OPEN_PATH}:token`,
    operationId: 'loadTrackingPixel',
    tag,
    summary: 'Load the pixel of a message',
    auth: 'none',
    opaque: true,
    params,
    responses: { 200: { description: 'A transparent pixel', schema: null, contentType: 'image/gif' } },
    async handler(input) {
      const target = verify(input.params.token);
      if (target?.link !== 0) return unknownLink();
      if (!(await isSuspended(target.accountId))) await record(target, input);
      return { status: 200, raw: { contentType: 'image/gif', body: PIXEL } };
    },
  });
}

/** Proves to a worker that a tracking host points here. */
function probeRoute(keyring: Keyring): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PROBE_PATH}:nonce`,
    operationId: 'answerTrackingProbe',
    tag,
    summary: 'Prove that a host points to this installation',
    auth: 'none',
    opaque: true,
    params: z.strictObject({ nonce: z.string() }),
    responses: { 200: { description: 'The MAC of the nonce', schema: null, contentType: 'text/plain' } },
    handler(input) {
      const answer = answerProbe(keyring, input.params.nonce);
      if (answer === null) return unknownLink();
      return { status: 200, raw: { contentType: 'text/plain; charset=utf-8', body: answer } };
    },
  });
}

/**
 * The endpoints behind the links and pixels of tracked mail. Anyone can call them, so they use nothing but the token.
 */
export function createTrackingRoutes(deps: TrackingRouteDeps): RouteDefinition[] {
  const tracking = createTracking(deps);
  return [clickRoute(tracking), openRoute(tracking), probeRoute(deps.keyring)];
}
