// Migrations can be rolled back and reapplied, run once among concurrent processes, and preserve stored data.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { migrate, missingMigrations, rollback } from '../../src/platform/db/migrate.ts';
import { onClient } from '../../src/platform/db/queryable.ts';
import { missingFunctions } from '../../src/platform/db/sql/install.ts';
import { productFunctions } from '../../src/platform/db/sql/names.ts';
import { insertContacts } from '../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertCohort } from '../support/flow-cohorts.ts';
import { insertFlow, insertRun } from '../support/flow-runs.ts';
import { insertAccount } from '../support/queued.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const names = migrations.map((migration) => migration.name);

/** Names of the tables, indexes, sequences and functions in the schema. */
async function objects(): Promise<string[]> {
  const { rows } = await test.database.pool.query<{ name: string }>(
    `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace
     union all select proname::text from pg_proc where pronamespace = 'public'::regnamespace order by name`,
  );
  return rows.map((row) => row.name);
}

describe('migrations', () => {
  it('can all be rolled back and applied again, with the same schema as before', async () => {
    const before = await objects();
    expect(await rollback(test.url)).toEqual([...names].reverse());
    expect(await objects()).toEqual(['migrations', 'migrations_pkey']);
    expect(await missingMigrations(test.database.pool)).toEqual(names);
    expect(await migrate(test.url, upkeep.partitions)).toMatchObject({ applied: names });
    expect(await objects()).toEqual(before);
    expect(await missingMigrations(test.database.pool)).toEqual([]);
  });

  it('can be rolled back to a given one', async () => {
    expect(await rollback(test.url, names[1])).toEqual(names.slice(2).reverse());
    expect(await migrate(test.url, upkeep.partitions)).toMatchObject({ applied: names.slice(2) });
  });

  it('do not stop the runs of flows while an index of the steps of all versions is built', async () => {
    const name = '0123_flow_header_secrets';
    await rollback(test.url, names[names.indexOf(name) - 1]);
    const modes = await onClient(test.database.pool, async (client) => {
      await client.query(`begin; ${migrations.find((each) => each.name === name)?.up ?? ''}`);
      const { rows } = await client.query<{ mode: string }>(
        `select mode from pg_locks where relation = 'flow_versions'::regclass and pid = pg_backend_pid()`,
      );
      await client.query('rollback');
      return rows.map(({ mode }) => mode);
    });
    await migrate(test.url, upkeep.partitions);
    expect(modes).not.toContain('AccessExclusiveLock');
  });

  it('are followed by the functions of this version, also if these are missing', async () => {
    const { pool } = test.database;
    await migrate(test.url, upkeep.partitions);
    const [first] = productFunctions().all;
    await pool.query(`drop function ${first?.name}`);
    expect(await missingFunctions(pool)).toEqual([first?.name]);
    expect(await migrate(test.url, upkeep.partitions)).toEqual({ applied: [], functions: [first?.name] });
    expect(await missingFunctions(pool)).toEqual([]);
    expect(await migrate(test.url, upkeep.partitions)).toEqual({ applied: [], functions: [] });
  });

  it('are applied once if twenty processes migrate at the same time', async () => {
    await rollback(test.url);
    const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(test.url, upkeep.partitions)));
    expect(applied.filter((each) => each.applied.length > 0)).toEqual([
      { applied: names, functions: productFunctions().all.map(({ name }) => name) },
    ]);
  });

  it('keep messages with their contents and events as they move into partitions and back', async () => {
    const { pool } = test.database;
    const rows = async () => {
      const { rows: found } = await pool.query(
        `select m.id, m.subject, c.text, e.type from messages m
         join message_contents c on c.message_id = m.id join message_events e on e.message_id = m.id order by 1`,
      );
      return found;
    };
    const send = `with m as (insert into messages (account_id, brand_id, channel, status, subject)
        values (1, 1, 'email', 'sent', $1) returning id),
      c as (insert into message_contents (message_id, text) select id, $1 from m)
      insert into message_events (message_id, attempt, type) select id, 1, 'sent' from m`;
    await migrate(test.url, upkeep.partitions);
    await rollback(test.url, '0010_message_response');
    await pool.query(send, ['one']);
    const [one] = await rows();
    await migrate(test.url, upkeep.partitions);
    await pool.query(send, ['two']);
    const both = [one, { ...one, id: Number(one.id) + 1, subject: 'two', text: 'two' }];
    expect(await rows()).toEqual(both);
    await rollback(test.url, '0010_message_response');
    expect(await rows()).toEqual(both);
    await pool.query(send, ['three']);
    expect((await rows()).map((row) => row.id)).toEqual([1, 2, 3]);
    await migrate(test.url, upkeep.partitions);
  });

  it('count the results of validations under way, and keep the counts of those that have ended', async () => {
    const { pool } = test.database;
    await migrate(test.url, upkeep.partitions);
    await rollback(test.url, '0055_flow_bounds');
    await pool.query(
      `with a as (insert into accounts (name, tier) values ('Acme', 'trusted') returning id),
       b as (insert into brands (account_id) select id from a returning id, account_id),
       o as (insert into validation_operations (account_id, brand_id, status, audience_kind, audience_ids,
           audience_digest, max_contact_id, candidate_count, chargeable_count, charged_count, deliverable_count)
         select account_id, b.id, status, 'contact_ids', '{}', '', 9, 4, 4, charged, deliverable from b,
           (values ('running', 0, null), ('completed', 7, 7)) v (status, charged, deliverable) returning id, status)
       insert into validation_items (operation_id, contact_id, chargeable, charged, verdict)
       select o.id, n, n > 1, n = 2, case n when 1 then 'risky' when 2 then 'deliverable' when 3 then 'unknown' end
       from o, generate_series(1, 4) n where o.status = 'running' or n = 2`,
    );
    await migrate(test.url, upkeep.partitions);
    const { rows } = await pool.query(
      `select status, deliverable_count as deliverable, undeliverable_count as undeliverable, risky_count as risky,
         unknown_count as unknown, priced_count as priced, checked_chargeable_count as chargeable
       from validation_operations order by id`,
    );
    expect(rows).toEqual([
      { status: 'running', deliverable: 1, undeliverable: 0, risky: 1, unknown: 1, priced: 1, chargeable: 2 },
      {
        status: 'completed',
        deliverable: 7,
        undeliverable: 0,
        risky: 0,
        unknown: 0,
        priced: 7,
        chargeable: 1,
      },
    ]);
  });

  it('mark the answers in conversations, and no other messages', async () => {
    const { pool } = test.database;
    await migrate(test.url, upkeep.partitions);
    await rollback(test.url, '0126_caused_by_mail');
    await pool.query(
      `with a as (insert into accounts (name, tier) values ('Acme', 'trusted') returning id),
       b as (insert into brands (account_id) select id from a returning id, account_id),
       i as (insert into inboxes (account_id, brand_id, address, address_key)
         select account_id, id, 'a@b.test', 'a@b.test' from b returning id),
       c as (insert into conversations (account_id, brand_id, inbox_id, subject, participants)
         select account_id, b.id, i.id, 'Question', '{}' from b, i returning id),
       m as (insert into messages (account_id, brand_id, channel, status, subject)
         select account_id, b.id, 'email', 'sent', subject from b, (values ('Re: Question'), ('News')) v (subject)
         returning id, subject)
       insert into conversation_messages (account_id, brand_id, inbox_id, conversation_id, direction, message_id,
         from_address, arrived_at)
       select account_id, b.id, i.id, c.id, 'outbound', m.id, 'a@b.test', now() from b, i, c, m
       where m.subject <> 'News'`,
    );
    await migrate(test.url, upkeep.partitions);
    const { rows } = await pool.query(
      `select subject, answers_mail from messages where subject in ('Re: Question', 'News') order by id`,
    );
    expect(rows).toEqual([
      { subject: 'Re: Question', answers_mail: true },
      { subject: 'News', answers_mail: null },
    ]);
  });

  it('give runs of cohorts workflows of their own on the way back', async () => {
    const { pool } = test.database;
    await migrate(test.url, upkeep.partitions);
    const account = await insertAccount(test.database);
    const flow = await insertFlow(pool, account, { steps: [] });
    const contacts = await insertContacts(pool, account, 4);
    const { runs } = await insertCohort(pool, account, flow, contacts.slice(0, 3));
    const [ended = 0, held = 0, waiting = 0] = runs;
    const single = await insertRun(pool, account, flow, contacts[3] ?? 0);
    await pool.query(
      `update flow_runs set state = case id when $1 then 'completed' else 'active' end,
         waits_for = case id when $2 then 'resume' when $3 then 'time' end,
         due_at = case id when $3 then now() + interval '30 days' end where id = any($4)`,
      [ended, held, waiting, runs],
    );
    const expected = async () => {
      const { rows } = await pool.query<{ id: number }>(
        'select id from flow_runs where engine_expected_by <= now() and id >= $1 order by id',
        [ended],
      );
      return rows.map(({ id }) => id);
    };
    expect(await expected()).toEqual([]);
    await rollback(test.url, names[names.indexOf('0156_flow_cohorts') - 1]);
    expect(await expected()).toEqual([held, waiting]);
    await migrate(test.url, upkeep.partitions);
    expect(await expected()).toEqual([held, waiting]);
    const { rows } = await pool.query<{ id: number }>(
      `select id from flow_runs where cohort_id is null and state = 'active' order by id`,
    );
    expect(rows.map(({ id }) => id)).toEqual([held, waiting, single]);
  });

  it('hide the lists that the service filled with recipients of campaigns, and no others', async () => {
    const { pool } = test.database;
    await migrate(test.url, upkeep.partitions);
    await rollback(test.url, '0108_import_claims');
    await pool.query(
      `with a as (insert into accounts (name, tier) values ('Acme', 'trusted') returning id),
       b as (insert into brands (account_id) select id from a returning id, account_id),
       l as (insert into lists (account_id, brand_id, name, created_at)
         select account_id, b.id, v.name, now() + v.later from b, (values
           ('Recipients', interval '0'), ('Copy, renamed', '1 hour'), ('Spring: not opened', '2 hours'),
           ('Newsletter', '3 hours'), ('Filled later', '4 hours'), ('Mail: not opened', '5 hours')) v (name, later)
         returning id, account_id, brand_id, name, created_at),
       f as (insert into campaign_list_fills (account_id, brand_id, campaign_id, list_id, filters, up_to, created_at)
         select account_id, brand_id, 1, id, '{}', 0, case name when 'Recipients' then created_at else now() end
         from l where name in ('Recipients', 'Filled later'))
       insert into campaigns (account_id, brand_id, channel, name, contact_list_id, created_at)
       select account_id, brand_id, 'email', case name when 'Spring: not opened' then 'Spring' else name end,
         case when name <> 'Spring: not opened' then id end,
         case name when 'Copy, renamed' then created_at else now() end
       from l where name in ('Copy, renamed', 'Spring: not opened', 'Newsletter')`,
    );
    await migrate(test.url, upkeep.partitions);
    const { rows } = await pool.query<{ name: string; visible: boolean }>(
      'select name, visible from lists order by id',
    );
    const named = (visible: boolean) => rows.filter((row) => row.visible === visible).map((row) => row.name);
    expect(named(false)).toEqual(['Recipients', 'Copy, renamed', 'Spring: not opened']);
    expect(named(true)).toEqual(['Newsletter', 'Filled later', 'Mail: not opened']);
  });

  it('rename filters without effect in drafts of campaigns, so that publishing gives them none', async () => {
    const { pool } = test.database;
    await migrate(test.url, upkeep.partitions);
    await rollback(test.url, '0119_visible_lists');
    const dataOf = (data: unknown) => ({ name: 'Spring', trigger_attributes: { data, segment_id: null } });
    const inert = { filters: { any: 'shape' }, note: 'mine' };
    await pool.query(
      `with a as (insert into accounts (name, tier) values ('Acme', 'trusted') returning id),
       b as (insert into brands (account_id) select id from a returning id, account_id),
       c as (insert into campaigns (account_id, brand_id, channel, name)
         select account_id, id, 'email', v::text from b, generate_series(1, 3) v returning id, account_id, brand_id, name)
       insert into drafts (account_id, brand_id, campaign_id, content, base_content, base)
       select account_id, brand_id, id, ($1::json[])[name::int], ($2::json[])[name::int], '"1"' from c`,
      [
        [dataOf(inert), dataOf({ filters: [] }), { trigger_attributes: 'unfinished' }].map((content) =>
          JSON.stringify(content),
        ),
        [dataOf({ filters: 7 }), dataOf({ note: 'mine' }), null].map(
          (content) => content && JSON.stringify(content),
        ),
      ],
    );
    const drafts = async () =>
      (
        await pool.query<{ revision: number }>(
          'select content, base_content, revision from drafts order by id',
        )
      ).rows;
    const before = await drafts();
    await migrate(test.url, upkeep.partitions);
    const [first, ...others] = await drafts();
    expect(first).toMatchObject({
      content: dataOf({ inert_filters: { any: 'shape' }, note: 'mine' }),
      base_content: dataOf({ inert_filters: 7 }),
    });
    // An editor that has the draft open cannot save the former name.
    expect(first?.revision).toBeGreaterThan(before[2]?.revision ?? 0);
    expect(others).toEqual(before.slice(1));
  });
});
