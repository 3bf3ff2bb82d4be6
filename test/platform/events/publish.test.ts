// An event is written once if any consumer wants it, and each interested consumer gets its own work.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createEvent, defineEvent, type PublishedEvent } from '../../../src/platform/events/define.ts';
import { createEventPublisher, type EventConsumer } from '../../../src/platform/events/publish.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { ignoreStatements } from '../../support/runner/sent-statements.ts';

const opened = defineEvent('door.opened', {
  sentWhen: 'A door was opened.',
  data: z.object({ door_id: z.int() }),
  sample: () => ({ door_id: 1 }),
});

/** A consumer that writes the events of one table's subscribers to a log. */
function consumerOf(name: 'bell' | 'lamp', channel: EventConsumer['channel']): EventConsumer {
  return {
    channel,
    subscriptionsSql: (type) =>
      `select brand_id from ${name}_subscribers where ${type === undefined ? 'true' : `${type} = any(types)`}`,
    workTable: `${name}_work`,
    queueSql: `
      ${name}_work as materialized (
        select i.id as event_id, i.n from new_events i join ${name}_subscribers s
          on i.type = any(s.types) and s.brand_id = i.brand_id
      ), ${name}_logged as (
        insert into consumed (consumer, event_id) select '${name}', event_id from ${name}_work order by n
      )`,
  };
}

ignoreStatements('publish_events');

const publisher = createEventPublisher([consumerOf('bell', 'webhook'), consumerOf('lamp', 'outbox')]);

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
  await test.database.pool.query(`
    create table bell_subscribers (account_id bigint, brand_id bigint, types text[]);
    create table lamp_subscribers (account_id bigint, brand_id bigint, types text[]);
    create table consumed (id serial, consumer text, event_id uuid)`);
});
afterAll(() => test.drop());
beforeEach(() => test.database.pool.query('truncate bell_subscribers, lamp_subscribers, consumed, events'));

async function subscribe(name: 'bell' | 'lamp', brandId: number, types = ['door.opened']): Promise<void> {
  await test.database.pool.query(`insert into ${name}_subscribers values (1, $1, $2)`, [brandId, types]);
}

function doorOpened(brandId: number): PublishedEvent {
  return createEvent(opened, { accountId: 1, brandId, occurredAt: new Date(), data: { door_id: brandId } });
}

function publish(events: PublishedEvent[]) {
  return inTransaction(test.database.pool, (trx) => publisher.publish(trx, events));
}

async function consumed(): Promise<string[]> {
  const { rows } = await test.database.pool.query<{ line: string }>(
    `select consumer || ' ' || (e.data ->> 'door_id') as line
     from consumed c join events e on e.id = c.event_id order by c.consumer, c.id`,
  );
  return rows.map(({ line }) => line);
}

async function isInterested(brandId: number, type?: string): Promise<boolean | undefined> {
  const { rows } = await test.database.pool.query<{ wanted: boolean }>(
    `select ${publisher.publication.interest('b.id', type && `'${type}'`)} as wanted from (select $1::bigint as id) b`,
    [brandId],
  );
  return rows[0]?.wanted;
}

describe('an event publisher with two consumers', () => {
  it('queues the work of each consumer and reports it by wake channel', async () => {
    await subscribe('bell', 1);
    await subscribe('bell', 2);
    await subscribe('lamp', 2);
    const queued = await publish([doorOpened(1), doorOpened(2), doorOpened(3)]);
    expect([...queued]).toEqual([
      ['webhook', 2],
      ['outbox', 1],
    ]);
    expect(await consumed()).toEqual(['bell 1', 'bell 2', 'lamp 2']);
  });

  it('writes an event once, whatever the number of consumers', async () => {
    await subscribe('bell', 1);
    await subscribe('lamp', 1);
    await publish([doorOpened(1)]);
    expect((await test.database.pool.query('select 1 from events')).rowCount).toBe(1);
  });

  it('names only the channels of consumers that got work', async () => {
    await subscribe('lamp', 1);
    expect([...(await publish([doorOpened(1)])).keys()]).toEqual(['outbox']);
  });

  it('writes no event that no consumer wants', async () => {
    await subscribe('bell', 1, ['door.closed']);
    await subscribe('lamp', 2);
    expect([...(await publish([doorOpened(1)]))]).toEqual([]);
    expect((await test.database.pool.query('select 1 from events')).rowCount).toBe(0);
  });

  it('has an interest in a brand if one of its consumers has', async () => {
    await subscribe('lamp', 2);
    expect([await isInterested(1), await isInterested(2)]).toEqual([false, true]);
    expect(await isInterested(2, 'door.opened')).toBe(true);
    expect(await isInterested(2, 'door.closed')).toBe(false);
  });
});
