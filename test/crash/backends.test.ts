import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { killBackends } from '../support/crash/backends.ts';
import { findingsOf } from '../support/crash/findings.ts';
import { scale } from '../support/crash/scale.ts';
import { send } from '../support/crash/send-and-kill.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';

const { messages: count, ...kills } = scale.backends;

let stage: CrashStage;

beforeAll(async () => {
  stage = await openCrashStage({ furtherSenders: 1, smtpReplyMs: 100 });
}, 180_000);

afterAll(async () => {
  await stage.close();
}, 60_000);

async function registered(): Promise<unknown[]> {
  const { rows } = await stage.database.pool.query('select id, role, pid from processes order by id');
  return rows;
}

describe.each(scale.seeds)('connections that are killed in the database during sending (seed %i)', (seed) => {
  it('cost no process its id, repeat no mail and lose none', async () => {
    const before = await registered();
    expect(before).toHaveLength(5);
    const run = send(stage, { prefix: `backends-${seed}`, count });
    const [killed] = await Promise.all([killBackends(stage, { seed, ...kills }), run.done]);
    expect(new Set(killed).size).toBeGreaterThan(2);
    const findings = await findingsOf(stage, {
      ...run,
      held: { intended: [], claimed: [] },
      restartedAt: Date.now(),
    });
    expect(findings).toMatchObject({
      messages: count,
      messageIds: count,
      missing: [],
      repeated: 0,
      changed: [],
      statuses: { sent: count },
      unreported: [],
    });
    const roles = [stage.api, stage.worker, ...stage.senders];
    expect(roles.filter(({ deaths }) => deaths > 0).map(({ name }) => name)).toEqual([]);
    expect(roles.filter((role) => /took over|taken for dead/.test(role.log()))).toEqual([]);
    expect(await registered()).toEqual(before);
  }, 400_000);
});
