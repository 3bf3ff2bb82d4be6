import { expect } from '@jest/globals';
import type { Findings } from './findings.ts';
import type { CrashStage } from './stage.ts';

/** A failure that no Carillon process dies of. */
export interface Survival {
  /** @throws if a message was lost, changed or repeated, or if a process died or was taken for dead */
  expectUnharmed(findings: Findings, count: number): Promise<void>;
}

async function registered(stage: CrashStage): Promise<unknown[]> {
  const { rows } = await stage.database.pool.query('select id, role, pid from processes order by id');
  return rows;
}

/** Remembers the stage's processes, which a failure must not change. */
export async function watchSurvivors(stage: CrashStage): Promise<Survival> {
  const roles = [stage.api, stage.worker, ...stage.senders];
  const before = await registered(stage);
  expect(before).toHaveLength(roles.length);
  return {
    async expectUnharmed(findings, count) {
      expect(findings).toMatchObject({
        messages: count,
        messageIds: count,
        missing: [],
        repeated: 0,
        changed: [],
        statuses: { sent: count },
        unreported: [],
      });
      expect(roles.filter(({ deaths }) => deaths > 0).map(({ name }) => name)).toEqual([]);
      expect(roles.filter((role) => /took over|declared dead/.test(role.log()))).toEqual([]);
      expect(await registered(stage)).toEqual(before);
    },
  };
}
