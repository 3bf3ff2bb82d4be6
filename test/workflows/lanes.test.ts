// A lane attaches to one sender, steers its loop by signals, and moves to another only if that sender is gone.
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ensureLanes } from '../../src/platform/lanes/ensure.ts';
import { laneWorkflowId } from '../../workflows/lanes/contract.ts';
import { type LaneStage, startLaneStage } from './lane-stage.ts';
import { until } from './until.ts';

jest.setTimeout(120_000);

let stage: LaneStage;

beforeAll(async () => {
  stage = await startLaneStage();
}, 120_000);
afterEach(() => stage.clear());
afterAll(() => stage.stop());

describe('a lane', () => {
  it('shows its process, and steers its loop by signals', async () => {
    const sender = await stage.startSender();
    await stage.attachedTo(1, sender.id);
    await stage.attachedTo(1, sender.id, 'webhook');
    expect(await stage.laneProcess(1)).toBe(sender.id);

    await stage.signal(1, 'pause');
    await until(() => sender.send.report().mode === 'paused');
    expect(sender.webhook.report().mode).toBe('running');
    await until(async () => (await stage.stateOf(1)).mode === 'paused');
    await stage.signal(1, 'drain');
    await until(() => sender.send.report().mode === 'draining');
    await stage.signal(1, 'resume');
    await until(() => sender.send.report().mode === 'running');
  });

  it('describes to the operator where it is and what it waits for', async () => {
    const sender = await stage.startSender();
    await stage.attachedTo(1, sender.id);
    sender.send.set({
      providers: {
        smtp: { state: 'open', reason: 'connection refused', retryAt: '2030-01-01T00:00:00.000Z' },
      },
    });
    const handle = stage.client.workflow.getHandle(laneWorkflowId('send', 1));
    const details = await until(async () => {
      const text = await handle
        .query<string>('__temporal_workflow_metadata')
        .then((it) => JSON.stringify(it));
      return text.includes('connection refused') && text;
    });
    expect(details).toContain('host-1');
    expect(details).toContain('transactional 7');
    const { staticSummary, staticDetails } = await handle.describe().then(async (it) => ({
      staticSummary: await it.staticSummary(),
      staticDetails: await it.staticDetails(),
    }));
    expect(staticSummary).toBe('Sends messages, lane 1');
    expect(staticDetails).toContain('**pause**');
  });

  it('shows in the engine the line of code where it waits', async () => {
    const sender = await stage.startSender();
    await stage.attachedTo(1, sender.id);
    const handle = stage.client.workflow.getHandle(laneWorkflowId('send', 1));
    expect(await handle.query<string>('__stack_trace')).toMatch(/workflows\/lanes\/workflow\.ts:\d+/);
  });

  it('does not attach to a process that shows another lane of its kind', async () => {
    const first = await stage.startSender();
    const second = await stage.startSender();
    await ensureLanes(stage.client, stage.db.database, { force: true });
    for (const kind of ['send', 'webhook'] as const) {
      const processes = await until(async () => {
        const found = [await stage.laneProcess(1, kind), await stage.laneProcess(2, kind)];
        const states = [await stage.stateOf(1, kind), await stage.stateOf(2, kind)];
        return states.every((state, index) => state.report?.processId === found[index]) && found;
      }, 60_000);
      expect([...processes].sort()).toEqual([first.id, second.id].sort());
    }
  });

  it('leaves a stopping process at once, and does not change its loop', async () => {
    const first = await stage.startSender();
    await stage.attachedTo(1, first.id);
    const before = first.send.modes.length;
    await first.stop();
    const second = await stage.startSender();
    await stage.attachedTo(1, second.id);
    expect(first.send.modes.length).toBe(before);
  });

  it('attaches again on the signal restart, and keeps its mode', async () => {
    const sender = await stage.startSender();
    await stage.attachedTo(1, sender.id);
    await stage.signal(1, 'pause');
    await until(() => sender.send.report().mode === 'paused');
    await stage.signal(1, 'restart');
    await until(async () => {
      const history = await stage.client.workflow.getHandle(laneWorkflowId('send', 1)).fetchHistory();
      return history.events?.some((event) => event.activityTaskCanceledEventAttributes);
    });
    await stage.attachedTo(1, sender.id);
    expect(sender.send.report().mode).toBe('paused');
  });

  it('stays paused if its sender restarts while the engine is unavailable', async () => {
    const sender = await stage.startSender();
    await stage.attachedTo(1, sender.id);
    await stage.signal(1, 'pause');
    await until(async () => (await stage.stateOf(1)).mode === 'paused');
    await sender.stop();
    const again = await stage.startSender({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(again.send.modes).toEqual(['paused']);
    expect(again.webhook.modes).toEqual(['running']);
  });

  it('ends after two minutes with fewer senders than lanes, not sooner', async () => {
    const first = await stage.startSender();
    const second = await stage.startSender();
    await ensureLanes(stage.client, stage.db.database, { force: true });
    // For 15 s, a process accepts only the lane that it took over at its start.
    await until(async () => (await stage.stateOf(2)).report !== null, 45_000);
    await second.stop();
    await ensureLanes(stage.client, stage.db.database, { force: true });
    expect((await stage.stateOf(2)).retiring).toBe(false);
    await stage.db.database.pool.query(
      `update lanes set surplus_since = now() - interval '3 minutes' where n = 2`,
    );
    await ensureLanes(stage.client, stage.db.database, { force: true });
    await until(async () => {
      const { status } = await stage.client.workflow.getHandle(laneWorkflowId('send', 2)).describe();
      return status.name === 'COMPLETED';
    }, 60_000);
    await stage.attachedTo(1, first.id, 'send', 30_000);
    const { rows } = await stage.db.database.pool.query(`select n from lanes where kind = 'send'`);
    expect(rows).toEqual([{ n: 1 }]);
  }, 120_000);

  it('waits for its process to restart, even if another lane is free', async () => {
    const first = await stage.startSender();
    await stage.attachedTo(1, first.id);
    await stage.signal(1, 'pause');
    await until(() => first.send.report().mode === 'paused');
    await first.stop();
    await stage.db.database.pool.query(`insert into lanes (kind, n) values ('send', 2)`);
    const again = await stage.startSender();
    await ensureLanes(stage.client, stage.db.database, { force: true });
    await stage.attachedTo(1, again.id);
    expect(again.send.modes).not.toContain('running');
  });
});
