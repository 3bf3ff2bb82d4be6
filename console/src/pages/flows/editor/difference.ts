/** What publishing would change, and what that means for runs under way. */
import type { Schemas } from '../../../api/client.ts';
import { isSame } from '../../../editors/draft/same.ts';
import { keyOf } from '../flow-layout.ts';
import { compareSteps, type Comparison } from './compare.ts';
import { allSteps, type FlowContent, type Step } from './model.ts';

type Flow = Schemas['Flow'];

/** What a letter or a text consists of. It belongs to no version. */
const CONTENT: ReadonlySet<string> = new Set([
  ...['subject', 'preheader', 'body', 'design', 'from_name', 'from_email', 'reply_to'],
]);

const sends = ({ type }: Pick<Step, 'type'>) => type === 'email' || type === 'sms';

export interface Difference extends Comparison {
  /** Whether runs would do something else, so that a new version is made. */
  makesVersion: boolean;
  /** The steps whose letter or text changes, also for runs under way. */
  letters: readonly Step[];
  /** The ids of steps that are no longer in the flow. */
  removed: ReadonlySet<number>;
}

/** Compares the flow that is live with what would be published. */
export function differenceOf(
  flow: Pick<Flow, 'goal' | 'trigger' | 'steps'>,
  content: FlowContent,
): Difference {
  const comparison = compareSteps(flow.steps, content.steps);
  const kept = new Set(allSteps(content.steps).map(({ step }) => keyOf(step)));
  const ofRuns = comparison.rows.some(
    ({ right, change, fields }) =>
      change === 'added' ||
      change === 'removed' ||
      change === 'moved' ||
      fields.some(({ field }) => !(right && sends(right) && CONTENT.has(field))),
  );
  return {
    ...comparison,
    makesVersion: ofRuns || flow.goal !== content.goal || !isSame(flow.trigger, content.trigger),
    letters: comparison.rows.flatMap(({ right, fields }) =>
      right && sends(right) && fields.some(({ field }) => CONTENT.has(field)) ? right : [],
    ),
    removed: new Set(
      allSteps(flow.steps).flatMap(({ step: { id } }) => (id !== undefined && !kept.has(id) ? id : [])),
    ),
  };
}
