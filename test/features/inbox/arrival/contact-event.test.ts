// A mail that arrived is an event of its contact: clients see it, flows act on it, and each mail is one event.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { lockBrands, lockContacts } from '../../../../src/features/contact-events/consumers.ts';
import { MAX_NAMES } from '../../../../src/features/contact-events/names.ts';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import { advanceRun } from '../../../../src/features/flows/run/advance.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { type ReceivedMail, trackReceived } from '../../../../src/features/inbox/arrival/contact-event.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { eventually } from '../../../support/eventually.ts';
import { activeFlow } from '../../../support/flow-requests.ts';
import { insertFlow, insertRun, pathOf, runRow, sendsNothing } from '../../../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { countWaiting } from '../../../support/waiting.ts';

let api: TestApi;
/** A brand of another account, without flows. */
let other: QueuedAccount;
let contactId: number;
let woken: string[];
let mails = 0;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  woken = [];
  other = await insertAccount(api.database);
  [contactId = 0] = await insertContacts(api.database.pool, api, 1, `writer${(mails += 1)}-`);
});

const pool = () => api.database.pool;
const waker = { wake: (channel: string) => void woken.push(channel) };

function mail(rest: Partial<ReceivedMail> = {}): ReceivedMail {
  const { accountId, brandId } = api;
  return {
    accountId,
    brandId,
    contactId,
    conversationId: 70,
    conversationMessageId: (mails += 1),
    inboxId: 7,
    subject: 'Re: Your receipt',
    text: 'Thank you!',
    autoSubmitted: false,
    ...rest,
  };
}

/** Tracks mails as arrival does, and then does what is to be done after the commit. */
async function receive(received: readonly ReceivedMail[]): Promise<void> {
  const consumers = createTrackedEventConsumers({ waker });
  const afterCommit = await inTransaction(pool(), (trx) => trackReceived(trx, consumers, received));
  for (const then of afterCommit) then();
}

async function eventsOf(id = contactId): Promise<Record<string, unknown>[]> {
  const { body } = await api.request('GET', `/v1/my/events?contact_id=${id}`);
  return body as unknown as Record<string, unknown>[];
}

async function interactedAt(id: number): Promise<Date | undefined> {
  const { rows } = await pool().query<{ at: Date }>(
    'select last_interacted_at as at from contact_activity where contact_id = $1',
    [id],
  );
  return rows[0]?.at;
}

/** Activates a flow that mail starts. @returns its id */
const mailFlow = () =>
  activeFlow(api, {
    trigger: { event: 'email_received' },
    steps: [{ type: 'update_contact', data: { wrote: true } }],
  });

async function entriesOf(flowId: number): Promise<Record<string, unknown>[]> {
  const { rows } = await pool().query<Record<string, unknown>>(
    `select contact_id, test, chain_depth, event ->> 'name' as name, event -> 'data' as data,
       event -> 'mail' as mail from flow_entries
     where flow_id = $1 order by id`,
    [flowId],
  );
  return rows;
}

describe('trackReceived', () => {
  it('tracks an event that Carillon generated, with what clients and filters read', async () => {
    const received = mail();
    await receive([received]);
    expect(await eventsOf()).toMatchObject([
      {
        event: 'email_received',
        contact_id: contactId,
        user_id: null,
        generated: true,
        caused_by_mail: true,
        test: false,
        chain_depth: 0,
        idempotency_key: `email_received:${received.conversationMessageId}`,
        data: {
          conversation_id: 70,
          conversation_message_id: received.conversationMessageId,
          inbox_id: 7,
          subject: 'Re: Your receipt',
          text: 'Thank you!',
          auto_submitted: false,
        },
      },
    ]);
    const { body: timeline } = await api.request('GET', `/v1/my/contacts/${contactId}/timeline`);
    expect(timeline).toMatchObject([
      { type: 'event', event: { event: 'email_received', data: { subject: 'Re: Your receipt' } } },
    ]);
  });

  it('keeps 4 KB of the text, in whole characters, and a bounded subject', async () => {
    await receive([mail({ subject: 's'.repeat(300_000), text: `x${'€'.repeat(2_000)}` })]);
    const [event] = await eventsOf();
    expect(event?.data).toMatchObject({ subject: 's'.repeat(1_000), text: `x${'€'.repeat(1_365)}` });
  });

  it('tracks a mail without subject and text', async () => {
    await receive([mail({ subject: null, text: null })]);
    expect(await eventsOf()).toMatchObject([{ data: { subject: null, text: null } }]);
  });

  it('tracks each mail once, and the mails of several brands at once', async () => {
    const [stranger = 0] = await insertContacts(pool(), other, 1, 'stranger');
    const received = [mail(), mail(), mail({ ...other, contactId: stranger })];
    await receive(received);
    await receive(received);
    expect(await eventsOf()).toHaveLength(2);
    const { rows } = await pool().query('select 1 from contact_events where contact_id = $1', [stranger]);
    expect(rows).toHaveLength(1);
  });

  it('tracks nothing for a contact that was deleted, and does not fail the others', async () => {
    await receive([mail({ contactId: 999_999_999 }), mail()]);
    expect(await eventsOf()).toHaveLength(1);
  });

  it('tracks the event even if the brand has used up its event names', async () => {
    await pool().query(
      `insert into event_names (brand_id, name) select $1, 'n' || n from generate_series(1, $2) n`,
      [other.brandId, MAX_NAMES],
    );
    const [id = 0] = await insertContacts(pool(), other, 1, 'full');
    await receive([mail({ ...other, contactId: id })]);
    const { rows } = await pool().query('select 1 from contact_events where contact_id = $1', [id]);
    expect(rows).toHaveLength(1);
  });

  it('counts as an interaction of the contact, unless the mail is automatic', async () => {
    const [silent = 0, wrote = 0] = await insertContacts(pool(), api, 2, `both${mails}-`);
    await receive([mail({ contactId: silent, autoSubmitted: true }), mail({ contactId: wrote })]);
    expect(await interactedAt(silent)).toBeUndefined();
    expect(await interactedAt(wrote)).toBeInstanceOf(Date);
    expect(await eventsOf(silent)).toMatchObject([{ data: { auto_submitted: true } }]);
  });

  it('lets the contact enter the flows that the event starts', async () => {
    const flowId = await mailFlow();
    const received = mail();
    await receive([received]);
    expect(await entriesOf(flowId)).toMatchObject([
      {
        contact_id: contactId,
        test: false,
        chain_depth: 0,
        name: 'email_received',
        data: { conversation_message_id: received.conversationMessageId, auto_submitted: false },
        mail: {
          conversation_message_id: received.conversationMessageId,
          inbox_id: 7,
          auto_submitted: false,
        },
      },
    ]);
    expect(woken).toContain('flow_entries');
  });

  it('takes the lock of the brand and then that of the contact, so that a run that begins to wait misses no mail', async () => {
    await mailFlow();
    let arrived: Promise<void> = Promise.resolve();
    await inTransaction(pool(), async (trx) => {
      await lockContacts(trx, [contactId], 'exclusive');
      arrived = receive([mail()]);
      await eventually(async () => expect(await countWaiting(pool(), "locktype = 'advisory'")).toBe(1));
      expect(await eventsOf()).toEqual([]);
    });
    await arrived;
    expect(await eventsOf()).toHaveLength(1);
    await inTransaction(pool(), async (trx) => {
      await lockBrands(trx, [api.brandId], 'exclusive');
      arrived = receive([mail()]);
      await eventually(async () => expect(await countWaiting(pool(), "locktype = 'advisory'")).toBe(1));
    });
    await arrived;
    expect(await eventsOf()).toHaveLength(2);
  });
});

describe('runs of flows', () => {
  const advance = (runId: number) =>
    advanceRun(
      {
        pool: pool(),
        versions: createFlowVersionReader(pool()),
        send: sendsNothing,
        consumers: createTrackedEventConsumers({ waker }),
        waker,
        log: pino({ level: 'silent' }),
      },
      runId,
      new Date(),
    );

  it('end their wait for mail, and branch on what it says', async () => {
    const wait = { type: 'wait_for_event', event_name: 'email_received', duration: 3_600 } as const;
    const flow = await insertFlow(pool(), api, {
      steps: [
        {
          ...wait,
          id: 1,
          filters: [
            { name: 'received.auto_submitted', predicate: 'false' },
            { name: 'received.text', predicate: 'cont', value: 'agree' },
          ],
          yes: [{ type: 'exit', id: 2, reason: 'agreed' }],
          no: [],
        },
      ],
    });
    await pool().query('insert into flow_brands values ($1) on conflict do nothing', [api.brandId]);
    const runId = await insertRun(pool(), api, flow, contactId);
    await advance(runId);
    await receive([mail({ text: 'I agree', autoSubmitted: true }), mail({ text: 'No thanks' })]);
    await advance(runId);
    expect(await pathOf(pool(), runId)).toEqual([]);
    await receive([mail({ text: 'I agree' })]);
    expect(woken).toContain('outbox');
    await advance(runId);
    expect(await pathOf(pool(), runId)).toEqual(['1 yes', '2 exit']);
    expect((await runRow(pool(), runId))?.reason).toBe('agreed');
  });

  it('end when mail is their goal', async () => {
    const steps: Step[] = [{ type: 'wait', id: 1, duration: 3_600 }];
    const flow = await insertFlow(pool(), api, { steps, goal: 'email_received' });
    await pool().query('insert into flow_brands values ($1) on conflict do nothing', [api.brandId]);
    const runId = await insertRun(pool(), api, flow, contactId);
    await advance(runId);
    await receive([mail()]);
    await advance(runId);
    expect((await runRow(pool(), runId))?.reason).toBe('goal');
  });
});
