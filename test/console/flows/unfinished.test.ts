// The API is not asked about a flow while the editor knows that filters in it are not finished.
import { describe, expect, it } from '@jest/globals';
import type { FlowContent, Step } from '../../../console/src/pages/flows/editor/model.ts';
import { newStep } from '../../../console/src/pages/flows/editor/new-step.ts';
import { unfinishedOf } from '../../../console/src/pages/flows/editor/unfinished.ts';

const isPro = { name: 'data.plan', predicate: 'eq', value: 'pro' };
const flow = (steps: Step[], data: FlowContent['trigger']['data'] = {}): FlowContent => ({
  name: 'Welcome',
  goal: null,
  trigger: { event: 'signed_up', contact_list_id: null, segment_id: null, data },
  steps,
});
const condition = (filters: Step['filters']): Step => ({
  ...newStep('condition', 'condition_1'),
  ...(filters && { filters }),
});
const keysOf = (content: FlowContent) => Object.keys(unfinishedOf(content) ?? {});

describe('filters of a flow', () => {
  it.each<[string, Step['filters']]>([
    ['a new condition has none', undefined],
    ['all were removed', []],
    ['a value is missing', [{ ...isPro, value: null }]],
    ['the name is not typed to its end', [{ ...isPro, name: 'data.' }]],
    ['one of two is complete', [isPro, { ...isPro, value: null }]],
  ])('are not finished if %s', (_, filters) => {
    expect(keysOf(flow([condition(filters)]))).toEqual(['condition_1']);
  });

  it('are finished if each can be asked about', () => {
    expect(
      unfinishedOf(flow([condition([isPro]), newStep('wait_for_event', 'w'), newStep('email', 'e')])),
    ).toBe(null);
  });

  it('are looked for in branches, in events that are waited for, and in the trigger', () => {
    const blank = { ...isPro, value: null };
    const inner = { ...newStep('wait_for_event', 'wait_for_event_1'), filters: [blank] };
    expect(keysOf(flow([{ ...condition([isPro]), no: [inner] }]))).toEqual(['wait_for_event_1']);
    expect(unfinishedOf(flow([], { exit_filters: [blank] }))).toEqual({});
  });
});
