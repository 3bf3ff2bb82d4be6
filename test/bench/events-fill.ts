import type pg from 'pg';
import type { Stage } from './stage.ts';

export interface EventsFilling {
  events: number;
  contacts: number;
}

/** Number of event names of the brand. 40% of the events have the first name. */
export const NAMES = 20;
const ROWS_AT_ONCE = 250_000;
/** The events are spread evenly over this many days up to now. */
const DAYS = 700;

/** SQL: the name of the `n`th event. */
const NAME = `case when n % 10 < 4 then 0 else 1 + n::bigint * 7919 % ${NAMES - 1} end`;

async function fillContacts(client: pg.PoolClient, { accountId, brandId }: Stage, count: number) {
  await client.query(
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at, email_updated_at)
     select $1, $2, a.address, a.address, true, now(), now()
     from generate_series(0, $3 - 1) n, lateral (select 'contact' || n || '@example.com' as address) a order by n`,
    [accountId, brandId, count],
  );
}

async function fillEvents(client: pg.PoolClient, stage: Stage, { events, contacts }: EventsFilling) {
  await client.query(
    `insert into event_names (brand_id, name) select $1, 'event_' || n from generate_series(0, $2 - 1) n`,
    [stage.brandId, NAMES],
  );
  for (let from = 0; from < events; from += ROWS_AT_ONCE) {
    await client.query(
      `with made as (
         insert into contact_events (account_id, brand_id, contact_id, name_id, amount, data, idempotency_key, created_at)
         select $1, $2, ids.first + n::bigint * 104729 % $3, names.first + ${NAME}, n,
           '{"order": "a-1042", "items": 3}', 'fill-' || n,
           now() - make_interval(secs => (1 - n::float / $6) * ${DAYS * 86_400})
         from generate_series($4::int, $5::int) n,
           (select min(id) as first from contacts where brand_id = $2) ids,
           (select min(id) as first from event_names where brand_id = $2) names
         returning id, brand_id, idempotency_key, created_at)
       insert into contact_event_keys (brand_id, test, key, event_id, created_at)
       select brand_id, false, idempotency_key, id, created_at from made order by idempotency_key`,
      [stage.accountId, stage.brandId, contacts, from, Math.min(from + ROWS_AT_ONCE, events) - 1, events],
    );
    process.stderr.write(`${Math.min(from + ROWS_AT_ONCE, events)} of ${events} events\n`);
  }
}

/** Fills the brand with contacts and keyed events of two years, without waiting for the disk. */
export async function fillWithEvents(stage: Stage, filling: EventsFilling): Promise<void> {
  const client = await stage.database.pool.connect();
  try {
    await client.query('set statement_timeout = 0');
    await client.query('set synchronous_commit = off');
    await fillContacts(client, stage, filling.contacts);
    if (filling.events > 0) await fillEvents(client, stage, filling);
    await client.query('vacuum analyze contacts, contact_events, contact_event_keys, event_names');
    await client.query('checkpoint');
  } finally {
    client.release(true);
  }
}
