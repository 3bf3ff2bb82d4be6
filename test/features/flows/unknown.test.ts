// A flow says what happens to messages that may have been lost, and a client has them sent again once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sandboxAddress } from '../../../src/delivery/terms/sender-identity.ts';
import { type TestApi, startTestApi } from '../../support/api.ts';
import { insertVerifiedDomain } from '../../support/domains.ts';
import {
  actOnFlow,
  activeFlow,
  changeFlow,
  createFlow,
  flowOf,
  showFlow,
} from '../../support/flow-requests.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from '../../support/flow-sends.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
}, 120_000);
afterAll(() => api.close());

const query = async (text: string, ...values: unknown[]) =>
  (await api.database.pool.query<Record<string, unknown>>(text, values)).rows;

describe('what a flow says about messages that may have been lost', () => {
  it('is to leave them unless it is set, is kept by a copy, and is checked', async () => {
    const { body } = await createFlow(api, { trigger: { event: 'signed_up' } });
    expect(body.unknown).toBe('leave');
    const id = await flowOf(api, { unknown: 'resend' });
    expect((await showFlow(api, id)).body.unknown).toBe('resend');
    expect((await actOnFlow(api, id, 'duplicate')).body.unknown).toBe('resend');
    const refused = await changeFlow(api, id, { unknown: 'retry' });
    expect(refused.status).toBe(422);
    expect(Object.keys(refused.body.validation_errors as object)).toEqual(['unknown']);
    expect((await showFlow(api, id)).body.unknown).toBe('resend');
  });

  it('changes at once while the flow is active, without a new version', async () => {
    const id = await activeFlow(api, { steps: [{ type: 'wait', duration: 60 }] });
    const versions = () =>
      query('select count(*)::int as n, max(id) as last from flow_versions where flow_id = $1', id);
    const [before, { body: flow }] = [await versions(), await showFlow(api, id)];
    const { status, body } = await changeFlow(api, id, { unknown: 'resend' });
    expect([status, body.unknown, body.status]).toEqual([200, 'resend', 'active']);
    expect(body.revision).not.toBe(flow.revision);
    expect(await versions()).toEqual(before);
  });
});

describe('POST /flows/{id}/resend_unknown', () => {
  let flowId: number;
  let steps: Awaited<ReturnType<typeof writeFlow>>['steps'];
  let people = 0;

  beforeEach(async () => {
    ({ flowId, steps } = await writeFlow(api.database, api, [{}, { channel: 'sms' }]));
  });

  /** Writes a message of the flow whose sender died. @param set SQL: what is different about it */
  async function lose(set = '', step = 0): Promise<number> {
    people += 1;
    const contact = { email: `p${people}@example.com`, phone: `+1415555${1_000 + people}` };
    const contactId = await writeContact(api.database, api, contact);
    const run = await writeRun(api.database, api, flowId, contactId);
    const { messageId } = await send(api.database, testFlowSender(), run, steps[step]);
    await query('delete from send_queue where message_id = $1', messageId);
    await query(
      `insert into message_events (message_id, attempt, type) values ($1, 1, 'unknown')`,
      messageId,
    );
    await query(
      `update messages set status = 'unknown', attempt_count = 1, unknown_at = '2026-03-01T08:00:00Z'
       where id = $1`,
      messageId,
    );
    if (set !== '') await query(`update messages set ${set} where id = $1`, messageId);
    return messageId;
  }

  const resend = (headers: Record<string, string> = {}) =>
    api.request('POST', `/v1/my/flows/${flowId}/resend_unknown`, { headers });
  const queued = () =>
    query(
      `select message_id as id, channel, attempt_count as attempts, domain_id as domain, price_units as units
       from send_queue where flow_id = $1 order by message_id`,
      flowId,
    );

  it('queues each message once, and the same request again queues none', async () => {
    const [email, text] = [await lose(), await lose('', 1)];
    const again = { 'Idempotency-Key': `again-${flowId}` };
    expect((await resend(again)).body).toEqual({ requeued_count: 2 });
    // They are charged already.
    const row = { attempts: 1, domain: null, units: 0 };
    const rows = [
      { id: email, channel: 'email', ...row },
      { id: text, channel: 'sms', ...row },
    ];
    expect(await queued()).toEqual(rows);
    const replayed = await resend(again);
    expect(replayed.headers.get('Idempotent-Replayed')).toBe('true');
    expect([replayed.status, replayed.body]).toEqual([200, { requeued_count: 2 }]);
    expect((await resend()).body).toEqual({ requeued_count: 0 });
    expect(await queued()).toEqual(rows);
  });

  it('leaves out messages that are known, were refused since, or were given up', async () => {
    const failed = (code: string) => `failure = '{"code": "${code}", "message": "…"}'`;
    await lose();
    await query(`update flows set canceled_to = nextval('messages_id_seq') where id = $1`, flowId);
    await lose(failed('unsubscribed'));
    await lose(failed('canceled'));
    await lose('contact_id = null, to_address = null, to_key = null');
    await lose('sent_at = now()');
    await lose(`status = 'sent', sent_at = now()`);
    await lose('test = true');
    // The event that it is made from has been deleted with the run.
    const [orphan] = await query('select flow_run_id as run from messages where id = $1', await lose());
    await query('delete from flow_runs where id = $1', orphan?.['run']);
    const [cleared] = await query('select flow_run_id as run from messages where id = $1', await lose());
    await query(
      `update flow_runs set state = 'completed', ended_at = now(), event = null where id = $1`,
      cleared?.['run'],
    );
    const late = await lose(failed('expired'));
    expect((await resend()).body).toEqual({ requeued_count: 1 });
    expect(await queued()).toMatchObject([{ id: late }]);
  });

  it('sends from the domain of the message, and refuses if the brand may no longer use it', async () => {
    const domainId = await insertVerifiedDomain(api.database, api, `d${flowId}.example`);
    const own = await lose(`from_address = '"Ada" <ada@d${flowId}.example>'`);
    const sandbox = await lose(`from_address = '${sandboxAddress(api.accountId, 'mail.test')}'`);
    await lose(`from_address = 'ada@gone.example'`);
    expect((await resend()).body).toEqual({ requeued_count: 2 });
    expect(await queued()).toMatchObject([
      { id: own, domain: domainId },
      { id: sandbox, domain: null },
    ]);
    const refused = await resend();
    expect([refused.status, refused.body.code]).toEqual([422, 'sender_not_verified']);
    expect(refused.body.message).toContain('ada@gone.example');
  });

  it('refuses texts from a number that the brand no longer has', async () => {
    const number = (sender: string, removedAt: string | null) =>
      query(
        `insert into sms_senders (account_id, brand_id, sender, takes_replies, removed_at) values ($1, $2, $3, true, $4)`,
        ...[api.accountId, api.brandId, sender, removedAt],
      );
    await number('+14155550123', '2026-03-01T09:00:00Z');
    await number('+14155550124', null);
    const [, kept] = [
      await lose(`from_address = '+14155550123'`, 1),
      await lose(`from_address = '+14155550124'`, 1),
    ];
    expect((await resend()).body).toEqual({ requeued_count: 1 });
    expect(await queued()).toMatchObject([{ id: kept, channel: 'sms' }]);
    const refused = await resend();
    expect([refused.status, refused.body.code]).toEqual([422, 'sender_not_verified']);
    expect(refused.body.message).toContain('+14155550123');
  });

  it.each(['draft', 'paused', 'archived'])('is refused if the flow is %s', async (status) => {
    await lose();
    await query('update flows set status = $2 where id = $1', flowId, status);
    const { body } = await resend();
    expect([body.code, body.message]).toEqual([
      'invalid_transition',
      `the flow is ${status}: resend unknown is not possible`,
    ]);
    expect(await queued()).toEqual([]);
  });

  it('shows in the path of a run that its message was unknown', async () => {
    const id = await lose(`status = 'sent', sent_at = now(), attempt_count = 2`);
    const [message] = await query('select flow_run_id as run from messages where id = $1', id);
    await query(
      `insert into flow_run_steps (run_id, flow_id, n, step_id, type, outcome, message_id, entered_at, left_at)
       values ($1, $3, 0, 1, 'email', 'sent', $2, now(), now())`,
      ...[message?.['run'], id, flowId],
    );
    const { body } = await api.request('GET', `/v1/my/flow_runs/${String(message?.['run'])}`);
    expect(body.path).toMatchObject([
      { message: { id, status: 'sent', attempt_count: 2, unknown_at: '2026-03-01T08:00:00.000Z' } },
    ]);
  });
});
