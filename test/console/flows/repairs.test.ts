// A step that the published flow or its template no longer knows says so, and becomes a new one that the API takes.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { renewStep } from '../../../console/src/pages/flows/editor/commands.ts';
import type { FlowContent } from '../../../console/src/pages/flows/editor/model.ts';
import { allSteps, type Step } from '../../../console/src/pages/flows/editor/model.ts';
import { messagesByStep, sortProblems, worded } from '../../../console/src/pages/flows/editor/problems.ts';
import { namedIn } from '../../../console/src/pages/flows/editor/references.ts';
import { keyOf } from '../../../console/src/pages/flows/flow-layout.ts';
import { randomSteps, refusedByApi } from './random-flows.ts';

const stepsOf = (steps: readonly Step[]) => allSteps(steps).map(({ step }) => step);

it('makes a step new, and renames it wherever others name it', () => {
  fc.assert(
    fc.property(randomSteps, fc.nat(9_999), (steps, n) => {
      const before = stepsOf(steps);
      const old = before.at(n % Math.max(1, before.length));
      fc.pre(old !== undefined);
      const result = renewStep(steps, keyOf(old));
      if ('refused' in result) throw new Error(result.refused);
      const after = stepsOf(result.steps);
      const { select: ref } = result;
      expect(refusedByApi(result.steps)).toEqual({});
      const renamed = (key: string | number) => (key === keyOf(old) ? ref : key);
      expect(after.map(keyOf)).toEqual(before.map((step) => renamed(keyOf(step))));
      expect(after.map(({ id }) => id)).toEqual(before.map((step) => (step === old ? undefined : step.id)));
      expect(after.map(namedIn)).toEqual(before.map((step) => namedIn(step).map(renamed)));
      expect(after.map(({ type }) => type)).toEqual(before.map(({ type }) => type));
    }),
    { numRuns: 200 },
  );
});

it('drops the template of a renewed step, which went with it, and keeps the content', () => {
  const steps: Step[] = [{ type: 'email', id: 4, template_id: 9, subject: 'Hi', body: 'Hello' }];
  expect(renewStep(steps, 4)).toEqual({
    steps: [{ type: 'email', ref: 'email_1', subject: 'Hi', body: 'Hello' }],
    select: 'email_1',
  });
});

it('says at the step that its template is gone, or the step itself, and what to do', () => {
  const steps: Step[] = [
    { type: 'condition', id: 1, yes: [{ type: 'email', ref: 'email_1', template_id: 9 }], no: [] },
    { type: 'wait', id: 7, duration: 5 },
  ];
  const content: FlowContent = {
    name: 'F',
    goal: null,
    trigger: { event: 'a', contact_list_id: null, segment_id: null, data: {} },
    steps,
  };
  const found = worded(content, [
    { field: 'steps[0].yes[0].template_id', message: 'is not a template of the brand' },
    { field: 'steps[1].id', message: 'is not the id of a step of this flow' },
    { field: 'steps[1].duration', message: 'must be positive' },
  ]);
  expect(messagesByStep(sortProblems(content, found))).toEqual({
    email_1: [
      'The template that its content comes from no longer exists. Choose another, or keep the content that is here.',
    ],
    7: ['The published flow no longer has this step. Make it a new one.', 'duration must be positive'],
  });
});
