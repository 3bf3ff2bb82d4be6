import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Database } from '../../platform/db/database.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { mapInTurns } from '../../platform/processes/map-in-turns.ts';
import { withoutReadOnly } from '../../platform/input/read-only.ts';
import { parseWith } from '../../platform/input/validation.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { ensureContacts } from '../contacts/service.ts';
import {
  batchResults,
  eventParams,
  eventReadOnlyFields,
  eventResource,
  isCausedByMail,
  listEventsQuery,
  MAX_BATCH,
  ParsedEvent,
  trackBatchBody,
  trackEventBody,
  type TrackEventBody,
} from './schema.ts';
import {
  type BatchItem,
  createEventService,
  type EnsureContacts,
  type EventService,
  type TrackedEventConsumer,
} from './service.ts';

export interface EventRouteDeps {
  config: Config;
  database: Database;
  keyring: Keyring;
  log: Logger;
  heavyReads: HeavyReads;
  /** Act on tracked events in the transaction that writes them. */
  trackedEventConsumers: readonly TrackedEventConsumer[];
}

const PATH = '/v1/my/events';
const tag = 'Events';

const KEYS =
  'A known idempotency key, in the header or in the body, returns the event that took it, whatever else the request says.';

function eventService(deps: EventRouteDeps): EventService {
  const { config, database, keyring, log, heavyReads, trackedEventConsumers: consumers } = deps;
  const consent = { keyring, plusAddresses: config.SUPPRESS_PLUS_ADDRESSES };
  const create: EnsureContacts = (trx, tenant, addresses) =>
    ensureContacts(trx, consent, tenant, addresses, 'event');
  const unknown = config.UNKNOWN_EVENT_CONTACTS;
  return createEventService({
    pool: database.pool,
    ensureContacts: unknown === 'create' ? create : null,
    consumers,
    log,
    heavyReads,
  });
}

function trackRoute(events: EventService): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: PATH,
    operationId: 'trackEvent',
    tag,
    summary: 'Track an event of a contact',
    description: `The event is stored before the response. ${KEYS}`,
    auth: 'brand',
    testKeys: { only: 'test events of contacts that exist' },
    idempotency: 'own',
    body: trackEventBody,
    readOnlyFields: eventReadOnlyFields,
    responses: { 201: { description: 'The event.', schema: eventResource } },
    async handler({ tenant, body, idempotencyKey }) {
      const { event, replayed } = await events.track(tenant, body, idempotencyKey);
      return { status: 201, body: event, replayed };
    },
  });
}

/** The body's schema leaves an item unparsed if it is invalid or has read-only fields. */
function batchItem(item: unknown): BatchItem {
  if (item instanceof ParsedEvent) return { body: item.body };
  const parsed = parseWith(trackEventBody, withoutReadOnly(item, eventReadOnlyFields).writable, 'field');
  return parsed.ok ? { body: parsed.value as TrackEventBody } : { errors: parsed.errors };
}

function batchRoute(events: EventService): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${PATH}/batch`,
    operationId: 'trackEvents',
    tag,
    summary: 'Track many events',
    description:
      `Takes up to ${MAX_BATCH} events and returns a result for each. An invalid event does not fail the others. ` +
      'With the header `Idempotency-Key`, events without a key get that key with `/` and their index.',
    auth: 'brand',
    testKeys: { only: 'test events of contacts that exist' },
    idempotency: 'own',
    body: trackBatchBody,
    responses: { 200: { description: 'The results.', schema: batchResults } },
    async handler({ tenant, body, idempotencyKey }) {
      const items = await mapInTurns(body.events, batchItem);
      const results = await events.trackBatch(tenant, items, idempotencyKey);
      return { status: 200, body: { results } };
    },
  });
}

function listRoute(events: EventService): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listEvents',
    tag,
    summary: 'List events by the time at which they happened, newest first',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: isCausedByMail },
    query: listEventsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of events.', schema: z.array(eventResource) } },
    async handler(input) {
      const page = pageOf(input.query);
      const found = await events.list(input.tenant, input.query, page);
      return paginate(input, page, found.events, found.count);
    },
  });
}

function oneRoutes(events: EventService): RouteDefinition[] {
  const responses = (description: string) => ({ 200: { description, schema: eventResource } });
  return [
    defineRoute({
      method: 'GET',
      path: `${PATH}/:id`,
      operationId: 'getEvent',
      tag,
      summary: 'Get an event',
      auth: 'brand',
      testKeys: 'refused',
      assistants: { mail: isCausedByMail },
      params: eventParams,
      responses: responses('The event.'),
      async handler({ tenant, params }) {
        return { status: 200, body: await events.get(tenant, params.id) };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: `${PATH}/:id`,
      operationId: 'deleteEvent',
      tag,
      summary: 'Delete an event',
      description: 'Its idempotency key can be used again. Flow runs that the event started continue.',
      auth: 'brand',
      testKeys: 'refused',
      assistants: { mail: isCausedByMail },
      params: eventParams,
      responses: responses('The deleted event.'),
      async handler({ tenant, params }) {
        return { status: 200, body: await events.remove(tenant, params.id) };
      },
    }),
  ];
}

/** `GET` and `POST /v1/my/events`, `POST /events/batch`, `GET` and `DELETE /events/{id}`. */
export function createEventRoutes(deps: EventRouteDeps): RouteDefinition[] {
  const events = eventService(deps);
  return [listRoute(events), trackRoute(events), batchRoute(events), ...oneRoutes(events)];
}
