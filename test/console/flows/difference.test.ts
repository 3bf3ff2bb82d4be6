// The editor knows before it publishes whether runs under way keep their version, and which letters reach them anyway.
import { describe, expect, it } from '@jest/globals';
import type { FlowContent, Step } from '../../../console/src/pages/flows/editor/model.ts';
import { differenceOf } from '../../../console/src/pages/flows/editor/difference.ts';

const trigger = { event: 'signed_up', segment_id: null, contact_list_id: null, data: {} };
const email: Step = { type: 'email', id: 1, template_id: 7, subject: 'Hi', body: '<p>Hi</p>' };
const wait: Step = { type: 'wait', id: 2, duration: 60 };
const live = { name: 'Welcome', goal: null, trigger, steps: [email, wait] };

const difference = (changes: Partial<FlowContent>) =>
  differenceOf(live as unknown as Parameters<typeof differenceOf>[0], { ...live, ...changes });

describe('the difference between what is live and what would be published', () => {
  it('makes no version for another name, or for the same fields in another order', () => {
    expect(difference({ name: 'Hello' }).makesVersion).toBe(false);
    const { data, ...rest } = trigger;
    expect(difference({ trigger: { data, ...rest } }).makesVersion).toBe(false);
  });

  it('makes no version for a changed letter, which reaches runs under way', () => {
    const { makesVersion, letters } = difference({ steps: [{ ...email, subject: 'Hello' }, wait] });
    expect([makesVersion, letters.map(({ id }) => id)]).toEqual([false, [1]]);
  });

  it.each<[string, Partial<FlowContent>]>([
    ['an added step', { steps: [email, wait, { type: 'exit', ref: 'exit_1' }] }],
    ['a removed step', { steps: [email] }],
    ['a moved step', { steps: [wait, email] }],
    ['a changed wait', { steps: [email, { ...wait, duration: 90 }] }],
    ['another goal', { goal: 'bought' }],
    ['another trigger', { trigger: { ...trigger, event: 'bought' } }],
  ])('makes a version for %s, and names no letter', (_what, changes) => {
    const { makesVersion, letters } = difference(changes);
    expect([makesVersion, letters]).toEqual([true, []]);
  });

  it('names the steps at which runs would be left behind, not those that were moved', () => {
    const inBranch: Step = { type: 'condition', ref: 'condition_1', filters: [], yes: [email], no: [] };
    expect([...difference({ steps: [inBranch] }).removed]).toEqual([2]);
  });
});
