import type { Stage } from './stage.ts';

export interface Audience {
  contacts: number;
  events: number;
  engagement: number;
}

const ROWS_AT_ONCE = 500_000;
const NAMES = 20;
/** The share of all events that have the first name. */
const LARGEST_SHARE = 0.4;
const rest = 1 - LARGEST_SHARE;
const MONTHS = 13;

type Query = (text: string, values?: unknown[]) => Promise<unknown>;

function progress(text: string): void {
  process.stderr.write(`${new Date().toISOString()} ${text}\n`);
}

/** Calls `insert` with ranges `from` to `to` until `count` rows are written. */
async function inChunks(what: string, count: number, insert: (from: number, to: number) => Promise<unknown>) {
  for (let from = 1; from <= count; from += ROWS_AT_ONCE) {
    await insert(from, Math.min(from + ROWS_AT_ONCE - 1, count));
    progress(`${what}: ${Math.min(from + ROWS_AT_ONCE - 1, count)} of ${count}`);
  }
}

const contactsSql = `
  insert into contacts (id, account_id, brand_id, first_name, last_name, source, country_code, data, email, email_key,
    email_subscribed, email_opt_in_at, email_created_at, email_updated_at, created_at)
  select n, $1, $2, 'First' || n % 997, 'Last' || n % 9973, (array['import', 'api', 'form', 'shop', 'event'])[1 + n % 5],
    (array['DE', 'FR', 'US', 'GB', 'ES', 'IT', 'NL', 'SE', 'PL', 'AT'])[1 + (n * 7919 % 10)],
    jsonb_build_object('plan', (array['free', 'free', 'free', 'free', 'free', 'free', 'pro', 'pro', 'pro', 'team'])[1 + floor(10 * random())],
      'age', 18 + floor(70 * random()), 'city', 'City ' || n % 500, 'newsletter', n % 3 = 0, 'score', random()),
    'user' || n || '@' || host, 'user' || n || '@' || host, n % 5 > 0, at, at, at, at
  from (select n, case when n % 4 = 0 then 'example.org' else 'example.com' end as host,
      now() - interval '3 years' * (1 - n::float8 / $3) as at
    from generate_series($4::bigint, $5) n) g`;

const eventsSql = `
  insert into contact_events (account_id, brand_id, contact_id, name_id, amount, data, created_at)
  select $1, $2, 1 + floor($3::int * random() * random()), case when r < ${LARGEST_SHARE} then 1
      else 2 + floor(${NAMES - 1} * ((r - ${LARGEST_SHARE}) / ${rest})) end,
    100 * r, '{"sku": "A-1234", "currency": "EUR"}', now() - interval '365 days' * (1 - n::float8 / $4)
  from (select n, random() as r from generate_series($5::bigint, $6) n) g`;

const engagementSql = `
  insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
  select $1, 1 + floor($2::int * random()), n, case when r < 0.7 then 0 when r < 0.93 then 1 else 2 end,
    now() - interval '365 days' * (1 - n::float8 / $3)
  from (select n, random() as r from generate_series($4::bigint, $5) n) g`;

async function fillTables(query: Query, stage: Stage, { contacts, events, engagement }: Audience) {
  const { accountId, brandId } = stage;
  for (let back = 0; back < MONTHS; back += 1) {
    await query(
      `do $$ declare first date := date_trunc('month', now() - interval '${back} months'); begin
         execute format('create table if not exists contact_engagement_%s partition of contact_engagement for values from (%L) to (%L)',
           to_char(first, 'YYYYMM'), first::timestamptz, (first + interval '1 month')::timestamptz); end $$`,
    );
  }
  await inChunks('contacts', contacts, (from, to) =>
    query(contactsSql, [accountId, brandId, contacts, from, to]),
  );
  await query(`select setval(pg_get_serial_sequence('contacts', 'id'), $1)`, [contacts]);
  await query(
    `insert into lists (id, account_id, brand_id, name) select n, $1, $2, 'List ' || n from generate_series(1, 5) n`,
    [accountId, brandId],
  );
  // The lists contain a half, a fifth, a tenth and so on of the contacts.
  await query(
    `insert into list_members (list_id, contact_id)
     select l.n, c from unnest(array[2, 5, 10, 100, 1000]) with ordinality l (every, n), generate_series(1, $1, l.every) c`,
    [contacts],
  );
  await query(
    `insert into contact_activity select n, now() - interval '2 years' * random() from generate_series(1, $1::bigint) n where n % 10 < 7`,
    [contacts],
  );
  await query(
    `insert into event_names (id, brand_id, name) select n, $1, 'event_' || n from generate_series(1, ${NAMES}) n`,
    [brandId],
  );
  await inChunks('events', events, (from, to) =>
    query(eventsSql, [accountId, brandId, contacts, events, from, to]),
  );
  await inChunks('engagement', engagement, (from, to) =>
    query(engagementSql, [brandId, contacts, engagement, from, to]),
  );
}

/** Fills a brand table by table, and leaves the tables in the state that autovacuum brings about after a while. */
export async function fillAudience(stage: Stage, audience: Audience): Promise<void> {
  const client = await stage.database.pool.connect();
  try {
    await client.query('set statement_timeout = 0');
    await client.query('set synchronous_commit = off');
    await fillTables((text, values = []) => client.query(text, values), stage, audience);
    progress('vacuum');
    for (const table of [
      'contacts',
      'list_members',
      'contact_activity',
      'contact_events',
      'contact_engagement',
      'event_names',
    ]) {
      await client.query(`vacuum (analyze) ${table}`);
    }
    await client.query('checkpoint');
  } finally {
    client.release(true);
  }
}
