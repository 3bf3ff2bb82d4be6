// The path of a simulated contact leads through the branches that it takes, by steps that have no ids yet, too.
import { describe, expect, it } from '@jest/globals';
import type { Schemas } from '../../../console/src/api/client.ts';
import { answersOf, NOTHING } from '../../../console/src/pages/flows/editor/assumptions.ts';
import { stepAtPath, type FlowContent, type Step } from '../../../console/src/pages/flows/editor/model.ts';
import { keyOf, layOutFlow } from '../../../console/src/pages/flows/flow-layout.ts';
import { simulatedPath } from '../../../console/src/pages/flows/taken-path.ts';

const steps: Step[] = [
  {
    ...{ type: 'condition', ref: 'condition_1', filters: [] },
    yes: [{ type: 'sms', ref: 'sms_1', body: 'Hi' }],
    no: [{ type: 'email', id: 4, subject: 'Hi' }],
  },
  { type: 'wait_for_event', id: 5, event_name: 'bought', duration: 60, yes: [], no: [] },
];

const taken = (position: string, id: number, outcome: string) => ({
  ...{ step_id: id, position, type: 'any', outcome, detail: null },
  ...{ entered_at: '2026-03-02T08:00:00Z', left_at: '2026-03-02T08:00:00Z' },
});

const simulation: Schemas['FlowSimulation'] = {
  passes_filters: true,
  path: [taken('steps[0]', 6, 'yes'), taken('steps[0].yes[0]', 7, 'sent'), taken('steps[1]', 5, 'timeout')],
  ends: { state: 'completed', reason: 'end', at: '2026-03-02T09:00:00Z' },
};

const pathOfRun = (changes: Partial<Schemas['FlowSimulation']> = {}) =>
  simulatedPath({ ...simulation, ...changes }, (position) => stepAtPath(steps, position)?.key ?? null);

describe('the path of a simulated contact', () => {
  it('finds steps by their position, and shows what they decide', () => {
    const takenPath = pathOfRun();
    const states = layOutFlow(steps).steps.map(({ step }) => [keyOf(step), takenPath.stateOf(step)]);
    expect(states).toEqual([
      ['condition_1', 'taken'],
      ['sms_1', 'taken'],
      [4, 'other'],
      [5, 'taken'],
    ]);
    expect([takenPath.noteOf('condition_1'), takenPath.noteOf(4)]).toEqual(['yes', '']);
  });

  it('follows the edges of the branches that were taken, to the end', () => {
    const takenPath = pathOfRun();
    const edges = layOutFlow(steps).edges.filter(takenPath.isTaken);
    expect(edges.map(({ branch, to }) => [branch?.outcome ?? null, to])).toEqual([
      [null, 'condition_1'],
      ['yes', 'sms_1'],
      ['yes', 5],
      [null, 5],
      ['timeout', null],
      [null, null],
    ]);
  });

  it('goes nowhere if the contact does not enter', () => {
    const takenPath = pathOfRun({ passes_filters: false });
    expect(layOutFlow(steps).edges.filter(takenPath.isTaken)).toEqual([]);
  });
});

describe('what a simulation assumes', () => {
  const content: FlowContent = {
    ...{ name: 'Welcome', goal: null, steps },
    trigger: { event: 'signed_up', segment_id: null, contact_list_id: null, data: {} },
  };

  it('is sent by the keys of the steps, without what is left open', () => {
    const assumptions = {
      condition_1: { ...NOTHING, choice: 'no' },
      4: { ...NOTHING, choice: 'clicked' },
      5: { choice: 'event', event: { minutes: '1.5', data: { total: 7 } } },
    };
    expect(answersOf(content, assumptions)).toEqual({
      condition_1: 'no',
      4: { opened: true, clicked: true },
      5: { after_seconds: 90, data: { total: 7 } },
    });
    expect(answersOf(content, { condition_1: NOTHING })).toEqual({});
  });

  it('says nothing about steps that are gone', () => {
    expect(answersOf(content, { email_9: { ...NOTHING, choice: 'opened' } })).toEqual({});
  });
});
